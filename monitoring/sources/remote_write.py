"""Prometheus remote write 1.0 to readings.

Read with the Remote-Write 1.0 specification and `prompb/remote.proto`, `prompb/types.proto`. Its series are flat: a
histogram comes as `_bucket`, `_sum` and `_count`, and says neither that it is one nor, but in messages of their own,
what kind a series is. Series that a message does not explain keep what their name says.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from operator import sub
from typing import Any

import msgspec
from google.protobuf.message import DecodeError

from monitoring.readings import Histogram, Kind, Malformed, Point, Reading, Rejected, Unsupported
from monitoring.sources.messages import declared
from monitoring.sources.packed import MOST_POINTS, media_type, unsnappied

CONTENT_TYPE, MESSAGE = "application/x-protobuf", "prometheus.WriteRequest"
MESSAGES = declared(
    "prometheus",
    {
        "WriteRequest": {"timeseries": (1, "TimeSeries*"), "metadata": (3, "MetricMetadata*")},
        # native histograms are counted, never read: bytes will do
        "TimeSeries": {"labels": (1, "Label*"), "samples": (2, "Sample*"), "histograms": (4, "bytes*")},
        "Label": {"name": (1, "string"), "value": (2, "string")},
        "Sample": {"value": (1, "double"), "timestamp": (2, "int64")},
        "MetricMetadata": {"type": (1, "int32"), "metric_family_name": (2, "string"), "unit": (5, "string")},
    },
)
"""The protocol's messages, as far as they are read."""

_KINDS: dict[int, Kind] = {1: "counter", 2: "gauge", 3: "counter", 5: "counter", 6: "gauge", 7: "gauge"}
"""Of MetricMetadata.type; of a histogram and a summary, the kind of its suffixed series."""
_HISTOGRAM, _SUMMARY = 3, 5
_PARTS = ("_bucket", "_sum", "_count")
_COUNTERS = ("_total", *_PARTS)

type _Key = tuple[str, frozenset[tuple[str, str]]]
"""A histogram: its name without suffix, and its labels without `le`."""
type _Part = float | str
"""Of a histogram: the upper bound of a bucket, or the suffix of another series."""


class _Refused(Exception):
    """A series that cannot be taken. The text is the reason."""


def decode(body: bytes, content_type: str, content_encoding: str = "snappy") -> tuple[list[Reading], list[Rejected]]:
    """As `decode_flat`, for a message that is whole: the parts of a histogram become one reading if the message has
    them all, for the same times; parts alone stay counters."""
    flat, rejected = decode_flat(body, content_type, content_encoding)
    return folded(flat), rejected


def decode_flat(
    body: bytes, content_type: str, content_encoding: str = "snappy"
) -> tuple[list[Reading], list[Rejected]]:
    """The readings of a write request, one a series, and the series that are rejected, by their place.

    A sample that is NaN is passed over: a staleness marker (0x7ff0000000000002), or nothing recorded.
    Malformed if the body is no write request, Unsupported if it is of remote write 2.0 (to be answered 415, whereupon
    senders fall back to 1.0) or of any other format or compression.
    """
    _check_format(content_type, content_encoding)
    request = _request(unsnappied(body))
    kinds = _told_kinds(request.metadata)
    flat: list[Reading] = []
    rejected: list[Rejected] = []
    points = 0
    for index, series in enumerate(request.timeseries):
        points += len(series.samples)
        if points > MOST_POINTS or index >= MOST_POINTS:
            raise Malformed(f"the message has more than {MOST_POINTS} samples: send smaller batches")
        try:
            reading = _reading(series, kinds)
        except _Refused as refused:
            rejected.append(Rejected(index, str(refused)))
        else:
            if reading.points:
                flat.append(reading)
    return flat, rejected


def _check_format(content_type: str, content_encoding: str) -> None:
    kind = media_type(content_type)
    if kind not in ("", CONTENT_TYPE) or _message_type(content_type) != MESSAGE:
        raise Unsupported(f"Content-Type {content_type[:80]!r} is not spoken here: send {CONTENT_TYPE};proto={MESSAGE}")
    if content_encoding.strip().lower() not in ("", "snappy"):
        raise Unsupported(f"Content-Encoding {content_encoding[:80]!r} is not spoken here: send snappy")


def _message_type(content_type: str) -> str:
    """The parameter `proto`; where it is absent, the message is that of 1.0."""
    for parameter in content_type.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "proto":
            return value.strip().strip('"')
    return MESSAGE


def _request(unpacked: bytes) -> Any:
    try:
        return MESSAGES["WriteRequest"].FromString(unpacked)
    except DecodeError as error:
        raise Malformed(f"the body is no {MESSAGE}: {str(error)[:200]}") from None


# --- series


