"""Histograms whose series come in several messages, put together when all have come.

Prometheus cuts a scrape into batches wherever one is full, and spreads its series over shards. No message says how many
series a histogram has: that is learnt from what came before, and at first from what comes within a while. A histogram
that lacks some of its series would be another one, with fewer bounds: it is waited for, and then given up with the
reason. As its counts are cumulative, the next one tells what that one would have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from monitoring.readings import Point, Reading
from monitoring.sources.remote_write import folded
from monitoring.wire import Parts

SETTLED_AFTER_MS = 10_000
"""So long after its first series all of a histogram have come that was never met, or has more of them than before."""
GIVEN_UP_AFTER_MS = 60_000
"""So long the series are waited for that a histogram has had before."""
MISSED_TIMES = 3
"""A series that was missing so often is no part of the histogram any more: its bounds have changed."""
MOST_VALUES = 100_000
"""That wait, of one source."""
MOST_FAMILIES = 50_000
"""That are remembered of one source; beyond them all are learnt again."""
MOST_TIMES = 32
"""That are remembered of a histogram, so that a message sent twice is not taken for a new one that lacks the rest."""
SUFFIXES = ("_sum", "_count")

type Key = tuple[str, tuple[tuple[str, str], ...]]


@dataclass(slots=True)
class Family:
    """What is known of a histogram: its series, how often each was missing of late, and the times that are done."""

    parts: set[str] = field(default_factory=set)
    missed: dict[str, int] = field(default_factory=dict)
    done: dict[int, None] = field(default_factory=dict)

    def finish(self, ts_ms: int) -> None:
        """What comes of this time from now on is not taken."""
        self.done[ts_ms] = None
        if len(self.done) > MOST_TIMES:
            del self.done[next(iter(self.done))]

    def miss(self, missing: Iterable[str]) -> None:
        """They did not come."""
        for part in missing:
            self.missed[part] = self.missed.get(part, 0) + 1
            if self.missed[part] >= MISSED_TIMES:
                self.parts.discard(part)
                del self.missed[part]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the parts of a source."""

    readings: list[Reading]
    pending: list[Parts]
    given_up: list[str]
    """Why."""


def apart(readings: Iterable[Reading], is_wanted: Callable[[str], bool]) -> tuple[list[Reading], list[Parts]]:
    """Readings that stand for themselves, and those that may be parts of a histogram whose name is wanted."""
    others: list[Reading] = []
    found: dict[tuple[Key, int], Parts] = {}
    for reading in readings:
        part = _part(reading)
        name = reading.name.rpartition("_")[0]
        if part is None or not (is_wanted(name) or is_wanted(reading.name)):
            others.append(reading)
            continue
        key = name, tuple(sorted(pair for pair in reading.labels.items() if pair[0] != "le"))
        for point in reading.points:
            if isinstance(point.value, float):
                parts = found.setdefault((key, point.ts_ms), Parts(*key, point.ts_ms, {}))
                parts.values.setdefault(part, point.value)
    return others, list(found.values())


def _part(reading: Reading) -> str | None:
    """What it may be of a histogram: the upper bound of a bucket, or a suffix."""
    if reading.kind != "counter" or reading.is_delta:
        return None
    if reading.name.endswith("_bucket"):
        try:
            bound = float(reading.labels.get("le", ""))
        except ValueError:
            return None
        return None if math.isnan(bound) or bound == -math.inf else repr(bound)
    if "le" in reading.labels:
        return None
    return next((suffix for suffix in SUFFIXES if reading.name.endswith(suffix)), None)


class Assembler:
    """Of one source. What it remembers may be lost at any time: then it is learnt again."""

    def __init__(self) -> None:
        self.families: dict[Key, Family] = {}

    def put_together(self, given: Sequence[Parts], now_ms: int) -> Outcome:
        """Of parts that were waiting and parts that have come: what is whole, what still waits, what is given up."""
        if len(self.families) > MOST_FAMILIES:
            self.families.clear()
        outcome = Outcome([], [], [])
        whole: list[Parts] = []
        for parts in self._merged(given):
            family = self.families[parts.name, parts.labels]
            is_whole = self._is_whole(parts, family, now_ms)
            if is_whole is None:
                outcome.pending.append(parts)
                continue
            family.finish(parts.ts_ms)
            if is_whole:
                whole.append(parts)
            else:
                outcome.given_up.append(_lacking(parts, family))
        outcome.readings.extend(readings(whole))
        outcome.given_up.extend(self._beyond(outcome.pending))
        return outcome

    def _merged(self, given: Sequence[Parts]) -> list[Parts]:
        """One of each histogram and time; of two values of the same part the first counts."""
        found: dict[tuple[Key, int], Parts] = {}
        for parts in given:
            key = parts.name, parts.labels
            family = self.families.setdefault(key, Family())
            if parts.ts_ms in family.done:
                family.parts |= parts.values.keys()
                continue
            there = found.setdefault((key, parts.ts_ms), parts)
            if there is not parts:
                there.values = parts.values | there.values
                there.first_ms = min(there.first_ms, parts.first_ms)
        return list(found.values())

    @staticmethod
    def _is_whole(parts: Parts, family: Family, now_ms: int) -> bool | None:
        """None: it is waited for."""
        here, known, waited_ms = parts.values.keys(), family.parts, now_ms - parts.first_ms
        if here == known or (known and not _has_buckets(known | here)):
            family.missed.clear()
            return True
        missing = known - here
        if waited_ms < (GIVEN_UP_AFTER_MS if missing else SETTLED_AFTER_MS):
            return None
        family.miss(missing)
        family.parts |= here
        return here == family.parts

    @staticmethod
    def _beyond(pending: list[Parts]) -> Iterable[str]:
        """Takes away the oldest of what is too much."""
        size = sum(len(parts.values) for parts in pending)
        if size <= MOST_VALUES:
            return
        pending.sort(key=lambda parts: (parts.first_ms, parts.ts_ms))
        count = 0
        for parts in pending:
            if size <= MOST_VALUES:
                break
            size -= len(parts.values)
            count += 1
        yield f"more than {MOST_VALUES} series of histograms wait for their rest: {count} incomplete ones are left away"
        del pending[:count]


def due_ms(pending: Iterable[Parts]) -> int:
    """When the first of them may have waited long enough."""
    return min(parts.first_ms for parts in pending) + SETTLED_AFTER_MS


def _has_buckets(parts: Iterable[str]) -> bool:
    return any(part not in SUFFIXES for part in parts)


def _lacking(parts: Parts, family: Family) -> str:
    count = len(family.parts)
    lacking = len(family.parts - parts.values.keys())
    return (
        f"{parts.name[:80]}: {lacking} of the {count} series of a histogram did not come within "
        f"{GIVEN_UP_AFTER_MS // 1000} s"
    )


def readings(whole: Sequence[Parts]) -> list[Reading]:
    """Histograms; of what has no buckets, or not all that a histogram has, its series as counters."""
    flat: dict[tuple[Key, str], list[Point]] = {}
    for parts in sorted(whole, key=lambda each: each.ts_ms):
        for part, value in parts.values.items():
            flat.setdefault(((parts.name, parts.labels), part), []).append(Point(parts.ts_ms, value))
    return folded([_flat(*key, part, points) for (key, part), points in flat.items()])


def _flat(name: str, labels: tuple[tuple[str, str], ...], part: str, points: list[Point]) -> Reading:
    if part in SUFFIXES:
        return Reading(name + part, dict(labels), "counter", tuple(points))
    return Reading(f"{name}_bucket", {**dict(labels), "le": part}, "counter", tuple(points))
