"""A request log as chunks of columns, however long it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from planner.documents.errors import DocumentError, FieldError, refuse
from planner.engine.traces import Chunk, tick_ns
from planner.importers import reading
from planner.importers.base import Assumption, Choices
from planner.importers.reading import Block
from planner.importers.traces import detect
from planner.importers.traces.roles import ROLES
from planner.importers.traces.timeline import Timeline

type OnProgress = Callable[[int, int, str], None]
"""Told bytes done, bytes altogether, and what is being done."""
PROGRESS_S = 0.1
SPREAD = "spread_ticks"


class TraceReader:
    """One trace, told apart and ready to be read, as often as needed."""

    def __init__(self, path: Path, choices: Choices) -> None:
        """Raises DocumentError on what is no request log, and on a choice that there is nothing to choose by."""
        self.path = path
        self._format, first = detect.of(path, choices)
        self.name, self.clock, self.mapping = self._format.name, self._format.clock, self._format.mapping
        self.tick_ns = self._tick(first)
        ticks = () if self.tick_ns is None else (_spread(self.tick_ns, choices),)
        self.assumptions: tuple[Assumption, ...] = (*self._format.assumptions, *ticks)
        self.spread = any(assumption.value == "yes" for assumption in ticks)
        _check(choices, self.assumptions)
        self.timeline = self._timeline()

    def _tick(self, first: Block) -> int | None:
        times = self._format.rows(first).counted().chunk.arrival_ns
        return tick_ns(np.sort(times)) if self.clock.known else None

    def _timeline(self) -> Timeline:
        return Timeline(self.clock, self.tick_ns if self.spread else None)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know; more of it once all has been read."""
        found = list(self._format.notes)
        if self.tick_ns:
            done = "requests are spread over their tick" if self.spread else "requests are left where they are"
            found.append(f"times come in ticks of {self.tick_ns / 1e9:g} s, many requests at each: {done}")
        if self.timeline.disordered:
            found.append(f"{self.timeline.disordered:,} requests did not stand in the order of arrival and were sorted")
        found += [f"{count:,} requests {how}" for how, count in sorted(self.timeline.told.items())]
        found += [f"left out: {each}" for each in self._left_out()]
        return tuple(found)

    def _left_out(self) -> list[str]:
        return [f"{count:,} requests {reason}" for reason, count in sorted(self.timeline.left_out.items())]

    @property
    def dropped_rows(self) -> int:
        """Requests that were left out so far."""
        return self.timeline.left_out.total()

    def chunks(self, on_progress: OnProgress | None = None) -> Iterator[Chunk]:
        """The requests, earliest first, at most `MOST_ROWS` at a time. Raises DocumentError on the first mistakes."""
        self.timeline = self._timeline()
        rows = 0
        for chunk in self._ordered(on_progress):
            rows += chunk.rows
            yield chunk
        if not rows:
            said = "; ".join(self._left_out()) or "no line is about one"
            raise refuse(self.path.name, None, f"has no request that was answered: {said}")

    def _ordered(self, on_progress: OnProgress | None) -> Iterator[Chunk]:
        for block in reading.blocks(self.path, _reporting(self.path, on_progress), self._format.longest_line):
            yield from self.timeline.push(self._format.rows(block))
        yield from self.timeline.finish()


def _reporting(path: Path, on_progress: OnProgress | None) -> reading.OnBytes | None:
    """Ten times a second at most, and at the end."""
    if on_progress is None:
        return None
    total, last = path.stat().st_size, 0.0

    def on_bytes(done: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= PROGRESS_S or done >= total:
            last = now
            on_progress(done, total, f"{done / 1e6:,.0f} of {total / 1e6:,.0f} MB read")

    return on_bytes


def _spread(tick: int, choices: Choices) -> Assumption:
    value = choices.get(SPREAD, "yes")
    if value not in ("yes", "no"):
        raise refuse(SPREAD, value, "must be yes or no")
    text = (
        f"whether requests that share a tick of {tick / 1e9:g} s are spread over it, by chance but always the same way"
    )
    return Assumption(SPREAD, value, text, ("yes", "no"))


COLUMNS = tuple(f"{role}_column" for role in ROLES)


def _check(choices: Choices, assumptions: Iterable[Assumption]) -> None:
    """Raises DocumentError on choices that this file leaves none."""
    known = [*dict.fromkeys([*(assumption.field for assumption in assumptions), *COLUMNS])]
    said = f"is no choice here; there are {', '.join(known)}"
    wrong = [FieldError(field, value, said) for field, value in choices.items() if field not in known]
    if wrong:
        raise DocumentError(wrong)