def _reading(series: Any, kinds: Mapping[str, Kind]) -> Reading:
    """The series as it is written, without points if nothing was recorded."""
    labels = {label.name: label.value for label in series.labels}
    if len(labels) < len(series.labels):
        raise _Refused(f"{labels.get('__name__', '')[:80]}: a label is repeated")
    name = labels.pop("__name__", "")
    if not name:
        raise _Refused("a series has no __name__")
    if series.histograms:
        raise _Refused(f"{name[:80]}: native histograms are not read here: send classic ones")
    points = tuple([Point(one.timestamp, one.value) for one in series.samples if _is_recorded(name, one)])
    return Reading(name, labels, kinds.get(name) or _kind(name), points)


def _is_recorded(name: str, sample: Any) -> bool:
    if sample.timestamp <= 0:
        raise _Refused(f"{name[:80]}: a sample has no time")
    if math.isinf(sample.value):
        raise _Refused(f"{name[:80]}: a sample is infinite")
    return not math.isnan(sample.value)


def _kind(name: str) -> Kind:
    return "counter" if name.endswith(_COUNTERS) else "untyped"


def _told_kinds(metadata: Iterable[Any]) -> dict[str, Kind]:
    """What the message's metadata, if it has any, says of series by their names."""
    kinds: dict[str, Kind] = {}
    for one in metadata:
        family, kind = one.metric_family_name, _KINDS.get(one.type)
        if kind and one.type in (_HISTOGRAM, _SUMMARY):
            kinds |= {family + part: kind for part in _PARTS}
        elif kind:
            # OpenMetrics has a counter's family without the suffix
            kinds |= {family: kind} | ({f"{family}_total": kind} if kind == "counter" else {})
        if one.type == _SUMMARY:
            kinds[family] = "gauge"
    return kinds


# --- histograms


def folded(flat: list[Reading]) -> list[Reading]:
    """The readings, with those that are parts of one histogram as one."""
    families: dict[_Key, dict[_Part, list[Reading]]] = {}
    others: list[Reading] = []
    for reading in flat:
        bound = _bound(reading)
        if bound is None:
            others.append(reading)
        else:
            families.setdefault(_key(reading, "_bucket"), {}).setdefault(bound, []).append(reading)
    if not families:
        return flat
    found = [reading for reading in others if not _joined(reading, families)]
    for key, parts in families.items():
        found.extend(_family(key, parts))
    return found


def _bound(reading: Reading) -> float | None:
    """The upper bound of a bucket; None for any other series."""
    if not reading.name.endswith("_bucket"):
        return None
    try:
        bound = float(reading.labels.get("le", ""))
    except ValueError:
        return None
    return None if math.isnan(bound) or bound == -math.inf else bound


def _key(reading: Reading, suffix: str) -> _Key:
    labels = reading.labels
    if "le" in labels:
        labels = labels.copy()
        del labels["le"]
    return reading.name.removesuffix(suffix), frozenset(labels.items())


def _joined(reading: Reading, families: Mapping[_Key, dict[_Part, list[Reading]]]) -> bool:
    """Whether it is the sum or the count of one of the families, to which it is then added."""
    suffix = next((part for part in ("_sum", "_count") if reading.name.endswith(part)), None)
    parts = families.get(_key(reading, suffix)) if suffix else None
    if suffix is None or parts is None:
        return False
    parts.setdefault(suffix, []).append(reading)
    return True


def _family(key: _Key, parts: Mapping[_Part, list[Reading]]) -> Iterable[Reading]:
    """One histogram for the times for which all its parts are there; for other times the parts as they came."""
    by_time = _by_time(parts) if {math.inf, "_sum", "_count"} <= parts.keys() else {}
    bounds = sorted(part for part in parts if isinstance(part, float))
    whole = ((ts_ms, values) for ts_ms, values in sorted(by_time.items()) if len(values) == len(parts))
    points = tuple(Point(ts_ms, one) for ts_ms, values in whole if (one := _histogram(bounds, values)))
    if points:
        name, labels = key
        yield Reading(name, dict(sorted(labels)), "histogram", points)
    if not points or len(points) < len(by_time):
        yield from _without(parts, {point.ts_ms for point in points})


def _by_time(parts: Mapping[_Part, list[Reading]]) -> dict[int, dict[_Part, Any]]:
    by_time: dict[int, dict[_Part, Any]] = {}
    for part, readings in parts.items():
        # a sender that catches up writes a series once for each of its samples
        for reading in readings:
            for point in reading.points:
                by_time.setdefault(point.ts_ms, {})[part] = point.value
    return by_time


def _histogram(bounds: list[float], values: Mapping[_Part, Any]) -> Histogram | None:
    """None where the cumulative counts fall, which those of a histogram cannot."""
    up_to = [values[bound] for bound in bounds]
    counts = tuple(map(sub, up_to, [0.0, *up_to]))
    return None if min(counts) < 0 else Histogram(tuple(bounds[:-1]), counts, values["_sum"])


def _without(parts: Mapping[_Part, list[Reading]], times: set[int]) -> Iterable[Reading]:
    """The parts' points at other times."""
    for readings in parts.values():
        for one in readings:
            points = tuple(point for point in one.points if point.ts_ms not in times)
            if points:
                yield msgspec.structs.replace(one, points=points)
