"""`manage.py replay` before an installation, as a user starts it in another terminal."""

import contextlib
import signal
import subprocess
import sys

from tests.patience import UNTIL_ANSWER_S
from tests.stack.installation import ROOT


@contextlib.contextmanager
def replaying(installation, scenario, arguments):
    """The process. One that is still there at the end is interrupted as by Ctrl-C; none may have failed.

    `arguments` are as they are typed behind the scenario.
    """
    command = [sys.executable, "manage.py", "replay", scenario, "--url", installation.address, *arguments.split()]
    log = installation.directory / "replay.log"
    with (
        log.open("w") as file,
        subprocess.Popen(
            command, cwd=ROOT, env=installation.environment, stdout=file, stderr=subprocess.STDOUT
        ) as process,
    ):
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            status = process.wait(UNTIL_ANSWER_S)
    assert status == 0, log.read_text()


def replayed(installation, scenario, arguments):
    """Returns when all of it is sent."""
    with replaying(installation, scenario, arguments) as process:
        process.wait(6 * UNTIL_ANSWER_S)
