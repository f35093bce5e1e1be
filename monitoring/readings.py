"""Readings: what any door decodes to before anybody asks what it means.

A reading is one series of one source under the name that its system gives it, with one or more points. Three shapes of
a histogram (text families, flat buckets, explicit bounds) become one here, so that all that follows knows only this.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import msgspec

type Kind = Literal["counter", "gauge", "histogram", "untyped"]


class Histogram(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Observations by bucket: `bounds` are upper ones, rising, without +Inf; `counts` has one more, each bucket alone.

    `total` is the sum of all observations; NaN where the system does not tell it.
    """

    bounds: tuple[float, ...]
    counts: tuple[float, ...]
    total: float = math.nan


class Point(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A value at a time in epoch milliseconds. `start_ms` is when a counter began, where the system tells it."""

    ts_ms: int
    value: float | Histogram
    start_ms: int | None = None


class Reading(msgspec.Struct, frozen=True, gc=False):
    """One series. Counters and histograms are cumulative, unless `is_delta`: then each point is an increase."""

    name: str
    labels: dict[str, str]
    kind: Kind
    points: tuple[Point, ...]
    unit: str = ""
    is_delta: bool = False


class Rejected(msgspec.Struct, frozen=True):
    """A reading, or a part of a message, that is not taken: its place in the message, and why."""

    index: int
    reason: str


class Malformed(ValueError):
    """A message that is none of its protocol: nothing of it is taken. The text says what is wrong, and where."""


class Unsupported(ValueError):
    """A message in a format or compression that its door does not speak. The text says which it does."""


def joined(readings: Sequence[Reading]) -> Sequence[Reading]:
    """One reading a series: who batches sends each of its points by itself. Of points at one time the first is kept."""
    by_series: dict[tuple[object, ...], list[Reading]] = {}
    for reading in readings:
        key = (reading.name, reading.kind, reading.is_delta, tuple(reading.labels.items()))
        by_series.setdefault(key, []).append(reading)
    if len(by_series) == len(readings):
        return readings
    return [same[0] if len(same) == 1 else _joined(same) for same in by_series.values()]


def _joined(same: list[Reading]) -> Reading:
    by_time: dict[int, Point] = {}
    for reading in same:
        for point in reading.points:
            by_time.setdefault(point.ts_ms, point)
    return msgspec.structs.replace(same[0], points=tuple(by_time[ts_ms] for ts_ms in sorted(by_time)))
