"""Our own JSON envelope, version 1: readings with a number, by which a sender knows what was stored.

    {"v": 1, "seq": 7, "source": "gateway-a", "sent_ms": 1790000000000, "readings": [
        {"name": "link_egress_bits", "kind": "counter", "labels": {"link": "wan"}, "points": [[1790000000000, 8.5e9]]},
        {"name": "ttft_s", "kind": "histogram", "labels": {},
         "points": [[1790000000000, {"le": [0.1, 1.0], "n": [5, 2, 1], "sum": 2.5}, 1789990000000]]}]}

A point is [ts_ms, value] or [ts_ms, value, start_ms]. A histogram's value has upper bounds without +Inf, and one count
more, of each bucket alone.
"""

from __future__ import annotations

import math
from itertools import pairwise

import msgspec

from monitoring.readings import Histogram, Kind, Malformed, Point, Reading, Rejected
from monitoring.sources.packed import MOST_POINTS

VERSION = 1
MOST_BUCKETS = 1_000
LONGEST_REASON = 200
LARGEST = 2**63 - 1


class _Counts(msgspec.Struct, gc=False):
    le: tuple[float, ...]
    n: tuple[float, ...]
    sum: float = math.nan


class _Point(msgspec.Struct, array_like=True, gc=False):
    ts_ms: int
    value: float | _Counts
    start_ms: int | None = None


class _Reading(msgspec.Struct, gc=False):
    name: str
    kind: Kind
    points: tuple[_Point, ...]
    labels: dict[str, str] = {}
    unit: str = ""
    is_delta: bool = False


class _Envelope(msgspec.Struct):
    v: int
    seq: int
    readings: list[msgspec.Raw]
    source: str | None = None
    sent_ms: int | None = None


class Message(msgspec.Struct):
    """What a frame says. `seq`, `source` and `sent_ms` only where its format has them."""

    readings: list[Reading]
    places: list[int]
    """Of each reading, where it stands in the frame."""
    rejected: list[Rejected]
    seq: int | None = None
    source: str | None = None
    sent_ms: int | None = None


class _Plain(msgspec.Struct):
    """An envelope as most are: readings as we keep them, none of them wrong, and no histograms."""

    v: int
    seq: int
    readings: list[Reading]
    source: str | None = None
    sent_ms: int | None = None


_envelope, _one = msgspec.json.Decoder(_Envelope), msgspec.json.Decoder(_Reading)
_plain = msgspec.json.Decoder(_Plain)


def decode(body: bytes | str) -> Message:
    """The readings, and by their place those that are none. Raises Malformed where it is no envelope."""
    return _at_once(body) or _one_by_one(body)


def _at_once(body: bytes | str) -> Message | None:
    """What is plain takes a third of the time; None for anything else."""
    try:
        found = _plain.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    readings = found.readings
    points = sum([len(each.points) for each in readings])
    is_right = found.v == VERSION and 0 <= found.seq <= LARGEST and points <= MOST_POINTS
    if not is_right or not all([each.name and each.points and each.kind != "histogram" for each in readings]):
        return None
    if not {type(point.value) for each in readings for point in each.points} <= {float}:
        return None
    return Message(readings, list(range(len(readings))), [], found.seq, found.source, found.sent_ms)


def _one_by_one(body: bytes | str) -> Message:
    try:
        found = _envelope.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise Malformed(f"is no envelope: {str(problem)[:LONGEST_REASON]}") from None
    if found.v != VERSION:
        raise Malformed(f"is an envelope of version {found.v}; version {VERSION} is spoken here")
    if not 0 <= found.seq <= LARGEST:
        raise Malformed(f"seq is {found.seq}; it must be from 0 to {LARGEST}")
    message = Message([], [], [], found.seq, found.source, found.sent_ms)
    points = 0
    for index, raw in enumerate(found.readings):
        try:
            reading = _reading(_one.decode(raw))
        except (msgspec.DecodeError, ValueError, RecursionError) as problem:
            message.rejected.append(Rejected(index, str(problem)[:LONGEST_REASON]))
            continue
        points += len(reading.points)
        if points > MOST_POINTS:
            raise Malformed(f"has more than {MOST_POINTS} points: send smaller frames")
        message.readings.append(reading)
        message.places.append(index)
    return message


def _reading(given: _Reading) -> Reading:
    """Raises ValueError where its parts do not go together."""
    if not given.name:
        raise ValueError("name is empty")
    if not given.points:
        raise ValueError("has no points")
    is_histogram = given.kind == "histogram"
    points = tuple([Point(each.ts_ms, _value(each.value, is_histogram), each.start_ms) for each in given.points])
    return Reading(given.name, given.labels, given.kind, points, given.unit, given.is_delta)


def _value(given: float | _Counts, is_histogram: bool) -> float | Histogram:
    if isinstance(given, float):
        if is_histogram:
            raise ValueError("the value of a histogram must be {le, n, sum}")
        return given
    if not is_histogram:
        raise ValueError("the value of what is no histogram must be a number")
    return _histogram(given)


def _histogram(given: _Counts) -> Histogram:
    if len(given.n) != len(given.le) + 1:
        raise ValueError(f"n has {len(given.n)} counts for {len(given.le)} bounds; there must be one more than bounds")
    if len(given.le) > MOST_BUCKETS:
        raise ValueError(f"le has {len(given.le)} bounds; at most {MOST_BUCKETS} are taken")
    if any(low >= high for low, high in pairwise(given.le)):
        raise ValueError("le does not rise")
    if min(given.n) < 0:
        raise ValueError("n has a count below zero")
    return Histogram(given.le, given.n, given.sum)
