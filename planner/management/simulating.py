"""What the commands that simulate share: running replications in this process, and saying how far that is."""

from __future__ import annotations

from typing import TextIO

from planner.engine.simulation import Replication
from planner.engine.simulation.work import replicated
from planner.simulating import document


class Progress:
    """How far a command is, on a line of a terminal that is gone when it is done; a file or a pipe gets nothing."""

    def __init__(self, stream: TextIO, total: int) -> None:
        """`total` requests in all."""
        self.stream = stream if stream.isatty() else None
        self.total, self.before, self.percent = total, 0, -1

    def preparing(self) -> None:
        """Compiling, or loading what was compiled before."""
        self._write("preparing")

    def __call__(self, done: int, total: int, message: str) -> None:
        """Requests of the replication that is under way; `preparing` is of the first one alone."""
        at = self.before + done
        if (percent := 100 * at // self.total) > self.percent:
            self.percent = percent
            self._write(f"simulating: {at:,} of {self.total:,} requests, {percent} %")

    def one_more(self, total: int) -> None:
        """A replication of so many requests is done."""
        self.before += total

    def over(self) -> None:
        """Leaves the line empty."""
        self._write("")

    def _write(self, text: str) -> None:
        if self.stream:
            self.stream.write(f"\r\x1b[K{text}")
            self.stream.flush()


def make_ready(asked: document.Asked, progress: Progress) -> None:
    """Has everything compiled, which is not counted when the speed is."""
    progress.preparing()
    replicated(document.warm_up(asked), _unheard)


def replications(asked: document.Asked, progress: Progress) -> list[Replication]:
    """All of them, one after another, in this process."""
    found = []
    for index in range(asked.run.replications):
        found.append(replicated(document.part(asked, index), progress))
        progress.one_more(asked.run.requests)
    return found


def _unheard(done: int, total: int, message: str) -> None: ...
