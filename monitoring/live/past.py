"""Of many series one line over a window: what `measuring` says of now, said of every step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitoring.live import combining
from monitoring.live.measuring import ENDED_AFTER_MS, ENDED_USUAL, SHARES
from monitoring.live.selection import Some
from monitoring.liveness import ABSENT_AFTER_MS
from monitoring.state import DROPPED_AFTER_MS, STALE_AFTER_MS, USUAL
from monitoring.state.histograms import RECENT_S
from monitoring.storage import query
from monitoring.storage.columns import Column, Counts, Grid
from monitoring.storage.rollups import MS, Array

LONG_AGO_MS = 2**50


@dataclass(frozen=True, slots=True)
class Line:
    """By step; NaN where it is not known."""

    mean: Array
    low: Array
    high: Array

    @classmethod
    def alone(cls, mean: Array) -> Line:
        """Without extremes."""
        nothing = np.full(mean.size, np.nan)
        return cls(mean, nothing, nothing)

    def last(self, steps: int) -> Line:
        """The end of it."""
        return Line(self.mean[-steps:], self.low[-steps:], self.high[-steps:])


@dataclass(frozen=True, slots=True)
class _Held:
    """A series as it was shown: its last value for as long as that was live."""

    line: Line
    age_ms: Array
    """Of the last value, by step."""
    usual_ms: float


class Past:
    """All series of a watch over a window."""

    def __init__(self, columns: Mapping[int, Column], sources: Mapping[int, int], on: Grid) -> None:
        """`sources` has the source of each series."""
        self._on, self._sources = on, sources
        self._held = {series: _held(column, on) for series, column in columns.items()}
        self._sends: dict[int, NDArray[np.bool_]] = {}
        for series, held in self._held.items():
            source = sources[series]
            before = self._sends.get(source, np.zeros(on.steps, bool))
            self._sends[source] = before | np.isfinite(held.line.mean)

    def sum(self, series: Some, scale: float = 1.0) -> Line:
        """NaN where a part is missing that had not ended: a sum with a hole would look like less traffic."""
        parts = [(self._held[each.id], self._part(each.id)) for each in series if each.id in self._held]
        if not parts:
            return self.nothing()
        there = np.any([part for _, part in parts], axis=0)

        def of(name: str) -> Array:
            whole = np.sum([np.where(part, getattr(held.line, name), 0.0) for held, part in parts], axis=0) * scale
            found: Array = np.where(there, whole, np.nan)
            return found

        return Line(of("mean"), of("low"), of("high"))

    def _part(self, series: int) -> NDArray[np.bool_]:
        """Where a series is one of a sum: from its first value on, until it has ended or was silent for long."""
        held = self._held[series]
        goes_on = held.age_ms <= max(ENDED_AFTER_MS, ENDED_USUAL * held.usual_ms)
        silent = ~self._sends[self._sources[series]] & (held.age_ms <= DROPPED_AFTER_MS)
        found: NDArray[np.bool_] = goes_on | silent
        return found

    def mean(self, series: Some) -> Line:
        """Of those that have a value."""
        lines = [self._held[each.id].line for each in series if each.id in self._held]
        return Line(*(_mean([getattr(line, name) for line in lines], self._on) for name in ("mean", "low", "high")))

    def is_told(self, series: Some) -> NDArray[np.bool_]:
        """Where one of them is not absent."""
        ages = [self._held[each.id].age_ms < ABSENT_AFTER_MS for each in series if each.id in self._held]
        return np.any(ages, axis=0) if ages else np.zeros(self._on.steps, bool)

    def nothing(self) -> Line:
        """What was never measured."""
        return Line.alone(np.full(self._on.steps, np.nan))


def _mean(columns: Sequence[Array], on: Grid) -> Array:
    if not columns:
        return np.full(on.steps, np.nan)
    known = np.isfinite(columns)
    count = known.sum(axis=0)
    total = np.where(known, columns, 0.0).sum(axis=0)
    with np.errstate(invalid="ignore"):
        return np.where(count > 0, total / count, np.nan)


def _held(column: Column, on: Grid) -> _Held:
    valid = np.isfinite(column.mean)
    usual_ms = _usual_ms(valid, column.count, on)
    steps = np.arange(on.steps)
    last = np.maximum.accumulate(np.where(valid, steps, -1))
    age_ms = np.where(last >= 0, (steps - last) * on.step_ms, LONG_AGO_MS).astype(float)
    allowed = min(max(STALE_AFTER_MS, USUAL * usual_ms), ABSENT_AFTER_MS)
    shown = age_ms <= allowed
    line = Line(*(np.where(shown, values[last], np.nan) for values in (column.mean, column.low, column.high)))
    return _Held(line, age_ms, usual_ms)


def _usual_ms(valid: NDArray[np.bool_], count: Array, on: Grid) -> float:
    """The usual distance of two samples, from how many there are in a step, or how far apart steps with one are."""
    at = np.flatnonzero(valid)
    if at.size < 2:
        return 0.0
    return float(on.step_ms * np.median(np.diff(at)) / max(1.0, float(np.median(count[at]))))


# --- histograms --------------------------------------------------------------------------------------------------


def window_steps(on: Grid) -> int:
    """As many steps as percentiles of now look back."""
    return max(1, -(-RECENT_S * MS // on.step_ms))


def quantiles(series: Some, counts: Mapping[int, Counts], on: Grid) -> dict[str, Line]:
    """Of all of them as one, each over the minute that ends with a step; `counts` begin so much before `on`."""
    back = window_steps(on)
    found = [(each.bounds, counts[each.id]) for each in series if each.id in counts]
    parts = [(bounds, one.counts) for bounds, one in found]
    bounds = combining.common(combining.weights(parts))
    mean = {name: np.full(on.steps, np.nan) for name in SHARES}
    if bounds:
        some = [made for own, all_ in parts if (made := combining.coarser(own, all_, bounds)) is not None]
        upto = np.cumsum(np.sum(some, axis=0), axis=0)
        window = upto[back:] - upto[:-back]
        shown = _shown(np.any([one.told for _, one in found], axis=0), on)[back:]
        for step in np.flatnonzero(shown).tolist():
            for name, share in SHARES.items():
                value = query.quantile(np.array(bounds), window[step], share)
                mean[name][step] = np.nan if value is None else value
    return {name: Line.alone(values) for name, values in mean.items()}


def _shown(told: NDArray[np.bool_], on: Grid) -> NDArray[np.bool_]:
    """Where what was told last is not old."""
    steps = np.arange(told.size)
    last = np.maximum.accumulate(np.where(told, steps, -1))
    at = np.flatnonzero(told)
    usual_ms = float(np.median(np.diff(at)) * on.step_ms) if at.size > 1 else 0.0
    found: NDArray[np.bool_] = (last >= 0) & ((steps - last) * on.step_ms <= max(STALE_AFTER_MS, USUAL * usual_ms))
    return found


def lengths(
    series: Mapping[str, Some], counts: Mapping[int, Counts], on: Grid
) -> tuple[list[float], dict[str, list[float]]]:
    """Bounds, and by route what was observed in the whole window."""
    whole = {
        route: [(each.bounds, counts[each.id].counts[-on.steps :].sum(axis=0)) for each in some if each.id in counts]
        for route, some in series.items()
    }
    bounds = combining.common(combining.weights(part for some in whole.values() for part in some))
    if not bounds:
        return [], {}
    return list(bounds), {route: combining.added(some, bounds).tolist() for route, some in whole.items()}
