"""Vector's metric events as JSON, as its websocket sink sends them, one a frame.

An event has a name, perhaps a namespace, tags, a time, `kind` (absolute or incremental) and one value: `counter`,
`gauge` and `aggregated_histogram` are read; `distribution`, `set` and summaries are refused with the reason.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from itertools import pairwise
from typing import Literal

import msgspec

from monitoring.readings import Histogram, Malformed, Point, Reading, Rejected
from monitoring.sources.envelope import LONGEST_REASON, Message

INFINITE = (None, "inf", "+Inf")
"""How the bound of the last bucket may be written: JSON has no word for it."""


class _Value(msgspec.Struct):
    value: float


class _Bucket(msgspec.Struct):
    upper_limit: float | str | None
    count: float


class _Buckets(msgspec.Struct):
    buckets: list[_Bucket]
    count: float
    sum: float = math.nan


class _Event(msgspec.Struct):
    name: str
    kind: Literal["absolute", "incremental"]
    namespace: str | None = None
    tags: dict[str, str | list[str | None] | None] | None = None
    timestamp: datetime | None = None
    interval_ms: int | None = None
    counter: _Value | None = None
    gauge: _Value | None = None
    aggregated_histogram: _Buckets | None = None
    distribution: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    set: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    aggregated_summary: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_event = msgspec.json.Decoder(_Event)


def decode(body: bytes | str, now_ms: int) -> Message:
    """The reading of an event; without a time of its own it is of `now_ms`. Raises Malformed where it is no event."""
    try:
        event = _event.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise Malformed(f"is no metric event of Vector's: {str(problem)[:LONGEST_REASON]}") from None
    try:
        return Message([_reading(event, now_ms)], [0], [])
    except ValueError as problem:
        return Message([], [], [Rejected(0, str(problem))])


def _reading(event: _Event, now_ms: int) -> Reading:
    """Raises ValueError with the reason where it is not taken."""
    name = f"{event.namespace}_{event.name}" if event.namespace else event.name
    is_delta = event.kind == "incremental"
    ts_ms = now_ms if event.timestamp is None else _ms(event.timestamp)
    start_ms = ts_ms - event.interval_ms if is_delta and event.interval_ms is not None else None
    labels = _labels(event.tags or {})
    if event.counter is not None:
        return Reading(name, labels, "counter", (Point(ts_ms, event.counter.value, start_ms),), is_delta=is_delta)
    if event.aggregated_histogram is not None:
        found = _histogram(event.aggregated_histogram)
        return Reading(name, labels, "histogram", (Point(ts_ms, found, start_ms),), is_delta=is_delta)
    if event.gauge is None:
        raise ValueError(_why_not(event))
    if is_delta:
        raise ValueError("an incremental gauge says what changed, not what is: send it absolute")
    return Reading(name, labels, "gauge", (Point(ts_ms, event.gauge.value),))


def _why_not(event: _Event) -> str:
    if isinstance(event.distribution, msgspec.Raw):
        return "a distribution is not taken: aggregate it to a histogram before it is sent"
    if isinstance(event.set, msgspec.Raw):
        return "a set is not taken"
    if isinstance(event.aggregated_summary, msgspec.Raw):
        return "a summary is not taken: its quantiles cannot be added up; send a histogram"
    return "has no value: counter, gauge or aggregated_histogram"


def _ms(time: datetime) -> int:
    return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


def _labels(tags: dict[str, str | list[str | None] | None]) -> dict[str, str]:
    """Of a tag with several values the last one, as Vector itself has it where it shows one; none is empty."""
    found = {name: value[-1] if isinstance(value, list) and value else value for name, value in tags.items()}
    return {name: value if isinstance(value, str) else "" for name, value in found.items()}


def _histogram(given: _Buckets) -> Histogram:
    """Buckets each alone; what is beyond the last bound is the count less theirs."""
    buckets = sorted((_bound(each.upper_limit), each.count) for each in given.buckets)
    finite = [(bound, count) for bound, count in buckets if math.isfinite(bound)]
    beyond = given.count - sum(count for _, count in finite)
    if beyond < 0 or any(count < 0 for _, count in finite):
        raise ValueError("the buckets of the histogram have more than its count")
    bounds = tuple(bound for bound, _ in finite)
    if any(low >= high for low, high in pairwise(bounds)):
        raise ValueError("the histogram has a bound twice")
    return Histogram(bounds, (*(count for _, count in finite), beyond), given.sum)


def _bound(given: float | str | None) -> float:
    """Raises ValueError."""
    return math.inf if given in INFINITE else float(given)
