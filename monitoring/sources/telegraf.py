"""Telegraf's JSON, as its websocket output sends it with `data_format = "json"`: one metric, or `{"metrics": [...]}`.

A metric has a name, tags, and fields. What its prometheus input has read (metric_version 1) keeps its name and kind:
fields `counter`, `gauge`, `value`, or a histogram's cumulative buckets by their bounds, with `count` and `sum`. A page
that came as protobuf has no bucket `+Inf`: a bound above 1 tells its histograms from summaries. Of other inputs each
field is a reading NAME_FIELD, untyped: what it is, the mapping says. Text is no measurement and is passed over; true
and false are 1 and 0.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from operator import sub

import msgspec

from monitoring.readings import Histogram, Kind, Malformed, Point, Reading, Rejected
from monitoring.sources.envelope import LONGEST_REASON, Message
from monitoring.sources.packed import MOST_POINTS

type _Field = float | bool | str | None

INFINITE = "+Inf"
PROMETHEUS = "prometheus"
"""What the prometheus input calls all that it has read with metric_version 2: the fields' names are the metrics'."""
_KINDS: dict[str, Kind] = {"counter": "counter", "gauge": "gauge", "value": "untyped"}
_MS_OF = ((1e11, 1e3), (1e14, 1.0), (1e17, 1e-3), (math.inf, 1e-6))
"""Times below a limit are in seconds, then milli-, micro- and nanoseconds: all of them between 1973 and 5138."""


class _Metric(msgspec.Struct):
    name: str
    fields: dict[str, _Field]
    timestamp: float | int
    tags: dict[str, str] = {}


class _Batch(msgspec.Struct):
    metrics: list[msgspec.Raw]


_batch, _metric = msgspec.json.Decoder(_Batch), msgspec.json.Decoder(_Metric)


def decode_batch(body: bytes | str) -> Message:
    """The readings of `{"metrics": [...]}`. Raises Malformed."""
    try:
        found = _batch.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise Malformed(f"is no batch of Telegraf's: {str(problem)[:LONGEST_REASON]}") from None
    return _message(found.metrics)


def decode_one(body: bytes | str) -> Message:
    """The readings of one metric."""
    return _message([msgspec.Raw(body.encode() if isinstance(body, str) else body)])


def _message(metrics: list[msgspec.Raw]) -> Message:
    message = Message([], [], [])
    for index, raw in enumerate(metrics):
        try:
            found = list(_readings(_metric.decode(raw)))
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError, OverflowError, RecursionError) as problem:
            message.rejected.append(Rejected(index, str(problem)[:LONGEST_REASON]))
            continue
        message.readings += found
        message.places += [index] * len(found)
        if len(message.readings) > MOST_POINTS:
            raise Malformed(f"has more than {MOST_POINTS} fields: send smaller batches")
    return message


def time_ms(timestamp: float) -> int:
    """Epoch milliseconds of a time in whichever unit its size says it is."""
    return round(timestamp * next(scale for limit, scale in _MS_OF if abs(timestamp) < limit))


def _readings(metric: _Metric) -> Iterator[Reading]:
    numbers = {name: float(value) for name, value in metric.fields.items() if isinstance(value, int | float)}
    ts_ms = time_ms(metric.timestamp)
    if _is_histogram(numbers):
        yield Reading(metric.name, metric.tags, "histogram", (Point(ts_ms, _histogram(numbers)),))
        return
    for field, value in numbers.items():
        name, kind = _named(metric.name, field, len(numbers))
        yield Reading(name, metric.tags, kind, (Point(ts_ms, value),))


def _named(metric: str, field: str, fields: int) -> tuple[str, Kind]:
    if fields == 1 and field in _KINDS:
        return metric, _KINDS[field]
    return (field if metric == PROMETHEUS else f"{metric}_{field}"), "untyped"


def _is_histogram(numbers: Mapping[str, float]) -> bool:
    """Summaries have the same fields, but their numbers are quantiles, from 0 to 1."""
    if "count" not in numbers or INFINITE in numbers:
        return "count" in numbers
    bounds = [bound for bound, _ in _bounds(numbers)]
    return "sum" in numbers and len(bounds) == len(numbers) - 2 and max(bounds, default=0.0) > 1


def _histogram(numbers: Mapping[str, float]) -> Histogram:
    """Raises ValueError where its buckets do not rise."""
    buckets = sorted(_bounds({INFINITE: numbers["count"], **numbers}))
    cumulative = [count for _, count in buckets]
    counts = tuple(map(sub, cumulative, [0.0, *cumulative]))
    if min(counts) < 0:
        raise ValueError("the buckets of the histogram do not rise")
    return Histogram(tuple(bound for bound, _ in buckets[:-1]), counts, numbers.get("sum", math.nan))


def _bounds(numbers: Mapping[str, float]) -> Iterator[tuple[float, float]]:
    for field, value in numbers.items():
        with contextlib.suppress(ValueError):
            yield float(field), value
