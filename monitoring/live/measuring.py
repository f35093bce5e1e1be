"""Of many series one figure as it is now: what it is, of when, and whether a part of it is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitoring.live import combining
from monitoring.live.messages import Age, Lengths, Quantiles, Value
from monitoring.live.selection import Some
from monitoring.state import ABSENT, LIVE, Described, Reading, ages
from monitoring.state.histograms import Kept, Recent
from monitoring.storage import query
from monitoring.storage.rollups import Ints

ENDED_AFTER_MS = 60_000
ENDED_USUAL = 5.0
"""A series that is silent for so long, or so many of its usual intervals, while its source sends others has ended: it
is no part of a sum any more. Where the whole source is silent it may well go on, and the sum is not known."""
AGES: tuple[Age, ...] = ("live", "stale", "absent")
SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


@dataclass(frozen=True, slots=True)
class Measured:
    """All series at a moment."""

    now_ms: int
    reading: Reading
    age: NDArray[np.int8]
    counts: NDArray[np.bool_]
    """By slot: whether it is a part of sums."""

    # --- values -------------------------------------------------------------------------------------------------

    def sum(self, series: Some, scale: float = 1.0) -> Value:
        """As old as its oldest part; without a value where a part is absent, or its rate is not known."""
        at = self._at(series)
        if not at.size:
            return Value()
        read, parts = self.reading.read, at[self.counts[at]]
        if not parts.size:
            return Value(None, int(read.ts_ms[at].max()), "absent")
        code = int(self.age[parts].max())
        return _value(float(read.value[parts].sum()) * scale, int(read.ts_ms[parts].min()), code)

    def mean(self, series: Some) -> Value:
        """Of those that are no older than need be."""
        at = self._at(series)
        if not at.size:
            return Value()
        read = self.reading.read
        code = int(self.age[at].min())
        best = at[self.age[at] == code]
        return _value(float(read.value[best].mean()), int(read.ts_ms[best].max()), code)

    def _at(self, series: Some) -> Ints:
        slots = self.reading.slots
        return np.array([slots[each.id] for each in series if each.id in slots], np.int64)

    # --- histograms ---------------------------------------------------------------------------------------------

    def quantiles(self, series: Some) -> Quantiles:
        """Of all of them as one, over the last minute."""
        kept, code, ts_ms = self._kept(series)
        recent = [(each.bounds, found) for each, one in kept if (found := one.recent()) is not None]
        if not recent or code == ABSENT:
            return Quantiles(ts_ms=ts_ms, age=AGES[code])
        parts = [(bounds, found.counts) for bounds, found in recent]
        bounds = combining.common(combining.weights(parts))
        counts = combining.added(parts, bounds)
        shares = {name: query.quantile(np.array(bounds), counts, share) for name, share in SHARES.items()}
        window_s = max(found.window_s for _, found in recent)
        return Quantiles(**shares, count=float(counts.sum()), window_s=window_s, ts_ms=ts_ms, age=AGES[code])

    def lengths(self, series: Mapping[str, Some]) -> Lengths | None:
        """By route, decayed; None where nothing is known of any."""
        kept, code, ts_ms = self._kept([each for some in series.values() for each in some])
        long: dict[int, Recent] = {}
        for each, one in kept:
            if (found := one.long(self.now_ms)) is not None:
                long[each.id] = found
        parts = {
            route: [(each.bounds, long[each.id].counts) for each in some if each.id in long]
            for route, some in series.items()
        }
        bounds = combining.common(combining.weights(part for some in parts.values() for part in some))
        if not bounds:
            return None
        return Lengths(
            bounds=list(bounds),
            counts={route: combining.added(some, bounds).tolist() for route, some in parts.items()},
            window_s=max(found.window_s for found in long.values()),
            ts_ms=ts_ms,
            age=AGES[code],
        )

    def _kept(self, series: Sequence[Described]) -> tuple[list[tuple[Described, Kept]], int, int | None]:
        """Those that go on, how old the newest of them is, and when that was."""
        there = self.reading.histograms
        found = [(each, there[each.id]) for each in series if each.id in there]
        if not found:
            return [], ABSENT, None
        ts_ms = np.array([one.last_ms for _, one in found], np.int64)
        code = ages(ts_ms, np.array([one.usual_ms for _, one in found]), self.now_ms)
        going = [pair for pair, each in zip(found, code.tolist(), strict=True) if each == LIVE]
        return going or found, int(code.min()), int(ts_ms.max())


def measured(reading: Reading, now_ms: int, skews_ms: Mapping[int, int]) -> Measured:
    """`skews_ms` has the clocks of sources less ours: one that is ahead must not keep its silence from being seen."""
    read = reading.read
    source = np.array([_source(reading, series) for series in read.series.tolist()], np.int64)
    ahead = np.array([max(0, skews_ms.get(each, 0)) for each in source.tolist()], np.int64)
    came_ms = read.ts_ms - ahead
    age = ages(came_ms, read.usual_ms, now_ms)
    ended = _ended(came_ms, read.usual_ms, source, now_ms)
    begun = ~(np.isnan(read.value) & np.isnan(read.usual_ms))
    return Measured(now_ms, reading, age, begun & ~ended)


def _source(reading: Reading, series: int) -> int:
    what = reading.described.get(series)
    return -1 if what is None else what.source_id


def _ended(came_ms: Ints, usual_ms: np.ndarray, source: Ints, now_ms: int) -> NDArray[np.bool_]:
    silent = now_ms - came_ms > np.fmax(ENDED_AFTER_MS, ENDED_USUAL * usual_ms)
    sources, which = np.unique(source, return_inverse=True)
    newest = np.full(sources.size, -1, np.int64)
    np.maximum.at(newest, which, came_ms)
    sends = ages(newest, np.full(sources.size, np.nan), now_ms) == LIVE
    return silent & sends[which] if sources.size else silent


def _value(value: float, ts_ms: int, code: int) -> Value:
    return Value(value if code != ABSENT and np.isfinite(value) else None, ts_ms, AGES[code])


def older(*values: Value | Quantiles) -> tuple[int | None, Age]:
    """When the oldest of these was, and how old that is."""
    worst = max(AGES.index(each.age) for each in values)
    times = [each.ts_ms for each in values if each.ts_ms is not None]
    return min(times, default=None), AGES[worst]
