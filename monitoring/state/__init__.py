"""The latest of every series, with its age, in the memory of the one process that writes.

The writer tells what it has committed; whoever takes over reads what is stored of the last minutes, so that neither a
restart nor a failover shows a zero or a hole where there are data.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from monitoring.liveness import ABSENT_AFTER_MS
from monitoring.state import loading
from monitoring.state.histograms import Histograms, Kept
from monitoring.state.scalars import Latest, Read
from monitoring.storage.rollups import Array, Ints
from monitoring.storage.told import Told

STALE_AFTER_MS = 10_000
USUAL = 3.0
"""Times its usual distance after which a series is stale, if that is longer."""
DROPPED_AFTER_MS = 2 * ABSENT_AFTER_MS
"""What has been silent for so long is forgotten, and no longer a part of any sum."""
LIVE, STALE, ABSENT = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Described:
    """What a series is."""

    id: int
    source_id: int
    signal: str
    kind: str
    labels: Mapping[str, str]
    bounds: tuple[float, ...] = ()

    @property
    def is_histogram(self) -> bool:
        """Whether its samples have counts by bucket."""
        return self.kind in ("histogram", "delta_histogram")


@dataclass(slots=True)
class State:
    """One a process. Told in the writer's thread, read in the ticker's."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    latest: Latest = field(default_factory=Latest)
    histograms: Histograms = field(default_factory=Histograms)
    described: dict[int, Described] = field(default_factory=dict)
    version: int = 0
    """Changes whenever other series are there, or slots are others."""
    is_ready: bool = False
    """Whether what is stored was read: before that nothing can be said."""

    # --- for the writer -----------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Reads what is stored."""
        stored = loading.stored(loading.now_ms())
        with self.lock:
            self.end()
            self.latest.load(stored.scalars)
            for each in stored.histograms:
                self.histograms.load(each.series, each.kind, each.last, each.increases)
            self.is_ready = True

    def follow(self, told: Told) -> None:
        """Takes what was committed."""
        with self.lock:
            known = len(self.latest.slots)
            for scalars in told.scalars:
                self.latest.take(scalars)
            is_new = self.histograms.take(told.histograms)
            if is_new or len(self.latest.slots) > known:
                self.version += 1

    def end(self) -> None:
        """Forgets everything."""
        with self.lock:
            self.latest.clear()
            self.histograms.clear()
            self.described.clear()
            self.version += 1
            self.is_ready = False

    # --- for who reads ------------------------------------------------------------------------------------------

    def undescribed(self) -> list[int]:
        """Series of which nobody has said yet what they are."""
        with self.lock:
            return [each for each in (*self.latest.slots, *self.histograms.kept) if each not in self.described]

    def describe(self, series: Iterable[Described], asked: Iterable[int]) -> None:
        """What they are; of those that were asked and are not told, nothing is kept."""
        found = {each.id: each for each in series}
        gone = [each for each in asked if each not in found]
        with self.lock:
            self.described |= found
            if gone:
                self._drop(NOTHING_MS, gone)
            self.version += 1

    def prune(self, now_ms: int) -> None:
        """Forgets what has been silent for long."""
        with self.lock:
            self._drop(now_ms - DROPPED_AFTER_MS, ())

    def keep(self, sources: Iterable[int]) -> None:
        """Forgets what sources told that are no longer there."""
        there = set(sources)
        with self.lock:
            gone = [series for series, what in self.described.items() if what.source_id not in there]
            if gone:
                self._drop(NOTHING_MS, gone)

    def _drop(self, before_ms: int, others: Sequence[int]) -> None:
        dropped = [self.latest.drop(before_ms, others), self.histograms.drop(before_ms, others)]
        if any(dropped):
            there = self.latest.slots.keys() | self.histograms.kept.keys()
            self.described = {series: what for series, what in self.described.items() if series in there}
            self.version += 1

    @contextmanager
    def reading(self) -> Iterator[Reading]:
        """All of it as it is now; nothing changes meanwhile."""
        with self.lock:
            yield Reading(self.version, self.latest.read(), self.latest.slots, self.histograms.kept, self.described)


NOTHING_MS = -1
"""Before every sample."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the state is at a moment."""

    version: int
    read: Read
    slots: Mapping[int, int]
    histograms: Mapping[int, Kept]
    described: Mapping[int, Described]


def ages(ts_ms: Ints, usual_ms: Array, now_ms: int) -> NDArray[np.int8]:
    """LIVE, STALE or ABSENT, by when something came last and how often it usually does."""
    age_ms = now_ms - ts_ms
    allowed = np.minimum(np.fmax(STALE_AFTER_MS, USUAL * usual_ms), ABSENT_AFTER_MS)
    return np.select([age_ms <= allowed, age_ms < ABSENT_AFTER_MS], [LIVE, STALE], ABSENT).astype(np.int8)
