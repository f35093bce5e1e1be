"""Many series over a window at once, each as one column on the same grid of steps: what a page of charts needs.

A column has NaN where nothing was measured. Nothing is filled in here, and nothing clamped.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import connection

from monitoring.models import Series
from monitoring.storage.histograms import DOUBLE
from monitoring.storage.query import Window
from monitoring.storage.rollups import (
    GAP_MS,
    MS,
    Array,
    Intervals,
    Ints,
    Rows,
    Samples,
    intervals,
    of_intervals,
    of_values,
    own_intervals,
    starts,
)

CHUNK = 500
NEVER = -1


@dataclass(frozen=True, slots=True)
class Grid:
    """Steps from `start_ms` on, read at a resolution; 0: the samples themselves."""

    start_ms: int
    step_ms: int
    steps: int
    resolution_s: int

    @property
    def end_ms(self) -> int:
        """Of the last step."""
        return self.start_ms + self.steps * self.step_ms

    @property
    def ts_ms(self) -> Ints:
        """Where each step begins."""
        return self.start_ms + self.step_ms * np.arange(self.steps)

    def earlier(self, steps: int) -> Grid:
        """The same with some steps before it."""
        return Grid(self.start_ms - steps * self.step_ms, self.step_ms, self.steps + steps, self.resolution_s)


def grid(asked: Window, most: int) -> Grid:
    """All steps that the window touches; of more than so many the first is left, of which only a part is in it."""
    start_ms = asked.start_ms // asked.step_ms * asked.step_ms
    steps = -(-(asked.end_ms - start_ms) // asked.step_ms)
    left = max(0, steps - most)
    return Grid(start_ms + left * asked.step_ms, asked.step_ms, steps - left, asked.resolution_s)


@dataclass(frozen=True, slots=True)
class Column:
    """Of a gauge or counter, by step: mean, least and greatest value, or rate; and how many samples there were."""

    mean: Array
    low: Array
    high: Array
    count: Array


@dataclass(frozen=True, slots=True)
class Counts:
    """Of a histogram: what was observed in each step by bucket, and in which steps anything was told at all."""

    counts: Array
    told: np.ndarray


def present(series: Container[int], start_ms: int, end_ms: int, resolution_s: int) -> set[int]:
    """Those that have a rollup of this resolution in a window, or at its edge."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT series_id FROM monitoring_rollup "
            "WHERE resolution_s = %s AND bucket_ms > %s AND bucket_ms < %s",
            [resolution_s, start_ms - resolution_s * MS, end_ms],
        )
        return {each for (each,) in cursor.fetchall() if each in series}


# --- gauges and counters -----------------------------------------------------------------------------------------


def scalars(series: Sequence[Series], on: Grid) -> dict[int, Column]:
    """Of those that have anything, by id."""
    found: dict[int, Column] = {}
    for some in _chunks([each for each in series if "histogram" not in each.kind]):
        for rows, is_rate in _raw(some, on) if on.resolution_s == 0 else _stored(some, on):
            _place(rows, is_rate, on, found)
    return found


def _chunks(series: Sequence[Series]) -> Iterator[list[Series]]:
    ordered = sorted(series, key=lambda each: each.pk)
    for at in range(0, len(ordered), CHUNK):
        yield ordered[at : at + CHUNK]


def _stored(series: list[Series], on: Grid) -> Iterator[tuple[Rows, bool]]:
    marks = ", ".join(["%s"] * len(series))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT series_id, (bucket_ms - %s) / %s AS step, MIN(min), MAX(max), SUM(sum), SUM(count), SUM(span_ms) "  # noqa: S608
            f"FROM monitoring_rollup WHERE series_id IN ({marks}) AND resolution_s = %s "
            "AND bucket_ms >= %s AND bucket_ms < %s GROUP BY series_id, step ORDER BY series_id, step",
            [on.start_ms, on.step_ms, *(each.pk for each in series), on.resolution_s, on.start_ms, on.end_ms],
        )
        rows = cursor.fetchall()
    if not rows:
        return
    numbers = np.array(rows, float)  # null becomes NaN
    ids, step, low, high, total, count, span_ms = numbers.T
    whole = Rows(
        series=ids.astype(np.int64),
        bucket_ms=on.start_ms + step.astype(np.int64) * on.step_ms,
        min=low,
        max=high,
        sum=total,
        count=count,
        last=np.full(ids.size, np.nan),
        last_ms=np.zeros(ids.size, np.int64),
        span_ms=span_ms.astype(np.int64),
    )
    is_rate = np.isin(whole.series, [each.pk for each in series if each.kind != "gauge"])
    for chosen, rates in ((is_rate, True), (~is_rate, False)):
        yield Rows(**{name: getattr(whole, name)[chosen] for name in Rows.__slots__}), rates


def _raw(series: list[Series], on: Grid) -> Iterator[tuple[Rows, bool]]:
    rows = _samples([each.pk for each in series], on, "value, start_ms")
    if not rows:
        return
    columns = list(zip(*rows, strict=True))
    ids, ts_ms = (np.array(column, np.int64) for column in columns[:2])
    value = np.array([np.nan if part is None else part for part in columns[2]], float)
    start_ms = np.array([NEVER if part is None else part for part in columns[3]], np.int64)
    samples = Samples(ids, ts_ms, value, start_ms)
    wraps = {each.pk: each.wrap_bits for each in series}
    found = intervals(samples, _before(samples), np.array([wraps[each] for each in ids.tolist()], np.int64))
    step_s, inside = on.step_ms // MS, ts_ms >= on.start_ms
    for kind in ("gauge", "counter", "delta"):
        own = inside & np.isin(ids, [each.pk for each in series if each.kind == kind])
        if not own.any():
            continue
        some = Samples(ids[own], ts_ms[own], value[own], start_ms[own])
        if kind == "gauge":
            yield of_values(some, step_s), False
        elif kind == "delta":
            yield of_intervals(some, own_intervals(some), step_s), True
        else:
            yield of_intervals(some, Intervals(found.increase[own], found.ms[own], found.valid[own]), step_s), True


