"""Counters and gauges: the last value of each, and of counters the increases of the last seconds, as arrays by slot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitoring.storage.rollups import MS, Array, Intervals, Ints, Samples, own_intervals, starts
from monitoring.storage.told import DELTA, GAUGE, Scalars

WINDOW_S = 10
"""A rate is that of the intervals which ended within so many seconds before the newest of them."""
ROOM = 16
"""Seconds that are kept: more than the window, and a power of two."""
LEARNS = 0.25
"""How much of each new distance of two arrivals the usual one takes over."""
LONGEST_STEP = 4.0
"""Times the usual distance that a new one counts as at most: one silence is no new habit."""
NEVER = -1

type Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Loaded:
    """Of one series, as it is stored: the last sample, and the increase up to it over so many milliseconds."""

    series: int
    kind: int
    last_ms: int
    value: float
    usual_ms: float
    increase: float = 0.0
    ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Read:
    """All slots at a moment: the rate of what counts, NaN where it is not known; `ts_ms` is of the last sample."""

    series: Ints
    value: Array
    ts_ms: Ints
    usual_ms: Array


class Latest:
    """Arrays by slot; a series has one from its first sample on until it is dropped."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forgets everything."""
        self.slots: dict[int, int] = {}
        self._series: Ints = np.empty(0, np.int64)
        self._kind: Ints = np.empty(0, np.int64)
        self._last_ms: Ints = np.empty(0, np.int64)
        self._value: Array = np.empty(0)
        self._usual_ms: Array = np.empty(0)
        self._second: Ints = np.empty((0, ROOM), np.int64)
        self._increase: Array = np.empty((0, ROOM))
        self._ms: Array = np.empty((0, ROOM))

    # --- taking -------------------------------------------------------------------------------------------------

    def take(self, told: Scalars) -> None:
        """Samples as the writer tells them; what is not later than the last of its series is left."""
        samples, found, kind = told.samples, told.found, told.kind
        slots = self._at(samples.series, kind)
        late = samples.ts_ms <= self._last_ms[slots]
        if late.any():
            samples, slots, kind = _some(samples, ~late), slots[~late], kind[~late]
            found = Intervals(found.increase[~late], found.ms[~late], found.valid[~late])
            if not slots.size:
                return
        last = np.append(slots[1:] != slots[:-1], True)
        at, newest = slots[last], samples.ts_ms[last]
        self._learn(at, newest)
        self._last_ms[at], self._value[at] = newest, samples.value[last]
        counts = np.flatnonzero(kind != GAUGE)
        if counts.size:
            found = Intervals(found.increase[counts], found.ms[counts], found.valid[counts])
            self._count(_some(samples, counts), found, kind[counts], slots[counts])

    def _learn(self, at: Ints, newest: Ints) -> None:
        """The usual distance in time between two arrivals, each of which may have several samples."""
        before, usual = self._last_ms[at], self._usual_ms[at]
        step = np.where(before >= 0, newest - before, np.nan)
        with np.errstate(invalid="ignore"):
            learned = usual + LEARNS * (np.minimum(step, LONGEST_STEP * usual) - usual)
        learned = np.where(np.isnan(usual), step, learned)
        self._usual_ms[at] = np.where(np.isnan(step), usual, learned)

    def _count(self, samples: Samples, found: Intervals, kind: Ints, slots: Ints) -> None:
        """Adds increases and their milliseconds to the second in which each ended."""
        if (kind == DELTA).any():
            own, is_own = own_intervals(samples), kind == DELTA
            found = Intervals(
                np.where(is_own, own.increase, found.increase),
                np.where(is_own, own.ms, found.ms),
                np.where(is_own, own.valid, found.valid),
            )
        second = samples.ts_ms // MS
        recent = second > self._last_ms[slots] // MS - ROOM
        first = starts(slots[recent], second[recent])
        ms = np.where(found.valid, np.minimum(found.ms, WINDOW_S * MS), 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            # of what took longer than the window the part that lies in it
            increase = np.where(found.valid, found.increase * ms / found.ms, 0.0)
        at, when = slots[recent][first], second[recent][first]
        place = at, when % ROOM
        goes_on = self._second[place] == when
        self._increase[place] = np.where(goes_on, self._increase[place], 0.0) + np.add.reduceat(increase[recent], first)
        self._ms[place] = np.where(goes_on, self._ms[place], 0.0) + np.add.reduceat(ms[recent], first)
        self._second[place] = when

    def load(self, rows: Iterable[Loaded]) -> None:
        """What is stored of series that are not known yet."""
        found = sorted((row for row in rows if row.series not in self.slots), key=lambda row: row.series)
        if not found:
            return
        series = np.array([row.series for row in found], np.int64)
        slots = self._at(series, np.array([row.kind for row in found], np.int64))
        self._last_ms[slots] = [row.last_ms for row in found]
        self._value[slots] = [row.value for row in found]
        self._usual_ms[slots] = [row.usual_ms for row in found]
        second = self._last_ms[slots] // MS
        share = np.array([min(1.0, WINDOW_S * MS / row.ms) if row.ms else 0.0 for row in found])
        place = slots, second % ROOM
        self._second[place] = second
        self._increase[place] = share * np.array([row.increase for row in found])
        self._ms[place] = share * np.array([row.ms for row in found], float)

    def _at(self, series: Ints, kind: Ints) -> Ints:
        """The slots of samples in the order of their series; new series get one."""
        first = starts(series)
        ids = series[first].tolist()
        slots = self.slots
        at = [slots.get(one, NEVER) for one in ids]
        if NEVER in at:
            new = [position for position, slot in enumerate(at) if slot == NEVER]
            for position in new:
                at[position] = slots[ids[position]] = len(slots)
            self._grow(len(slots))
            places = [at[position] for position in new]
            self._series[places] = [ids[position] for position in new]
            self._kind[places] = kind[first[new]]
        return np.repeat(np.array(at, np.int64), np.diff(np.append(first, series.size)))

    def _grow(self, size: int) -> None:
        if size <= self._last_ms.size:
            return
        room = max(size - self._last_ms.size, self._last_ms.size, 64)
        self._series = np.append(self._series, np.full(room, NEVER))
        self._kind = np.append(self._kind, np.zeros(room, np.int64))
        self._last_ms = np.append(self._last_ms, np.full(room, NEVER))
        self._value = np.append(self._value, np.full(room, np.nan))
        self._usual_ms = np.append(self._usual_ms, np.full(room, np.nan))
        self._second = np.append(self._second, np.full((room, ROOM), NEVER), axis=0)
        self._increase = np.append(self._increase, np.zeros((room, ROOM)), axis=0)
        self._ms = np.append(self._ms, np.zeros((room, ROOM)), axis=0)

    # --- reading ------------------------------------------------------------------------------------------------

    def read(self) -> Read:
        """Everything, by slot."""
        size = len(self.slots)
        series, kind, last_ms = self._series[:size], self._kind[:size], self._last_ms[:size]
        value = np.where(kind == GAUGE, self._value[:size], np.nan)
        counts = np.flatnonzero(kind != GAUGE)
        inside = self._second[counts] > (last_ms[counts] // MS - WINDOW_S)[:, None]
        increase = np.where(inside, self._increase[counts], 0.0).sum(axis=1)
        ms = np.where(inside, self._ms[counts], 0.0).sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            value[counts] = np.where(ms > 0, increase * MS / ms, np.nan)
        return Read(series.copy(), value, last_ms.copy(), self._usual_ms[:size].copy())

    def drop(self, before_ms: int, others: Sequence[int] = ()) -> bool:
        """Forgets series that have had nothing since, and these others; whether there were any."""
        size = len(self.slots)
        kept = self._last_ms[:size] >= before_ms
        for each in others:
            if (slot := self.slots.get(each)) is not None:
                kept[slot] = False
        if kept.all():
            return False
        which = np.flatnonzero(kept)
        for name in ("_series", "_kind", "_last_ms", "_value", "_usual_ms", "_second", "_increase", "_ms"):
            setattr(self, name, getattr(self, name)[which])
        self.slots = {series: slot for slot, series in enumerate(self._series.tolist())}
        return True


def _some(samples: Samples, chosen: Mask | Ints) -> Samples:
    return Samples(samples.series[chosen], samples.ts_ms[chosen], samples.value[chosen], samples.start_ms[chosen])
