"""The one writer: sorts acknowledged frames into samples and rollups, each in one transaction with its frames' end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from django.db import transaction

from monitoring.models import Frame
from monitoring.readings import Histogram
from monitoring.storage import histograms, late, partitions, tables
from monitoring.storage.memory import Memory
from monitoring.storage.rollups import (
    RESOLUTIONS_S,
    Intervals,
    Ints,
    Rows,
    Samples,
    intervals,
    merged,
    of_intervals,
    of_values,
    own_intervals,
    starts,
)
from monitoring.storage.series import Book, Known, wanted
from monitoring.storage.told import COUNTER, DELTA, GAUGE, KINDS, Scalars, Told
from monitoring.wire import Mapped, unpacked

MOST_FRAMES = 2_000
MOST_POINTS = 50_000
"""Of one transaction: snapshots wait for its end."""
NEVER = -1


@dataclass(frozen=True, slots=True)
class Stored:
    """What a call has sorted in."""

    frames: int
    points: int
    told: Told


class Writer:
    """Keeps what it needs of every series in memory; whoever else writes beneath it must not."""

    def __init__(self) -> None:
        self.book, self.memory = Book(), Memory()

    def drain(self) -> Stored:
        """Sorts in the oldest frames that wait, up to a transaction's worth; none when none wait."""
        try:
            with transaction.atomic():
                frames = _oldest()
                told = self.store(
                    [(frame.source_id, series) for frame in frames for series in unpacked(bytes(frame.payload))]
                )
                Frame.objects.filter(pk__in=[frame.pk for frame in frames]).delete()
        except BaseException:
            self.forget()
            raise
        return Stored(len(frames), sum(frame.points for frame in frames), told)

    def forget(self) -> None:
        """What a failed transaction has left in memory is not in the database."""
        self.book.clear()
        self.memory.clear()

    def store(self, given: Sequence[tuple[int, Mapped]]) -> Told:
        """Samples and rollups of mapped series by their source. Call it within a transaction."""
        told = Told()
        keys = [(wanted(source_id, series), series) for source_id, series in given if series.points]
        self.book.find((key, series.wrap_bits) for key, series in keys)
        scalar: list[tuple[Known, Mapped]] = []
        counted: list[tuple[Known, Mapped]] = []
        for key, series in keys:
            (counted if isinstance(series.points[0].value, Histogram) else scalar).append((self.book[key], series))
        if scalar:
            self._scalars(scalar, told)
        told.histograms = histograms.store(counted, self.memory.days)
        return told

    def _scalars(self, given: Sequence[tuple[Known, Mapped]], told: Told) -> None:
        self.memory.meet({known.id: known.wrap_bits for known, _ in given})
        samples, kinds = _arrays(given)
        slots = _slots(self.memory, samples.series)
        is_late = samples.ts_ms <= self.memory.last_ms[slots]
        if is_late.any():
            changed = late.store(_some(samples, is_late), kinds, self.memory)
            self.memory.forget(changed)
            samples = _some(samples, ~is_late)
            slots = slots[~is_late]
        if samples.series.size:
            told.scalars.append(self._fresh(samples, slots, kinds))

    def _fresh(self, samples: Samples, slots: Ints, kinds: dict[int, str]) -> Scalars:
        """Samples later than all before them of their series: nothing that is stored changes but what is open."""
        partitions.ensure(samples.ts_ms, self.memory.days)
        tables.insert_scalars(samples.series, samples.ts_ms, samples.value, samples.start_ms)
        before = _before(samples, slots, self.memory)
        found = intervals(samples, before, self.memory.wrap_bits[slots])
        kind = np.array([KINDS[kinds[series]] for series in samples.series.tolist()])
        for resolution_s in RESOLUTIONS_S:
            for rows in _rollups(samples, found, kind, resolution_s):
                at = _slots(self.memory, rows.series)
                goes_on, opened = self.memory.opened(rows, at, resolution_s)
                whole = _where(goes_on, merged(opened, rows), rows)
                tables.upsert(tables.plain(whole, resolution_s))
                self.memory.keep(whole, at, resolution_s)
        _remember(self.memory, samples, slots)
        return Scalars(samples, found, kind)


def _oldest() -> list[Frame]:
    frames: list[Frame] = []
    points = 0
    for frame in Frame.objects.order_by("pk")[:MOST_FRAMES]:
        if frames and points + frame.points > MOST_POINTS:
            break
        frames.append(frame)
        points += frame.points
    return frames


def _arrays(given: Sequence[tuple[Known, Mapped]]) -> tuple[Samples, dict[int, str]]:
    """All points sorted by series and time, one of each; and each series' kind."""
    sizes = [len(series.points) for _, series in given]
    points = [point for _, series in given for point in series.points]
    series = np.repeat([known.id for known, _ in given], sizes)
    ts_ms = np.array([point.ts_ms for point in points], np.int64)
    value = np.array([point.value for point in points], float)
    start_ms = np.array([NEVER if point.start_ms is None else point.start_ms for point in points], np.int64)
    order = np.lexsort((ts_ms, series))
    sorted_ = Samples(series[order], ts_ms[order], value[order], start_ms[order])
    # What stands twice in one batch is kept once.
    kept = starts(sorted_.series, sorted_.ts_ms)
    return _some(sorted_, kept), {known.id: known.kind for known, _ in given}


def _slots(memory: Memory, series: Ints) -> Ints:
    """Runs of a series are looked up once."""
    first = starts(series)
    each = [memory.slots[one] for one in series[first].tolist()]
    return np.repeat(np.array(each, np.int64), np.diff(np.append(first, series.size)))


def _some(samples: Samples, chosen: np.ndarray) -> Samples:
    return Samples(samples.series[chosen], samples.ts_ms[chosen], samples.value[chosen], samples.start_ms[chosen])


def _before(samples: Samples, slots: Ints, memory: Memory) -> Samples:
    """For each sample the one before it: in the batch, or the last that was stored."""
    first = starts(samples.series)
    parts = {
        "ts_ms": (samples.ts_ms, memory.last_ms),
        "value": (samples.value, memory.last_value),
        "start_ms": (samples.start_ms, memory.last_start),
    }
    shifted = {}
    for name, (own, remembered) in parts.items():
        moved = np.roll(own, 1)
        moved[first] = remembered[slots[first]]
        shifted[name] = moved
    return Samples(series=samples.series, **shifted)


def _rollups(samples: Samples, found: Intervals, kind: np.ndarray, resolution_s: int) -> Iterable[Rows]:
    gauges, counters, deltas = (np.flatnonzero(kind == each) for each in (GAUGE, COUNTER, DELTA))
    if gauges.size:
        yield of_values(_some(samples, gauges), resolution_s)
    if counters.size:
        own = Intervals(found.increase[counters], found.ms[counters], found.valid[counters])
        yield of_intervals(_some(samples, counters), own, resolution_s)
    if deltas.size:
        yield of_intervals(_some(samples, deltas), own_intervals(_some(samples, deltas)), resolution_s)


def _where(chosen: np.ndarray, one: Rows, other: Rows) -> Rows:
    parts = {name: np.where(chosen, getattr(one, name), getattr(other, name)) for name in Rows.__slots__}
    return replace(other, **parts)


def _remember(memory: Memory, samples: Samples, slots: Ints) -> None:
    last = np.append(slots[1:] != slots[:-1], True)
    at = slots[last]
    memory.last_ms[at] = samples.ts_ms[last]
    memory.last_value[at] = samples.value[last]
    memory.last_start[at] = samples.start_ms[last]
