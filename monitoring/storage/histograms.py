"""Samples and rollups of histograms. There are few of them, each with many counts: they go one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from monitoring.readings import Histogram, Point
from monitoring.storage import partitions, tables
from monitoring.storage.rollups import GAP_MS, MS, RESOLUTIONS_S, Array
from monitoring.storage.series import Known
from monitoring.wire import Mapped

DOUBLE = "<f8"


@dataclass(frozen=True, slots=True)
class Observed:
    """A stored sample: cumulative, or an increase since `start_ms`."""

    ts_ms: int
    total: float
    start_ms: int | None
    counts: Array


def store(given: Sequence[tuple[Known, Mapped]], days: set[int]) -> list[tuple[Known, Point]]:
    """Inserts the samples that are not there yet, and makes the rollups again that they change; the new ones.

    `days` are those whose partition is known to be there.
    """
    points = {(known.id, point.ts_ms): (known, point) for known, series in given for point in series.points}
    there = tables.existing(points) if points else set()
    new = {key: found for key, found in points.items() if key not in there}
    partitions.ensure(np.array([ts_ms for _, ts_ms in new], np.int64), days)
    tables.insert_histograms([_row(known, point) for known, point in new.values()])
    dirty: set[tuple[Known, int]] = set()
    for (series, ts_ms), (known, _) in new.items():
        dirty.add((known, ts_ms))
        following = tables.next_after(series, ts_ms)
        if known.kind == "histogram" and following is not None:
            dirty.add((known, following))
    rows = []
    for resolution_s in RESOLUTIONS_S:
        size = resolution_s * MS
        buckets = {(known, ts_ms // size * size) for known, ts_ms in dirty}
        rows += [again(known, bucket, resolution_s) for known, bucket in buckets]
    tables.upsert(rows)
    return list(new.values())


def _row(known: Known, point: Point) -> tuple[Any, ...]:
    value = point.value
    if not isinstance(value, Histogram):
        raise TypeError(f"series {known.id} has histograms, got {value!r}")
    total = None if np.isnan(value.total) else value.total
    return known.id, point.ts_ms, total, point.start_ms, np.array(value.counts, DOUBLE).tobytes()


def again(known: Known, bucket_ms: int, resolution_s: int) -> tuple[Any, ...]:
    """The rollup of a bucket, from its samples, as `tables.upsert` takes it."""
    stored = [observed(row) for row in tables.samples(known.id, bucket_ms, bucket_ms + resolution_s * MS)]
    counts, total, span = np.zeros_like(stored[-1].counts), 0.0, 0
    for at, sample in enumerate(stored):
        if sample.ts_ms < bucket_ms:
            continue
        before = None if known.kind == "delta_histogram" or at == 0 else stored[at - 1]
        increase = increased(sample, before, known.kind)
        if increase:
            counts, total, span = counts + increase.counts, total + increase.total, span + increase.ms
    last = stored[-1]
    return (
        known.id, resolution_s, bucket_ms, None, None, total, float(counts.sum()), None, last.ts_ms, span,
        counts.astype(DOUBLE).tobytes(),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Increase:
    """What was observed between two samples, over so many milliseconds; the total is 0 where it is not told."""

    counts: Array
    total: float
    ms: int


def increased(sample: Observed, before: Observed | None, kind: str) -> Increase | None:
    """The increase up to a sample; None over a reset or a gap, or where nobody says since when."""
    if kind == "delta_histogram":
        ms = sample.ts_ms - sample.start_ms if sample.start_ms is not None else 0
        return Increase(sample.counts, np.nan_to_num(sample.total), ms) if ms > 0 else None
    if before is None or not 0 < sample.ts_ms - before.ts_ms <= GAP_MS:
        return None
    restarted = None not in (sample.start_ms, before.start_ms) and sample.start_ms != before.start_ms
    counts = sample.counts - before.counts
    if restarted or np.any(counts < 0):
        return None
    return Increase(counts, float(np.nan_to_num(sample.total - before.total)), sample.ts_ms - before.ts_ms)


def observed(row: Sequence[Any]) -> Observed:
    """From time, value, start and counts."""
    ts_ms, total, start_ms, counts = row
    return Observed(ts_ms, np.nan if total is None else total, start_ms, np.frombuffer(bytes(counts), DOUBLE))
