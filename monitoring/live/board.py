"""Where viewers of this process find the newest snapshot: one slot, encoded once for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Shown:
    """A snapshot as it is sent."""

    seq: int
    text: str


@dataclass(slots=True)
class Board:
    """Belongs to the event loop. Whoever is slow finds the newest one when it comes back, and none in between."""

    newest: Shown | None = None
    viewers: int = 0
    looked_at: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while there are viewers."""
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def seq(self) -> int:
        """Of the newest; 0 where there is none."""
        return 0 if self.newest is None else self.newest.seq

    def publish(self, seq: int, payload: bytes) -> None:
        """Shows a snapshot, unless a later one was shown before."""
        if seq <= self.seq:
            return
        self.newest = Shown(seq, payload.decode())
        self._changed.set()
        self._changed = asyncio.Event()

    def clear(self) -> None:
        """What was shown is old: the next viewer waits for what is new."""
        self.newest = None

    async def after(self, seq: int) -> Shown:
        """The newest, as soon as it is another one."""
        while self.newest is None or self.newest.seq == seq:
            await self._changed.wait()
        return self.newest

    @contextmanager
    def watching(self) -> Iterator[None]:
        """While somebody looks."""
        self.viewers += 1
        self.looked_at.set()
        try:
            yield
        finally:
            self.viewers -= 1
            if not self.viewers:
                self.looked_at.clear()
