"""The one writer: sorts acknowledged frames into samples and rollups, each in one transaction with its frames' end."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
from django.db import transaction

from monitoring.models import Frame
from monitoring.readings import Histogram
from monitoring.storage import histograms, late, partitions, tables
from monitoring.storage.memory import Memory
from monitoring.storage.pending import Assembling
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
from monitoring.storage.told import COUNTER, DELTA, GAUGE, Scalars, Told
from monitoring.wire import NEVER, Columns, Held, Mapped, unpacked

MOST_FRAMES = 2_000
MOST_POINTS = 50_000
"""Of one transaction."""
WITHIN_S, LEAST_POINTS = 0.5, 10_000
"""Snapshots wait for the end of a transaction: it has no more points than are sorted in within this time, as far as the
last one tells, but so many at least: each brings the rollups of its series up to date, however few its points."""


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
        self._most_points = MOST_POINTS
        self.assembling: Assembling | None = None
        """Of histograms that come in parts; without it their frames cannot be sorted in."""

    def drain(self, most: int = MOST_FRAMES) -> Stored:
        """Sorts in the oldest frames that wait, up to `most` and a transaction's worth; none when none wait."""
        began_s = time.monotonic()
        try:
            with transaction.atomic():
                frames = _oldest(most, self._most_points)
                told = self.store([*(found for frame in frames for found in _series(frame)), *self._assembled(frames)])
                Frame.objects.filter(pk__in=[frame.pk for frame in frames]).delete()
        except BaseException:
            self.forget()
            raise
        points = sum(frame.points for frame in frames)
        self._learn(points, time.monotonic() - began_s)
        return Stored(len(frames), points, told)

    def _learn(self, points: int, took_s: float) -> None:
        if points:
            self._most_points = int(min(MOST_POINTS, max(LEAST_POINTS, points * WITHIN_S / max(took_s, 1e-3))))

    def settle(self) -> Told:
        """Stores what has waited long enough for the rest of its histogram."""
        return Told() if self.assembling is None else self.store(self.assembling.due())

    def _assembled(self, frames: Sequence[Frame]) -> list[tuple[int, Mapped]]:
        parts = [frame for frame in frames if frame.is_parts]
        if not parts:
            return []
        if self.assembling is None:
            raise TypeError("parts of histograms came, and nothing here puts them together")
        return self.assembling.arrived(parts)

    def forget(self) -> None:
        """What a failed transaction has left in memory is not in the database."""
        if self.assembling is not None:
            self.assembling.forget()
        self.book.clear()
        self.memory.clear()

    def store(self, given: Sequence[tuple[int, Held]]) -> Told:
        """Samples and rollups of mapped series and columns by their source. Call it within a transaction."""
        scalar: list[Samples] = []
        counted: list[tuple[Known, Mapped]] = []
        self._meet(given)
        # In their order: of what stands twice the first is kept.
        for is_columns, run in groupby(given, key=lambda each: isinstance(each[1], Columns)):
            if is_columns:
                scalar += [self._of_columns(source_id, held) for source_id, held in run if isinstance(held, Columns)]
                continue
            plain: list[tuple[Known, Mapped]] = []
            for source_id, held in run:
                if isinstance(held, Mapped) and held.points:
                    of_kind = counted if isinstance(held.points[0].value, Histogram) else plain
                    of_kind.append((self.book[wanted(source_id, held)], held))
            scalar.append(_of_points(plain))
        samples = _sorted(scalar)
        told = Told()
        if samples.series.size:
            self._scalars(samples, told)
        told.histograms = histograms.store(counted, self.memory.days)
        return told

    def _meet(self, given: Sequence[tuple[int, Held]]) -> None:
        """Has the series of what was mapped one by one looked up together."""
        keys = [
            (wanted(source_id, held), held.wrap_bits)
            for source_id, held in given
            if isinstance(held, Mapped) and held.points
        ]
        self.book.find(keys)

    def _of_columns(self, source_id: int, columns: Columns) -> Samples:
        ids = self.book.ids(source_id, columns.series)
        ts_ms, start_ms = (np.frombuffer(each, "<i8") for each in (columns.ts_ms, columns.start_ms))
        sizes = np.frombuffer(columns.sizes, "<i8")
        return Samples(np.repeat(ids, sizes), ts_ms, np.frombuffer(columns.value, "<f8"), start_ms)

    def _scalars(self, samples: Samples, told: Told) -> None:
        met = self.book.of_ids(samples.series[starts(samples.series)].tolist())
        self.memory.meet(met)
        slots = _slots(self.memory, samples.series)
        is_late = samples.ts_ms <= self.memory.last_ms[slots]
        if is_late.any():
            changed = late.store(_some(samples, is_late), {known.id: known.kind for known in met}, self.memory)
            self.memory.forget(changed)
            samples = _some(samples, ~is_late)
            slots = slots[~is_late]
        if samples.series.size:
            told.scalars.append(self._fresh(samples, slots))

    def _fresh(self, samples: Samples, slots: Ints) -> Scalars:
        """Samples later than all before them of their series: nothing that is stored changes but what is open."""
        partitions.ensure(samples.ts_ms, self.memory.days)
        tables.insert_scalars(samples.series, samples.ts_ms, samples.value, samples.start_ms)
        before = _before(samples, slots, self.memory)
        found = intervals(samples, before, self.memory.wrap_bits[slots])
        kind = self.memory.kind[slots]
        changed: list[tuple[int, Rows]] = []
        for resolution_s in RESOLUTIONS_S:
            for rows in _rollups(samples, found, kind, resolution_s):
                at = _slots(self.memory, rows.series)
                goes_on, opened = self.memory.opened(rows, at, resolution_s)
                whole = _where(goes_on, merged(opened, rows), rows)
                changed.append((resolution_s, whole))
                self.memory.keep(whole, at, resolution_s)
        tables.upsert_columns(changed)
        _remember(self.memory, samples, slots)
        return Scalars(samples, found, kind)


def _series(frame: Frame) -> list[tuple[int, Held]]:
    return [] if frame.is_parts else [(frame.source_id, held) for held in unpacked(bytes(frame.payload))]


def _oldest(most: int, most_points: int) -> list[Frame]:
    frames: list[Frame] = []
    points = 0
    for frame in Frame.objects.order_by("pk")[:most]:
        if frames and points + frame.points > most_points:
            break
        frames.append(frame)
        points += frame.points
    return frames


def _of_points(given: Sequence[tuple[Known, Mapped]]) -> Samples:
    """All points, in the order in which they came."""
    sizes = [len(series.points) for _, series in given]
    points = [point for _, series in given for point in series.points]
    return Samples(
        series=np.repeat(np.array([known.id for known, _ in given], np.int64), sizes),
        ts_ms=np.array([point.ts_ms for point in points], np.int64),
        value=np.array([point.value for point in points], float),
        start_ms=np.array([NEVER if point.start_ms is None else point.start_ms for point in points], np.int64),
    )


def _sorted(parts: Sequence[Samples]) -> Samples:
    """All of them by series and time; what stands twice is kept once."""
    if not parts:
        return _of_points([])
    series, ts_ms, value, start_ms = (
        np.concatenate([getattr(part, name) for part in parts]) for name in Samples.__slots__
    )
    order = np.lexsort((ts_ms, series))
    sorted_ = Samples(series[order], ts_ms[order], value[order], start_ms[order])
    return _some(sorted_, starts(sorted_.series, sorted_.ts_ms))


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
