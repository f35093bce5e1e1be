"""Histograms: what was observed in the last minute, and over longer with old observations counting less and less."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from monitoring.readings import Histogram, Point
from monitoring.storage.histograms import Increase, Observed, increased
from monitoring.storage.rollups import MS, Array
from monitoring.storage.series import Known

RECENT_S = 60
HALF_LIFE_S = 600.0
"""After which an observation counts half, in the decayed counts."""
LEARNS = 0.25


@dataclass(frozen=True, slots=True)
class Recent:
    """Counts by bucket over a window that ends at the last sample; decayed ones where it has no sharp beginning."""

    counts: Array
    window_s: float


@dataclass(slots=True)
class Kept:
    """Of one series."""

    kind: str
    last: Observed | None = None
    usual_ms: float = np.nan
    seconds: deque[tuple[int, Array, int]] = field(default_factory=deque)
    """Each with its counts and the milliseconds in which they came."""
    decayed: Array = field(default_factory=lambda: np.zeros(0))
    """As of the last sample."""
    decayed_ms: float = 0.0

    @property
    def last_ms(self) -> int:
        """Of the last sample."""
        return self.last.ts_ms if self.last else 0

    def take(self, sample: Observed) -> None:
        """The next sample; one that is not later than the last is left."""
        if self.last is not None:
            step = sample.ts_ms - self.last.ts_ms
            if step <= 0:
                return
            self.usual_ms = step if np.isnan(self.usual_ms) else self.usual_ms + LEARNS * (step - self.usual_ms)
        increase = increased(sample, self.last, self.kind)
        self._age(sample.ts_ms)
        self.last = sample
        if increase is not None:
            self.add(sample.ts_ms, increase)

    def add(self, ts_ms: int, increase: Increase) -> None:
        """What was observed up to a time that is not before the last one."""
        second = ts_ms // MS
        if self.seconds and self.seconds[-1][0] == second:
            _, counts, ms = self.seconds.pop()
            self.seconds.append((second, counts + increase.counts, ms + increase.ms))
        else:
            self.seconds.append((second, increase.counts, increase.ms))
        while self.seconds[0][0] <= second - RECENT_S:
            self.seconds.popleft()
        if self.decayed.size != increase.counts.size:
            self.decayed, self.decayed_ms = np.zeros_like(increase.counts), 0.0
        self.decayed = self.decayed + increase.counts
        self.decayed_ms += increase.ms

    def _age(self, ts_ms: int) -> None:
        if self.last is not None:
            share = decay(ts_ms - self.last.ts_ms)
            self.decayed, self.decayed_ms = self.decayed * share, self.decayed_ms * share

    def recent(self) -> Recent | None:
        """Of the last minute; None where nothing is known of it."""
        begin = self.last_ms // MS - RECENT_S
        inside = [(counts, ms) for second, counts, ms in self.seconds if second > begin]
        if not inside:
            return None
        return Recent(np.sum([counts for counts, _ in inside], axis=0), sum(ms for _, ms in inside) / MS)

    def long(self, now_ms: int) -> Recent | None:
        """Decayed up to now."""
        if not self.decayed_ms:
            return None
        share = decay(max(0, now_ms - self.last_ms))
        return Recent(self.decayed * share, self.decayed_ms * share / MS)


def decay(ms: float) -> float:
    """What an observation counts after so long."""
    return float(0.5 ** (ms / MS / HALF_LIFE_S))


class Histograms:
    """By series."""

    def __init__(self) -> None:
        self.kept: dict[int, Kept] = {}

    def clear(self) -> None:
        """Forgets everything."""
        self.kept.clear()

    def take(self, told: Iterable[tuple[Known, Point]]) -> bool:
        """Samples as the writer tells them; whether any is of a new series."""
        known = len(self.kept)
        for series, point in sorted(told, key=lambda each: each[1].ts_ms):
            if isinstance(point.value, Histogram):
                self._of(series.id, series.kind).take(_observed(point, point.value))
        return len(self.kept) > known

    def _of(self, series: int, kind: str) -> Kept:
        found = self.kept.get(series)
        if found is None:
            found = self.kept[series] = Kept(kind)
        return found

    def load(self, series: int, kind: str, last: Observed, increases: Iterable[tuple[int, Increase]]) -> None:
        """What is stored of a series: its last sample, and what was observed up to some times before it, in order."""
        kept = self._of(series, kind)
        before_ms = None
        for ts_ms, increase in increases:
            if before_ms is not None:
                share = decay(ts_ms - before_ms)
                kept.decayed, kept.decayed_ms = kept.decayed * share, kept.decayed_ms * share
            kept.add(ts_ms, increase)
            before_ms = ts_ms
        kept.last = last

    def drop(self, before_ms: int, others: Iterable[int] = ()) -> bool:
        """Forgets series that have had nothing since, and these others; whether there were any."""
        gone = {series for series, kept in self.kept.items() if kept.last_ms < before_ms}
        gone |= set(others) & self.kept.keys()
        for series in gone:
            del self.kept[series]
        return bool(gone)


def _observed(point: Point, value: Histogram) -> Observed:
    return Observed(point.ts_ms, value.total, point.start_ms, np.array(value.counts, float))
