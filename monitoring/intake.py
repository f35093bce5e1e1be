"""What all doors share: who sends, whether its readings are of now, and what they are of ours."""

from __future__ import annotations

import asyncio
import math
import statistics
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import msgspec

from monitoring import mappings
from monitoring.directory import Directory, Known
from monitoring.inbox import Offer
from monitoring.mapping.engine import Outcome, State, map_message, map_readings, place
from monitoring.models import Source
from monitoring.pipeline import Pipeline
from monitoring.readings import Histogram, Point, Reading, Rejected
from monitoring.wire import Mapped

LATE_MS = 10 * 60_000
"""How far behind our clock a point may be."""
AHEAD_MS = 60_000
"""How far before our clock a point may be."""
IN_LOOP_BYTES = 16 * 1024
"""Messages up to this size are read in the event loop, in less than two milliseconds; larger ones in a thread."""
MOST_SKEW_MS = 366 * 86_400_000
"""A clock that differs by more is said to differ by so much."""
UNTAKEN = ("kind", "below", "label")
"""Why a series of a known metric is not taken that its sender could mend; see `monitoring.mapping.compiling.Why`."""
MOST_REASONS = 30
"""Kept of each source, the latest."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A message that may be offered, and what is not in it."""

    offer: Offer
    rejected: list[Rejected]
    """By place among the readings."""
    untaken: list[Rejected]
    """Readings of metrics that are known, but of another kind, below zero, or with a label that says what it cannot:
    none of the protocol's mistakes, but the sender should know. By place, too."""
    ignored: int
    """Readings that are none of our signals."""


@dataclass(slots=True)
class _Memory:
    """What a process remembers of a source."""

    mapping: State = field(default_factory=State)
    lock: threading.Lock = field(default_factory=threading.Lock)
    reasons: deque[str] = field(default_factory=lambda: deque(maxlen=MOST_REASONS))


class Intake:
    """One a process, before its pipeline."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        pipeline.assembles_with(self.mapped, lambda source, reasons: self.note(_known(source), reasons))
        self.directory = Directory()
        self._memories: dict[int, _Memory] = {}
        self._thread = ThreadPoolExecutor(1, "telemetry-decode")

    async def read[Result](self, size: int, function: Callable[[], Result]) -> Result:
        """The function's result, from a thread where the message is so large that others would wait for it."""
        if size <= IN_LOOP_BYTES:
            return function()
        return await asyncio.get_running_loop().run_in_executor(self._thread, function)

    def take(
        self,
        known: Known,
        readings: Sequence[Reading],
        *,
        seq: int | None = None,
        sent_ms: int | None = None,
        rejected: int = 0,
        late_ms: int = LATE_MS,
    ) -> Taken:
        """What may be offered of a message; `rejected` were so before. In the loop, or in `read`'s thread."""
        now_ms = round(time.time() * 1000)
        found, refused = in_window(readings, now_ms, late_ms)
        memory = self._memories.setdefault(known.source_id, _Memory())
        with memory.lock:
            outcome = map_message(found, dict(known.labels), mappings.compiled_for(known.systems), memory.mapping)
        series = []
        for each in outcome.mapped:
            reason = unfit(each)
            if reason is None:
                series.append(each)
            else:
                refused.append(Rejected(place(each, readings, memory.mapping), f"{each.signal}: {reason}"))
        untaken = _untaken(outcome, readings)
        self.note(known, (each.reason for each in (*refused, *untaken)))
        offer = Offer(
            known.source_id, now_ms, series, seq, rejected + len(refused) + len(untaken),
            _skew(readings, sent_ms, now_ms), columns=outcome.columns,
        )  # fmt: skip
        return Taken(offer, refused, untaken, len(outcome.ignored) - len(untaken))

    def mapped(self, source: Source, readings: list[Reading]) -> tuple[list[Mapped], list[str]]:
        """Series of ours of readings that were taken before, and why some are none."""
        known = _known(source)
        memory = self._memories.setdefault(known.source_id, _Memory())
        with memory.lock:
            outcome = map_readings(readings, dict(known.labels), mappings.compiled_for(known.systems), memory.mapping)
        reasons = {id(each): unfit(each) for each in outcome.mapped}
        fit = [each for each in outcome.mapped if reasons[id(each)] is None]
        return fit, [f"{each.signal}: {reasons[id(each)]}" for each in outcome.mapped if reasons[id(each)]]

    def note(self, known: Known, reasons: Iterable[str]) -> None:
        """Keeps why something of a source was not taken."""
        self._memories.setdefault(known.source_id, _Memory()).reasons.extend(reasons)

    def reasons(self, source_id: int) -> list[tuple[str, int]]:
        """Why this process has lately rejected readings of a source, and how often; the commonest first."""
        memory = self._memories.get(source_id)
        return Counter(memory.reasons).most_common() if memory else []

    def close(self) -> None:
        """Ends its threads."""
        self.directory.close()
        self._thread.shutdown(wait=True)


