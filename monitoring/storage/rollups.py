"""From samples to rollups: pure arithmetic over arrays, the same whatever the order in which samples came.

A rollup is a function of the set of its series' samples. Of a gauge it has the least, the greatest, the sum, the number
and the last of the values in its bucket. Of a counter it has the same of its *intervals*, each between two neighbouring
samples and counted in the bucket of the later one: the least and greatest rate, the increase, their number, and the
milliseconds that they cover; an interval over a reset, or longer than a gap, is none. Of a histogram it has the
increase of its total and of its counts. Series of increases (delta) bring their intervals with them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

type Array = NDArray[np.float64]
type Ints = NDArray[np.int64]

RESOLUTIONS_S = (10, 60, 600)
GAP_MS = 120_000
"""A counter that was silent for longer has no rate in between: nobody knows when it grew."""
MS = 1000
WRAPS_FROM, WRAPS_TO = 0.75, 0.25
"""A counter of so many bits that falls from beyond the first share of its range to below the second has wrapped."""


@dataclass(frozen=True, slots=True)
class Samples:
    """Samples as columns, sorted by series and time."""

    series: Ints
    ts_ms: Ints
    value: Array
    start_ms: Ints
    """-1 where nobody says."""


@dataclass(frozen=True, slots=True)
class Intervals:
    """What lies between each sample and the one before it: its increase, and the milliseconds; where it is valid."""

    increase: Array
    ms: Ints
    valid: NDArray[np.bool_]


def intervals(samples: Samples, before: Samples, wrap_bits: Ints) -> Intervals:
    """Of counters; `before` has for every sample the one before it in its series (ts -1: none)."""
    increase = samples.value - before.value
    ms = samples.ts_ms - before.ts_ms
    size = np.where(wrap_bits > 0, 2.0 ** np.minimum(wrap_bits, 64), np.inf)
    wrapped = (increase < 0) & (before.value > WRAPS_FROM * size) & (samples.value < WRAPS_TO * size)
    increase = np.where(wrapped, increase + np.where(wrap_bits > 0, size, 0.0), increase)
    restarted = (samples.start_ms >= 0) & (before.start_ms >= 0) & (samples.start_ms != before.start_ms)
    valid = (before.ts_ms >= 0) & (ms > 0) & (ms <= GAP_MS) & (increase >= 0) & ~restarted
    return Intervals(increase, ms, valid & np.isfinite(increase))


def own_intervals(samples: Samples) -> Intervals:
    """Of increases: each says since when."""
    ms = samples.ts_ms - samples.start_ms
    valid = (samples.start_ms >= 0) & (ms > 0) & np.isfinite(samples.value) & (samples.value >= 0)
    return Intervals(samples.value, ms, valid)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rollups as columns, one entry for each series and bucket; min, max and last are NaN where there are none."""

    series: Ints
    bucket_ms: Ints
    min: Array
    max: Array
    sum: Array
    count: Array
    last: Array
    last_ms: Ints
    span_ms: Ints


def of_values(samples: Samples, resolution_s: int) -> Rows:
    """Rollups of gauges."""
    measured = np.isfinite(samples.value)
    return _rows(samples, resolution_s, samples.value, samples.value, measured, np.zeros_like(samples.ts_ms))


def of_intervals(samples: Samples, found: Intervals, resolution_s: int) -> Rows:
    """Rollups of counters, or of increases that bring their intervals."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(found.valid, found.increase * MS / found.ms, np.nan)
    return _rows(samples, resolution_s, rate, found.increase, found.valid, found.ms)


def _rows(
    samples: Samples, resolution_s: int, extreme: Array, summed: Array, valid: NDArray[np.bool_], ms: Ints
) -> Rows:
    size = resolution_s * MS
    bucket = samples.ts_ms // size * size
    first = starts(samples.series, bucket)
    ends = np.append(first[1:], bucket.size) - 1
    count = np.add.reduceat(valid.astype(float), first)
    low = np.minimum.reduceat(np.where(valid, extreme, np.inf), first)
    high = np.maximum.reduceat(np.where(valid, extreme, -np.inf), first)
    return Rows(
        series=samples.series[first],
        bucket_ms=bucket[first],
        min=np.where(count > 0, low, np.nan),
        max=np.where(count > 0, high, np.nan),
        sum=np.add.reduceat(np.where(valid, summed, 0.0), first),
        count=count,
        last=samples.value[ends],
        last_ms=samples.ts_ms[ends],
        span_ms=np.add.reduceat(np.where(valid, ms, 0), first),
    )


def starts(*columns: NDArray[np.generic]) -> NDArray[np.intp]:
    """Where runs of equal rows begin."""
    changed = np.zeros(columns[0].size, dtype=bool)
    changed[:1] = True
    for column in columns:
        changed[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(changed)


def merged(one: Rows, other: Rows) -> Rows:
    """Two parts of the same buckets, row by row, the other one later."""
    return Rows(
        series=other.series,
        bucket_ms=other.bucket_ms,
        min=np.fmin(one.min, other.min),
        max=np.fmax(one.max, other.max),
        sum=one.sum + other.sum,
        count=one.count + other.count,
        last=other.last,
        last_ms=other.last_ms,
        span_ms=one.span_ms + other.span_ms,
    )
