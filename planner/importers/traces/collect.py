"""A whole trace read once: its entry, and its requests encoded chunk by chunk, for whoever stores them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from planner.engine.traces import Chunk, encode
from planner.importers.base import Choices, Imported
from planner.importers.traces.entry import read

type Report = Callable[[int, int, str], None]
KILOBYTE = 1000


@dataclass(frozen=True, slots=True)
class Order:
    """What to read, and the empty directory that its chunks go to."""

    path: Path
    choices: Choices
    spool: Path


@dataclass(frozen=True, slots=True)
class Collected:
    """A trace that has been read; its chunks are files of the spool."""

    imported: Imported
    digest: str
    rows: tuple[int, ...]
    spool: Path

    def chunks(self) -> Iterator[tuple[int, bytes]]:
        """Requests in each chunk, and the chunk; read from the spool one at a time."""
        for index, rows in enumerate(self.rows):
            yield rows, place(self.spool, index).read_bytes()


class Spool:
    """Chunks on disk, found again by number, and the digest of all of them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._digest = hashlib.sha256()
        self.rows: list[int] = []

    def add(self, chunk: Chunk) -> None:
        """Keeps a chunk."""
        data = encode(chunk)
        place(self._directory, len(self.rows)).write_bytes(data)
        self._digest.update(data)
        self.rows.append(chunk.rows)

    @property
    def digest(self) -> str:
        """SHA-256 of the chunks so far, one after the other."""
        return self._digest.hexdigest()


def place(directory: Path, index: int) -> Path:
    """Where a chunk is."""
    return directory / f"{index:06}.chunk"


def collect(order: Order, report: Report) -> Collected:
    """Reads the trace to its end, telling kilobytes done and altogether. Raises DocumentError."""
    spool = Spool(order.spool)

    def told(done_bytes: int, total_bytes: int, message: str) -> None:
        report(done_bytes // KILOBYTE, max(total_bytes // KILOBYTE, 1), message)

    imported = read(order.path, order.choices, told, spool.add)
    return Collected(imported, spool.digest, tuple(spool.rows), order.spool)
