"""OTLP metrics over HTTP, protobuf or JSON, to readings.

Read with the OTLP 1.x specification and `opentelemetry/proto/metrics/v1/metrics.proto`. A message is taken as far as it
can be: each data point that cannot is rejected alone, with the reason, and the response tells how many (partial
success).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from operator import lt
from typing import Any

import msgspec
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)

from monitoring.readings import Histogram, Kind, Malformed, Point, Reading, Rejected, Unsupported
from monitoring.signals import PLACE
from monitoring.sources import exponential, otlp_json
from monitoring.sources.messages import declared
from monitoring.sources.packed import MOST_POINTS, gunzipped_or_plain, media_type

PROTOBUF, JSON = "application/x-protobuf", "application/json"
NO_RECORDED_VALUE = 1
"""A data point's flag: the series has ended. It is passed over, as is a NaN: absent, and nothing to report."""
DELTA, CUMULATIVE = 1, 2
LONGEST_MESSAGE = 1000
MOST_LABELS = 20 * MOST_POINTS
"""Of a resource and scope, times their points: each point gets a copy, so that a message can grow as its square."""
_MS = 1_000_000
"""Nanoseconds of a millisecond."""
_Status = declared("google.rpc", {"Status": {"code": (1, "int32"), "message": (2, "string")}})["Status"]


class _Refused(Exception):
    """A data point that cannot be taken. The text is the reason."""


class _Taken:
    """What has been read so far; `points` counts data points, taken or not: their place in the message."""

    def __init__(self) -> None:
        self.readings: list[Reading] = []
        self.rejected: list[Rejected] = []
        self.points = 0
        self.labels = 0


def decode(body: bytes, content_type: str, content_encoding: str = "") -> tuple[list[Reading], list[Rejected]]:
    """The readings of an export request, one a data point, and the data points that are rejected.

    Labels are the point's attributes; the resource's and the scope's are `resource.KEY` and `scope.KEY`, with `job` and
    `instance` as Prometheus has them, and the resource's place (`role`, `cluster`, ...) by its own name. A monotonic
    sum is a counter, another sum or a gauge a gauge; an exponential histogram becomes one of explicit bounds; a summary
    the counters NAME_sum and NAME_count.
    Malformed if the body is no request, Unsupported if it is neither protobuf nor JSON, plain or gzip.
    """
    request = _request(body, format_of(content_type), content_encoding)
    taken = _Taken()
    try:
        for resource_metrics in request.resource_metrics:
            of_resource = _resource_labels(resource_metrics.resource)
            for scope_metrics in resource_metrics.scope_metrics:
                labels = of_resource | _scope_labels(scope_metrics.scope)
                for metric in scope_metrics.metrics:
                    _take(metric, labels, taken)
    except RecursionError:
        raise Malformed("an attribute of the message nests too deeply") from None
    return taken.readings, taken.rejected


def response(rejected: Sequence[Rejected], content_type: str) -> bytes:
    """The body that answers a request of this type: partial_success is set only if data points were rejected."""
    message = ExportMetricsServiceResponse()
    if rejected:
        message.partial_success.rejected_data_points = len(rejected)
        message.partial_success.error_message = _told(rejected)
    if format_of(content_type) == JSON:
        return msgspec.json.encode({"partialSuccess": _partial(message)} if rejected else {})
    body: bytes = message.SerializeToString()
    return body


def failure(reason: str, content_type: str) -> bytes:
    """The body of an answer 4xx or 5xx: a google.rpc.Status in the format that `failure_format` tells."""
    reason = reason[:LONGEST_MESSAGE]
    if failure_format(content_type) == JSON:
        return msgspec.json.encode({"message": reason})
    body: bytes = _Status(message=reason).SerializeToString()
    return body


def format_of(content_type: str) -> str:
    """PROTOBUF or JSON, in which a request of this type is written and answered; Unsupported if it is neither."""
    kind = media_type(content_type)
    if kind not in (PROTOBUF, JSON):
        raise Unsupported(f"Content-Type {content_type[:80]!r} is not spoken here: send {PROTOBUF} or {JSON}")
    return kind


