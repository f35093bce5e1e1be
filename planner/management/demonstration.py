"""A living demo beside the server: `manage.py replay` in a child process, which ends with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from django.conf import settings

SCENARIO = "case-study-prfaas-pd"
END_WITHIN_S = 5
LOCAL = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - a comparison


class Demonstration:
    """Of a scenario; None: there is none."""

    has_begun: ClassVar[bool] = False
    """Whether this process has one: pages say so while its day is still being simulated."""

    def __init__(self, scenario: str | None) -> None:
        self._scenario = scenario
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(END_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def start(self, host: str, port: int) -> None:
        """Begins to send to the server at this address, day after day."""
        if self._scenario is None:
            return
        local = LOCAL.get(host, host)
        url = f"http://[{local}]:{port}" if ":" in local else f"http://{local}:{port}"
        command = ["replay", self._scenario, "--url", url + (settings.FORCE_SCRIPT_NAME or ""), "--rounds", "0"]
        # The system closes the pipe when this process ends, also where it is killed.
        self._process = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, str(Path(settings.BASE_DIR) / "manage.py"), *command, "--until-input-ends"],
            stdin=subprocess.PIPE,
        )
        Demonstration.has_begun = True
