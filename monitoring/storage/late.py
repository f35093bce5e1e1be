"""Samples that come after later ones of their series: rollups around them are made again from what is stored."""

from __future__ import annotations

import numpy as np

from monitoring.storage import partitions, tables
from monitoring.storage.memory import Memory
from monitoring.storage.rollups import (
    MS,
    RESOLUTIONS_S,
    Rows,
    Samples,
    intervals,
    of_intervals,
    of_values,
    own_intervals,
)

NEVER = -1


def store(samples: Samples, kinds: dict[int, str], memory: Memory) -> set[int]:
    """Inserts those that are not there yet, and corrects the rollups that they change; the series that it touched."""
    pairs = list(zip(samples.series.tolist(), samples.ts_ms.tolist(), strict=True))
    there = tables.existing(pairs)
    new = np.array([pair not in there for pair in pairs])
    if not new.any():
        return set()
    partitions.ensure(samples.ts_ms[new], memory.days)
    tables.insert_scalars(samples.series[new], samples.ts_ms[new], samples.value[new], samples.start_ms[new])
    dirty: set[tuple[int, int]] = set()
    for series, ts_ms in (pair for pair, is_new in zip(pairs, new.tolist(), strict=True) if is_new):
        dirty.add((series, ts_ms))
        # The interval that ended at the next sample is another one now.
        following = tables.next_after(series, ts_ms)
        if kinds[series] == "counter" and following is not None:
            dirty.add((series, following))
    for resolution_s in RESOLUTIONS_S:
        size = resolution_s * MS
        for series, bucket in sorted({(series, ts_ms // size * size) for series, ts_ms in dirty}):
            wrap_bits = int(memory.wrap_bits[memory.slots[series]])
            rows = again(series, kinds[series], wrap_bits, bucket, resolution_s)
            tables.upsert(tables.plain(rows, resolution_s))
    return {series for series, _ in dirty}


def again(series: int, kind: str, wrap_bits: int, bucket_ms: int, resolution_s: int) -> Rows:
    """The rollup of a bucket, from its samples."""
    stored = tables.samples(series, bucket_ms, bucket_ms + resolution_s * MS)
    inside = sum(row[0] >= bucket_ms for row in stored)
    ts_ms = np.array([row[0] for row in stored], np.int64)
    value = np.array([np.nan if row[1] is None else row[1] for row in stored], float)
    start_ms = np.array([NEVER if row[2] is None else row[2] for row in stored], np.int64)
    every = Samples(np.full(ts_ms.size, series), ts_ms, value, start_ms)
    own = Samples(*(getattr(every, name)[ts_ms.size - inside :] for name in Samples.__slots__))
    if kind == "gauge":
        return of_values(own, resolution_s)
    if kind == "delta":
        return of_intervals(own, own_intervals(own), resolution_s)
    before = _before(every, inside)
    return of_intervals(own, intervals(own, before, np.full(inside, wrap_bits)), resolution_s)


def _before(every: Samples, inside: int) -> Samples:
    """For each of the last `inside` samples the one before it."""
    parts = {}
    for name, nothing in (("ts_ms", NEVER), ("value", np.nan), ("start_ms", NEVER)):
        padded = np.insert(getattr(every, name), 0, nothing)
        parts[name] = padded[-inside - 1 : -1]
    return Samples(series=every.series[-inside:], **parts)