def failure_format(content_type: str) -> str:
    """PROTOBUF or JSON: as the request, and JSON for whoever speaks neither."""
    return PROTOBUF if media_type(content_type) == PROTOBUF else JSON


def _request(body: bytes, kind: str, content_encoding: str) -> Any:
    unpacked = gunzipped_or_plain(body, content_encoding)
    try:
        return ExportMetricsServiceRequest.FromString(unpacked) if kind == PROTOBUF else otlp_json.request(unpacked)
    except (DecodeError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(f"the body is no ExportMetricsServiceRequest as {kind}: {str(error)[:200]}") from None


def _partial(message: Any) -> dict[str, str]:
    told = message.partial_success
    return {"rejectedDataPoints": str(told.rejected_data_points), "errorMessage": told.error_message}


def _told(rejected: Sequence[Rejected]) -> str:
    """The commonest reasons, with how many data points each."""
    reasons = Counter(one.reason for one in rejected).most_common(5)
    return "; ".join(f"{count} x {reason}" for reason, count in reasons)[:LONGEST_MESSAGE]


# --- labels


def _resource_labels(resource: Any) -> dict[str, str]:
    """Attributes, `job` and `instance` (as in OpenTelemetry's Prometheus compatibility), and the place."""
    attributes = _attributes(resource.attributes)
    labels = {f"resource.{key}": value for key, value in attributes.items()}
    labels |= {key: attributes[key] for key in PLACE if key in attributes}
    service, namespace = attributes.get("service.name"), attributes.get("service.namespace")
    instance = attributes.get("instance") or attributes.get("service.instance.id") or attributes.get("host.name")
    if service:
        labels["job"] = f"{namespace}/{service}" if namespace else service
    if instance:
        labels["instance"] = instance
    return labels


def _scope_labels(scope: Any) -> dict[str, str]:
    labels = {f"scope.{key}": value for key, value in _attributes(scope.attributes).items()}
    return labels | {"scope.name": scope.name} if scope.name else labels


def _attributes(attributes: Iterable[Any]) -> dict[str, str]:
    return {one.key: one.value.string_value or _text(one.value) for one in attributes}


def _text(value: Any) -> str:
    """A value that is no text, as JSON (bytes in base64)."""
    plain = _plain(value)
    return "" if plain is None else msgspec.json.encode(plain).decode().strip('"')


def _plain(value: Any) -> Any:
    field = value.WhichOneof("value")
    if field == "array_value":
        return [_plain(one) for one in value.array_value.values]
    if field == "kvlist_value":
        return {one.key: _plain(one.value) for one in value.kvlist_value.values}
    return getattr(value, field) if field else None


# --- metrics


def _take(metric: Any, labels: dict[str, str], taken: _Taken) -> None:
    """Add the readings of one metric, of the scope and resource that `labels` tell."""
    shape = metric.WhichOneof("data")
    if shape is None:
        return
    data = getattr(metric, shape)
    _count(len(data.data_points), len(labels), taken)
    first = taken.points - len(data.data_points)
    try:
        if not metric.name:
            raise _Refused("it has no name")
        kind, is_delta = _kind(shape, data)
    except _Refused as refused:
        reason = _reason(metric, refused)
        taken.rejected.extend(Rejected(first + index, reason) for index in range(len(data.data_points)))
        return
    for index, point in enumerate(data.data_points, first):
        if not point.flags & NO_RECORDED_VALUE:
            try:
                _take_point(metric, shape, kind, is_delta, point, labels, taken)
            except _Refused as refused:
                taken.rejected.append(Rejected(index, _reason(metric, refused)))


def _count(points: int, labels: int, taken: _Taken) -> None:
    taken.points += points
    taken.labels += points * labels
    if taken.points > MOST_POINTS:
        raise Malformed(f"the message has more than {MOST_POINTS} data points: send smaller batches")
    if taken.labels > MOST_LABELS:
        raise Malformed(f"resources and scopes give their points more than {MOST_LABELS} labels: send smaller batches")


def _reason(metric: Any, refused: _Refused) -> str:
    return f"{metric.name[:80] or 'a metric'}: {refused}"


def _kind(shape: str, data: Any) -> tuple[Kind, bool]:
    """What kind of reading a metric gives, and whether its points are increases."""
    if shape == "gauge":
        return "gauge", False
    if shape == "summary":
        return "counter", False
    if data.aggregation_temporality not in (DELTA, CUMULATIVE):
        raise _Refused("its aggregation temporality is neither delta (1) nor cumulative (2)")
    is_delta = data.aggregation_temporality == DELTA
    if shape != "sum":
        return "histogram", is_delta
    if data.is_monotonic:
        return "counter", is_delta
    if is_delta:
        raise _Refused("changes of a sum that also falls do not tell its level: send it cumulative")
    return "gauge", False


def _take_point(
    metric: Any, shape: str, kind: Kind, is_delta: bool, point: Any, common: dict[str, str], taken: _Taken
) -> None:
    time, start = point.time_unix_nano, point.start_time_unix_nano
    if time < _MS:
        raise _Refused("it has no time")
    if start > time:
        raise _Refused("it starts after its time")
    labels = {**common, **_attributes(point.attributes)} if point.attributes else common
    start_ms = start // _MS if start and kind != "gauge" else None
    for suffix, value in _VALUES[shape](point):
        if value is not None:
            points = (Point(time // _MS, value, start_ms),)
            taken.readings.append(Reading(metric.name + suffix, labels, kind, points, metric.unit, is_delta))


# --- values: each is a suffix to the name, and a value or None for nothing recorded

type _Named = tuple[tuple[str, float | Histogram | None], ...]


def _number(point: Any) -> _Named:
    value = point.as_double or point.as_int
    if not value and point.WhichOneof("value") is None:
        raise _Refused("it has no value")
    return (("", _finite(value or 0)),)


def _finite(value: float) -> float | None:
    """The value; None for a NaN, which is how "nothing" is written."""
    if math.isinf(value):
        raise _Refused("it is infinite")
    return None if math.isnan(value) else float(value)


def _summary(point: Any) -> _Named:
    return ("_sum", _finite(point.sum)), ("_count", float(point.count))


def _explicit(point: Any) -> _Named:
    bounds, counts = tuple(point.explicit_bounds), tuple(point.bucket_counts) or (point.count,)
    if len(counts) != len(bounds) + 1:
        raise _Refused(f"it has {len(counts)} bucket counts for {len(bounds)} bounds; one more is needed")
    if not (all(map(math.isfinite, bounds)) and all(map(lt, bounds, bounds[1:]))):
        raise _Refused("its bounds are not finite and rising")
    if sum(counts) != point.count:
        raise _Refused(f"its buckets have {sum(counts)} observations and it says {point.count}")
    return (("", Histogram(bounds, tuple(map(float, counts)), _total(point))),)


def _exponential(point: Any) -> _Named:
    try:
        bounds, counts = exponential.explicit(
            point.scale,
            (point.positive.offset, point.positive.bucket_counts),
            zero=(point.zero_threshold, point.zero_count),
        )
    except ValueError as error:
        raise _Refused(str(error)) from None
    if any(point.negative.bucket_counts):
        raise _Refused("it has negative observations")
    if sum(counts) != point.count:
        raise _Refused(f"its buckets have {sum(counts):.0f} observations and it says {point.count}")
    return (("", Histogram(bounds, counts, _total(point))),)


def _total(point: Any) -> float:
    total = _finite(point.sum) if point.HasField("sum") else None
    return math.nan if total is None else total


_VALUES: dict[str, Callable[[Any], _Named]] = {
    "gauge": _number,
    "sum": _number,
    "histogram": _explicit,
    "exponential_histogram": _exponential,
    "summary": _summary,
}
