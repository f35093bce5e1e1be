"""Series that are one series of ours, added up: ranks, engines, tenants.

Only what was measured at the same time is added, and only while every series is there that was there a moment ago: a
sum that lacks a rank looks like traffic that fell. What is missing is told, and the time is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add, xor

import msgspec

from monitoring.mapping.compiling import Labels, Target, Why
from monitoring.readings import Histogram, Point

MEMORY_MS = 60_000
"""A series that was there so shortly ago belongs to a sum."""
MOST_SUMS = 100_000
"""That are remembered of a source; beyond them all are forgotten."""

type Key = tuple[str, str, Labels]
"""Signal, kind and labels of a series of ours."""


class Ignored(msgspec.Struct, frozen=True):
    """A reading that became nothing: its place among the readings, and why."""

    index: int
    name: str
    why: Why
    reason: str


@dataclass(frozen=True, slots=True)
class Taken:
    """A reading as points of a signal, in our unit, before anything is added up."""

    index: int
    name: str
    kind: str
    target: Target
    points: tuple[Point, ...]


@dataclass(slots=True)
class Members:
    """When each part of each sum was there last."""

    seen: dict[Key, dict[Labels, int]] = field(default_factory=dict)

    def meet(self, key: Key, parts: Sequence[Taken]) -> dict[Labels, int]:
        """The parts of a sum by when they were last there, now that these have come."""
        known = self._known(key)
        for each in parts:
            ts_ms = each.points[-1].ts_ms
            known[each.target.part] = max(ts_ms, known.get(each.target.part, ts_ms))
        if len(known) > len(parts):
            newest = max(known.values())
            for gone in [part for part, ts_ms in known.items() if newest - ts_ms > MEMORY_MS]:
                del known[gone]
        return known

    def note(self, key: Key, part: Labels, ts_ms: int) -> None:
        """That a part of a sum was there."""
        known = self._known(key)
        known[part] = max(ts_ms, known.get(part, ts_ms))

    def _known(self, key: Key) -> dict[Labels, int]:
        known = self.seen.get(key)
        if known is None:
            if len(self.seen) >= MOST_SUMS:
                self.seen.clear()
            known = self.seen[key] = {}
        return known


def combined(key: Key, parts: Sequence[Taken], members: Members) -> tuple[tuple[Point, ...], list[Ignored]]:
    """The points of one series of ours, and what could not be added up."""
    known = members.meet(key, parts)
    if len(parts) == 1 and len(known) == 1:
        return _alone(key[1], parts[0]), []
    parts = sorted(parts, key=lambda each: each.target.part)
    if (refusal := _refusal(key, parts)) is not None:
        return (), [Ignored(each.index, each.name, "ranks", refusal) for each in parts]
    points, reason = _added(key[1], parts, known)
    left_out = parts if reason else ()
    return points, [Ignored(each.index, each.name, "ranks", reason) for each in left_out]


def _alone(kind: str, part: Taken) -> tuple[Point, ...]:
    if kind not in COUNTS:
        return part.points
    epoch = part.target.epoch
    return tuple(Point(each.ts_ms, each.value, _start(each.start_ms, epoch)) for each in part.points)


COUNTS = ("counter", "histogram")
"""What is counted up since a beginning."""


def _start(start_ms: int | None, epoch: int) -> int:
    """Since when it counts, told apart by what it counts: within the start's second, or in 1970 if nobody says."""
    return 1 + epoch % 10**9 if start_ms is None else start_ms // 1000 * 1000 + epoch % 1000


def _refusal(key: Key, parts: Sequence[Taken]) -> str | None:
    rules = [each.target.rule for each in parts]
    if any(rule.wrap_bits is not None for rule in rules):
        return "several series of a counter that wraps cannot be added up; rename a label by which they differ"
    if key[1] == "gauge" and any(rule.aggregate is None for rule in rules):
        return "several series of a gauge, and the mapping does not say (aggregate) how they are one"
    return None


def _added(kind: str, parts: Sequence[Taken], known: dict[Labels, int]) -> tuple[tuple[Point, ...], str]:
    """The sums by time, and why some times have none."""
    by_time: dict[int, dict[Labels, tuple[Target, Point]]] = {}
    for part in parts:
        for point in part.points:
            by_time.setdefault(point.ts_ms, {}).setdefault(part.target.part, (part.target, point))
    points, reason = [], ""
    for ts_ms, found in sorted(by_time.items()):
        if lacking := len(known.keys() - found.keys()):
            reason = f"added up of {len(known)} series, of which {lacking} were not there at the same time"
        elif (total := _sum(kind, ts_ms, list(found.values()))) is None:
            reason = f"{len(found)} histograms with different buckets cannot be added up"
        else:
            points.append(total)
    return tuple(points), reason


def _sum(kind: str, ts_ms: int, found: list[tuple[Target, Point]]) -> Point | None:
    """What is told at one time, as one point; None where histograms have different buckets."""
    units: dict[Labels, float | Histogram] = {}
    for target, point in found:
        held = units.get(target.unit)
        units[target.unit] = point.value if held is None else max(held, point.value, key=_size)
    value = _as_one(list(units.values()), found[0][0].rule.aggregate or "sum")
    if value is None:
        return None
    starts = [point.start_ms for _, point in found if point.start_ms is not None]
    if kind not in COUNTS:
        return Point(ts_ms, value, min(starts, default=None))
    return Point(ts_ms, value, _start(max(starts, default=None), reduce(xor, (target.epoch for target, _ in found))))


def _size(value: float | Histogram) -> float:
    return sum(value.counts) if isinstance(value, Histogram) else value


def _as_one(values: Sequence[float | Histogram], how: str) -> float | Histogram | None:
    histograms = [value for value in values if isinstance(value, Histogram)]
    if histograms:
        return _one_histogram(histograms)
    numbers = [value for value in values if not isinstance(value, Histogram)]
    if how in ("max", "min"):
        return max(numbers) if how == "max" else min(numbers)
    return sum(numbers) / (len(numbers) if how == "mean" else 1)


def _one_histogram(values: Sequence[Histogram]) -> Histogram | None:
    if any(value.bounds != values[0].bounds for value in values):
        return None
    counts = tuple(reduce(lambda one, other: tuple(map(add, one, other)), (value.counts for value in values)))
    return Histogram(values[0].bounds, counts, sum(value.total for value in values))