def _samples(ids: Sequence[int], on: Grid, columns: str) -> list[tuple[Any, ...]]:
    """By series and time, from so long before the window that an interval may reach into it."""
    marks = ", ".join(["%s"] * len(ids))
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT series_id, ts_ms, {columns} FROM monitoring_sample WHERE series_id IN ({marks}) "  # noqa: S608
            "AND ts_ms >= %s AND ts_ms < %s ORDER BY series_id, ts_ms",
            [*ids, on.start_ms - GAP_MS, on.end_ms],
        )
        found: list[tuple[Any, ...]] = cursor.fetchall()
    return found


def _before(samples: Samples) -> Samples:
    """For each sample the one before it in its series."""
    first = starts(samples.series)
    parts = {}
    for name, nothing in (("ts_ms", NEVER), ("value", np.nan), ("start_ms", NEVER)):
        moved = np.roll(getattr(samples, name), 1)
        moved[first] = nothing
        parts[name] = moved
    return Samples(series=samples.series, **parts)


def _place(rows: Rows, is_rate: bool, on: Grid, found: dict[int, Column]) -> None:
    if not rows.series.size:
        return
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = rows.sum * MS / rows.span_ms if is_rate else rows.sum / rows.count
    mean = np.where((rows.count > 0) & np.isfinite(mean), mean, np.nan)
    step = (rows.bucket_ms - on.start_ms) // on.step_ms
    first = starts(rows.series)
    for begin, end in zip(first.tolist(), [*first[1:].tolist(), rows.series.size], strict=True):
        some, at = slice(begin, end), step[begin:end]
        found[int(rows.series[begin])] = Column(
            mean=_column(mean[some], at, on),
            low=_column(rows.min[some], at, on),
            high=_column(rows.max[some], at, on),
            count=np.nan_to_num(_column(rows.count[some], at, on)),
        )


def _column(values: Array, at: Ints, on: Grid) -> Array:
    found = np.full(on.steps, np.nan)
    found[at] = values
    return found


# --- histograms --------------------------------------------------------------------------------------------------


def histograms(series: Sequence[Series], on: Grid) -> dict[int, Counts]:
    """Of those that have anything, by id."""
    found: dict[int, Counts] = {}
    for some in _chunks([each for each in series if "histogram" in each.kind]):
        kinds = {each.pk: each.kind for each in some}
        rows = _samples(list(kinds), on, "start_ms, counts") if on.resolution_s == 0 else _counted(list(kinds), on)
        rows = [row for row in rows if row[-1] is not None]
        first = starts(np.array([row[0] for row in rows], np.int64)).tolist() if rows else []
        for begin, end in zip(first, [*first[1:], len(rows)], strict=True):
            own = rows[begin:end]
            ts_ms = np.array([row[1] for row in own], np.int64)
            counts = np.frombuffer(b"".join(bytes(row[-1]) for row in own), DOUBLE).reshape(len(own), -1)
            if on.resolution_s == 0:
                counts = _increases(own, ts_ms, counts, kinds[own[0][0]])
            inside = ts_ms >= on.start_ms
            if inside.any():
                found[own[0][0]] = _stepped(ts_ms[inside], counts[inside], on)
    return found


def _counted(ids: Sequence[int], on: Grid) -> list[tuple[Any, ...]]:
    marks = ", ".join(["%s"] * len(ids))
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT series_id, bucket_ms, counts FROM monitoring_rollup WHERE series_id IN ({marks}) "  # noqa: S608
            "AND resolution_s = %s AND bucket_ms >= %s AND bucket_ms < %s ORDER BY series_id, bucket_ms",
            [*ids, on.resolution_s, on.start_ms, on.end_ms],
        )
        found: list[tuple[Any, ...]] = cursor.fetchall()
    return found


def _increases(rows: Sequence[tuple[Any, ...]], ts_ms: Ints, counts: Array, kind: str) -> Array:
    """What was observed up to each sample; nothing over a reset or a gap, or where nobody says since when."""
    if kind == "delta_histogram":
        since = np.array([row[2] is not None and row[2] < row[1] for row in rows])
        return np.where(since[:, None], counts, 0.0)
    start_ms = np.array([NEVER if row[2] is None else row[2] for row in rows], np.int64)
    increase = np.diff(counts, axis=0, prepend=counts[:1])
    same = np.append(False, (start_ms[1:] == start_ms[:-1]) | (start_ms[1:] < 0) | (start_ms[:-1] < 0))
    near = np.append(False, np.diff(ts_ms) <= GAP_MS)
    valid = same & near & (increase >= 0).all(axis=1)
    return np.where(valid[:, None], increase, 0.0)


def _stepped(ts_ms: Ints, counts: Array, on: Grid) -> Counts:
    step = (ts_ms - on.start_ms) // on.step_ms
    first = starts(step)
    whole, told = np.zeros((on.steps, counts.shape[1])), np.zeros(on.steps, bool)
    whole[step[first]] = np.add.reduceat(counts, first, axis=0)
    told[step] = True
    return Counts(whole, told)
