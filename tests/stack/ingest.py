"""An agent as it should be: numbers its frames, keeps what is not acknowledged, and sends that again."""

import contextlib
import json
import subprocess
import sys
import threading
import time

from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from tests.stack.installation import ROOT

PREPARE = """
from monitoring import tokens
from monitoring.models import Source
print("token", tokens.create(Source.objects.create(name="agent"))[1])
"""
STORED = """
import json
from monitoring.models import Frame, Sample, Source
print("stored", json.dumps({
    "values": sorted(Sample.objects.values_list("value", flat=True)),
    "waiting": Frame.objects.count(),
    "last_seq": Source.objects.get().last_seq,
    "accepted": Source.objects.get().accepted,
}))
"""


def shell(installation, code):
    """What a line of code prints, after its first word."""
    command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", code]
    ended = subprocess.run(command, cwd=ROOT, env=installation.environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.split(maxsplit=1)[1]


def prepared(installation):
    """The token of its new source."""
    return shell(installation, PREPARE).strip()


def stored(installation):
    return json.loads(shell(installation, STORED))


class Agent:
    """Sends frames of samples whose value is the frame's number, until it is told to stop; in a thread."""

    def __init__(self, installation, token, pause_s=0.002, series=1):
        self._address = f"ws://127.0.0.1:{installation.port}/ws/ingest/"
        self._token, self._pause_s, self._series = token, pause_s, series
        self._frames = {}
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.sent = self.acknowledged = self.connections = self._ts_ms = 0
        self.mistakes, self.refusals = [], []
        self.acknowledged_at = time.monotonic()

    @property
    def silent_s(self):
        """Since the last acknowledgement."""
        return time.monotonic() - self.acknowledged_at

    def start(self):
        self._thread.start()
        return self

    def finish(self):
        """No new frames; returns when all are acknowledged."""
        self._ending.set()
        self._thread.join(60)
        assert not self._thread.is_alive(), f"{len(self._frames)} frames were never acknowledged"
        assert not self.mistakes

    def _run(self):
        while not (self._ending.is_set() and not self._frames):
            with contextlib.suppress(OSError, WebSocketException, EOFError):
                self._talk()
            time.sleep(0.05)

    def _talk(self):
        headers = {"Authorization": f"Bearer {self._token}"}
        with connect(self._address, additional_headers=headers, open_timeout=5, compression=None) as socket:
            hello = json.loads(socket.recv(5))
            self.connections += 1
            self._note(hello["last_seq"] or 0)
            for seq in sorted(self._frames):
                socket.send(self._frames[seq])
            while not (self._ending.is_set() and not self._frames):
                if not self._ending.is_set() and len(self._frames) < hello["most_in_flight"]:
                    socket.send(self._next())
                self._read(socket)

    def _next(self):
        self.sent += 1
        # two frames of the same millisecond would be one sample
        self._ts_ms = max(self._ts_ms + 1, round(time.time() * 1000))
        reading = {"name": "output_tokens", "kind": "counter", "points": [[self._ts_ms, self.sent]]}
        readings = [{**reading, "labels": {"instance": str(at)}} for at in range(self._series)]
        self._frames[self.sent] = json.dumps({"v": 1, "seq": self.sent, "readings": readings})
        return self._frames[self.sent]

    def _read(self, socket):
        with contextlib.suppress(TimeoutError):
            answer = json.loads(socket.recv(self._pause_s))
            if answer.get("accepted") == self._series or answer.get("duplicate"):
                self._note(answer["ack"])
            elif "refused" in answer:  # the connection ends; on the next one all is sent again that is not stored
                self.refusals.append(answer["refused"])
            else:
                self.mistakes.append(answer)

    def _note(self, seq):
        """Acknowledged: forgotten here."""
        for each in [each for each in self._frames if each <= seq]:
            del self._frames[each]
        if seq > self.acknowledged:
            self.acknowledged, self.acknowledged_at = seq, time.monotonic()
