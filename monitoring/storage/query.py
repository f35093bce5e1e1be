"""What is stored, for a window of time, at a resolution that a chart can show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.db import connection

from monitoring.models import Series
from monitoring.storage import histograms, tables
from monitoring.storage.rollups import (
    MS,
    RESOLUTIONS_S,
    Array,
    Ints,
    Rows,
    Samples,
    intervals,
    of_intervals,
    of_values,
    own_intervals,
)

MOST_POINTS = 600
QUANTILES = (0.5, 0.9, 0.99)
SILENT = 3.0
"""Times the usual distance of two points: what is further apart is not joined."""
CAPACITY = {"link_egress_bits": "link_capacity_bps", "link_ingress_bits": "link_capacity_bps"}
"""Counters whose rate cannot be more than another signal of the same link."""
NEVER = -1


@dataclass(frozen=True, slots=True)
class Window:
    """From `start_ms` up to `end_ms`, in steps of `step_ms`, read at a resolution; 0: the samples themselves."""

    start_ms: int
    end_ms: int
    step_ms: int
    resolution_s: int


@dataclass(frozen=True, slots=True)
class Line:
    """One series over a window: of counters the rate a second. Where nothing was measured there is a None between."""

    series: Series
    ts_ms: list[int]
    mean: list[float | None]
    low: list[float | None]
    high: list[float | None]
    clamped: list[bool] = field(default_factory=list)
    """Where a rate was more than the link carries, and is shown as what it carries; empty where that cannot be."""
    quantiles: Mapping[str, list[float | None]] = field(default_factory=dict)
    counts: list[float] = field(default_factory=list)
    """Of a histogram, by bucket, over the whole window."""


def window(start_ms: int, end_ms: int, points: int = MOST_POINTS) -> Window:
    """The window at the finest resolution that needs no more than so many points."""
    least_ms = max((end_ms - start_ms) / points, MS)
    resolution_s = max((each for each in RESOLUTIONS_S if each * MS <= least_ms), default=0)
    unit_ms = max(resolution_s, 1) * MS
    return Window(start_ms, end_ms, int(np.ceil(least_ms / unit_ms)) * unit_ms, resolution_s)


def lines(series: Iterable[Series], asked: Window) -> list[Line]:
    """Each of the series over a window."""
    return [_line(each, asked) for each in series]


def _line(series: Series, asked: Window) -> Line:
    if series.kind in ("histogram", "delta_histogram"):
        return _histogram(series, asked)
    rows = _raw(series, asked) if asked.resolution_s == 0 else _stored(series, asked)
    rates = series.kind != "gauge"
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(rows.count > 0, rows.sum * MS / rows.span_ms if rates else rows.sum / rows.count, np.nan)
    low, high, clamped = rows.min, rows.max, np.zeros(0, bool)
    if rates and (most := _capacity(series, asked, rows.bucket_ms)) is not None:
        clamped = high > most
        mean, low, high = (np.fmin(values, np.where(np.isfinite(values), most, np.nan)) for values in (mean, low, high))
    return _joined(Line(series, rows.bucket_ms.tolist(), _nulls(mean), _nulls(low), _nulls(high), clamped.tolist()))


def _raw(series: Series, asked: Window) -> Rows:
    stored = tables.samples(series.pk, asked.start_ms, asked.end_ms)
    ts_ms = np.array([row[0] for row in stored], np.int64)
    value = np.array([np.nan if row[1] is None else row[1] for row in stored], float)
    start_ms = np.array([NEVER if row[2] is None else row[2] for row in stored], np.int64)
    inside = ts_ms >= asked.start_ms
    every = Samples(np.full(ts_ms.size, series.pk), ts_ms, value, start_ms)
    own = _some(every, inside)
    step_s = asked.step_ms // MS
    if not own.ts_ms.size:
        return _none()
    if series.kind == "gauge":
        return of_values(own, step_s)
    if series.kind == "delta":
        return of_intervals(own, own_intervals(own), step_s)
    before = Samples(every.series, _moved(ts_ms, NEVER), _moved(value, np.nan), _moved(start_ms, NEVER))
    return of_intervals(own, intervals(own, _some(before, inside), np.full(own.ts_ms.size, series.wrap_bits)), step_s)


def _moved(values: Any, nothing: float) -> Any:
    return np.concatenate([[nothing], values[:-1]]).astype(values.dtype) if values.size else values


def _some(samples: Samples, chosen: np.ndarray) -> Samples:
    return Samples(samples.series[chosen], samples.ts_ms[chosen], samples.value[chosen], samples.start_ms[chosen])


def _none() -> Rows:
    nothing, none = np.zeros(0), np.zeros(0, np.int64)
    return Rows(none, none, nothing, nothing, nothing, nothing, nothing, none, none)


def rollups(series: Series, asked: Window) -> list[tuple[Any, ...]]:
    """Start, min, max, sum, count, last, its time, span and counts of a series' buckets."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT bucket_ms, min, max, sum, count, last, last_ms, span_ms, counts FROM monitoring_rollup "
            "WHERE series_id = %s AND resolution_s = %s AND bucket_ms >= %s AND bucket_ms < %s ORDER BY bucket_ms",
            [series.pk, asked.resolution_s, asked.start_ms, asked.end_ms],
        )
        found: list[tuple[Any, ...]] = cursor.fetchall()
    return found