def _untaken(outcome: Outcome, readings: Sequence[Reading]) -> list[Rejected]:
    """Of what was ignored that of which the sender should know; where a series came in pieces, by its first."""
    found = [each for each in outcome.ignored if each.why in UNTAKEN]
    if not found:
        return []
    places: dict[tuple[object, ...], int] = {}
    for index, reading in enumerate(readings):
        places.setdefault(_series(reading), index)
    at = [places.get(_series(outcome.readings[each.index]), len(readings)) for each in found]
    return [Rejected(index, f"{each.name[:80]}: {each.reason}") for index, each in zip(at, found, strict=True)]


def _series(reading: Reading) -> tuple[object, ...]:
    return (reading.name, reading.kind, reading.is_delta, *reading.labels.items())


def _known(source: Source) -> Known:
    return Known(source.pk, 0, source.name, tuple(sorted(source.labels.items())), tuple(source.systems))


def in_window(readings: Sequence[Reading], now_ms: int, late_ms: int = LATE_MS) -> tuple[list[Reading], list[Rejected]]:
    """The readings with those points that are of now, and the readings that lost some, with the reason."""
    low, high = now_ms - late_ms, now_ms + AHEAD_MS
    if _is_of_now([point for reading in readings for point in reading.points], low, high):
        return list(readings), []
    found: list[Reading] = []
    rejected: list[Rejected] = []
    for index, reading in enumerate(readings):
        points = reading.points
        for point in points:
            if not low <= point.ts_ms <= high or (point.start_ms is not None and not 0 <= point.start_ms <= high):
                points = tuple(each for each in points if _reason(each, now_ms, late_ms) is None)
                rejected.append(Rejected(index, _lost(reading, now_ms, late_ms)))
                break
        if points is reading.points:
            found.append(reading)
        elif points:
            found.append(msgspec.structs.replace(reading, points=points))
    return found, rejected


def _is_of_now(points: Sequence[Point], low: int, high: int) -> bool:
    times = [point.ts_ms for point in points]
    begun = [point.start_ms for point in points if point.start_ms is not None]
    is_in = not times or (low <= min(times) and max(times) <= high)
    return is_in and (not begun or (min(begun) >= 0 and max(begun) <= high))


def _reason(point: Point, now_ms: int, late_ms: int) -> str | None:
    """Why a point is not of now."""
    if point.ts_ms < now_ms - late_ms:
        return f"is older than {late_ms // 60_000} min"
    if point.ts_ms > now_ms + AHEAD_MS:
        return f"is more than {AHEAD_MS // 1000} s ahead of our clock"
    if point.start_ms is not None and not 0 <= point.start_ms <= now_ms + AHEAD_MS:
        return f"began at {point.start_ms}, which is no time before now"
    return None


def _lost(reading: Reading, now_ms: int, late_ms: int) -> str:
    reasons = [reason for point in reading.points if (reason := _reason(point, now_ms, late_ms)) is not None]
    count = "" if len(reading.points) == 1 else f"{len(reasons)} of {len(reading.points)} points: "
    return f"{reading.name[:80]}: {count}{reasons[0]}"


def unfit(series: Mapped) -> str | None:
    """Why a series could not be stored: what a database refuses must not be acknowledged."""
    for name, value in series.labels:
        if "\0" in value:
            return f"label {name} has a character that cannot be stored"
    first = series.points[0].value
    if isinstance(first, Histogram):
        return _unfit_histogram(first, series.points)
    return None if all(map(_is_number, series.points)) else "a value is no number"


def _unfit_histogram(first: Histogram, points: Sequence[Point]) -> str | None:
    if not all(map(math.isfinite, first.bounds)):
        return "a bound of the histogram is no number"
    for point in points:
        value = point.value
        if not isinstance(value, Histogram) or value.bounds != first.bounds:
            return "the bounds of the histogram change within the message: send them in two"
        if len(value.counts) != len(value.bounds) + 1 or not all(map(math.isfinite, value.counts)):
            return "the counts of the histogram are not one more than its bounds, or no numbers"
    return None


def _is_number(point: Point) -> bool:
    return isinstance(point.value, float) and math.isfinite(point.value)


def _skew(readings: Sequence[Reading], sent_ms: int | None, now_ms: int) -> int | None:
    """The sender's clock less ours; where it does not tell when it sent, by the middle one of its newest points."""
    newest = [reading.points[-1].ts_ms for reading in readings if reading.points]
    if sent_ms is None and not newest:
        return None
    told_ms = statistics.median(newest) if sent_ms is None else sent_ms
    return round(max(-MOST_SKEW_MS, min(MOST_SKEW_MS, told_ms - now_ms)))