def _stored(series: Series, asked: Window) -> Rows:
    found = rollups(series, asked)
    if not found:
        return _none()
    parts = list(zip(*found, strict=True))[:8]
    columns = [np.array([np.nan if part is None else part for part in column], float) for column in parts]
    bucket, low, high, total, count, last, last_ms, span = columns
    step = bucket.astype(np.int64) // asked.step_ms * asked.step_ms
    first = np.flatnonzero(np.append(True, step[1:] != step[:-1]))
    ends = np.append(first[1:], step.size) - 1
    return Rows(
        series=np.full(first.size, series.pk),
        bucket_ms=step[first],
        min=np.fmin.reduceat(low, first),
        max=np.fmax.reduceat(high, first),
        sum=np.add.reduceat(total, first),
        count=np.add.reduceat(count, first),
        last=last[ends],
        last_ms=last_ms[ends].astype(np.int64),
        span_ms=np.add.reduceat(span, first).astype(np.int64),
    )


def _capacity(series: Series, asked: Window, bucket_ms: Ints) -> Array | None:
    """What the link of a series carried at most in each bucket; NaN, or None at all, where nobody says."""
    signal = CAPACITY.get(series.signal)
    if signal is None or not bucket_ms.size:
        return None
    of_link = Series.objects.filter(signal=signal, labels__link=series.labels.get("link"))
    found = [_told(each, asked, bucket_ms) for each in of_link]
    return np.fmax.reduce(found) if found else None


def _told(capacity: Series, asked: Window, bucket_ms: Ints) -> Array:
    """A capacity in each bucket: the most of what was told in it, before it and, if nothing in it, after it. It may
    have changed at any time between two tellings, and a rate be of an interval that begins before its bucket."""
    rows = _raw(capacity, asked) if asked.resolution_s == 0 else _stored(capacity, asked)
    before = tables.last_value(capacity.pk, asked.start_ms)
    # one entry before all and one behind all, so that every bucket has neighbours
    highest = np.concatenate([[before], rows.max, [np.nan]])
    last = np.concatenate([[before], rows.last, [np.nan]])
    times = np.concatenate([[NEVER], rows.bucket_ms])
    at = np.searchsorted(times, bucket_ms, "right") - 1
    is_in = times[at] == bucket_ms
    found = np.where(is_in, np.fmax(last[at - 1], highest[at]), np.fmax(last[at], highest[at + 1]))
    return np.where(found > 0, found, np.nan)


def _joined(line: Line) -> Line:
    """With a None where two points are too far apart to be joined."""
    if len(line.ts_ms) < 3:
        return line
    distance = np.diff(line.ts_ms)
    gaps = np.flatnonzero(distance > SILENT * np.median(distance))
    for at in reversed(gaps.tolist()):
        line.ts_ms.insert(at + 1, (line.ts_ms[at] + line.ts_ms[at + 1]) // 2)
        for values in (line.mean, line.low, line.high, *line.quantiles.values()):
            values.insert(at + 1, None)
        if line.clamped:
            line.clamped.insert(at + 1, False)
    return line


def _nulls(values: Array) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]


# --- histograms --------------------------------------------------------------------------------------------------


def _histogram(series: Series, asked: Window) -> Line:
    """Mean and quantiles by step, and the counts of the whole window."""
    found = _observed(series, asked)
    bounds = np.array(series.bounds or [], float)
    steps: dict[int, tuple[Array, float]] = {}
    for ts_ms, counts, total in found:
        step = ts_ms // asked.step_ms * asked.step_ms
        before, sum_before = steps.get(step, (np.zeros(bounds.size + 1), 0.0))
        steps[step] = before + counts, sum_before + total
    times = sorted(steps)
    count = [float(steps[at][0].sum()) for at in times]
    mean = [steps[at][1] / number if number else None for at, number in zip(times, count, strict=True)]
    quantiles: dict[str, list[float | None]] = {
        f"p{100 * share:.3g}": [quantile(bounds, steps[at][0], share) for at in times] for share in QUANTILES
    }
    whole = sum((steps[at][0] for at in times), np.zeros(bounds.size + 1))
    nothing: list[float | None] = [None] * len(times)
    return _joined(Line(series, times, mean, nothing, list(nothing), [], quantiles, whole.tolist()))


def _observed(series: Series, asked: Window) -> list[tuple[int, Array, float]]:
    """Time, counts and total of every increase in the window."""
    if asked.resolution_s:
        rows = rollups(series, asked)
        return [(row[0], np.frombuffer(bytes(row[8]), histograms.DOUBLE), row[3]) for row in rows if row[8]]
    stored = [histograms.observed(row) for row in tables.samples(series.pk, asked.start_ms, asked.end_ms)]
    found = []
    for at, sample in enumerate(stored):
        before = stored[at - 1] if at and series.kind == "histogram" else None
        increase = histograms.increased(sample, before, series.kind) if sample.ts_ms >= asked.start_ms else None
        if increase:
            found.append((sample.ts_ms, increase.counts, increase.total))
    return found


def quantile(bounds: Array, counts: Array, share: float) -> float | None:
    """Linear within its bucket, as Prometheus has it; beyond the last bound that bound. None of nothing."""
    total = counts.sum()
    if not total > 0 or not bounds.size:
        return None
    reached = np.cumsum(counts)
    at = int(np.searchsorted(reached, share * total))
    if at >= bounds.size:
        return float(bounds[-1])
    low = float(bounds[at - 1]) if at else min(0.0, float(bounds[0]))
    before = float(reached[at - 1]) if at else 0.0
    inside = (share * total - before) / counts[at] if counts[at] > 0 else 1.0
    return low + (float(bounds[at]) - low) * float(inside)


# --- which series ------------------------------------------------------------------------------------------------


def matching(signal: str, labels: Mapping[str, str], sources: Sequence[str] = ()) -> list[Series]:
    """The series of a signal that have these labels, of these sources or of any."""
    found = Series.objects.filter(signal=signal).select_related("source").order_by("pk")
    if sources:
        found = found.filter(source__name__in=sources)
    return [each for each in found if all(each.labels.get(name) == value for name, value in labels.items())]
