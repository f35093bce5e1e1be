"""Readings as each door wants them: what `monitoring.sources` reads, written."""

from __future__ import annotations

import gzip
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

import cramjam
import msgspec
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, Metric

from monitoring.readings import Histogram, Point, Reading
from monitoring.sources.remote_write import MESSAGES

NS_A_MS = 1_000_000
INSTANCE = "instance"
CUMULATIVE = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE

_json = msgspec.json.Encoder()


# --- our envelope ------------------------------------------------------------------------------------------------


def envelope(readings: Sequence[Reading], seq: int, sent_ms: int) -> bytes:
    """A frame of our own."""
    told = [
        {
            "name": each.name,
            "kind": each.kind,
            "labels": each.labels,
            "points": [_point(point) for point in each.points],
        }
        for each in readings
    ]
    return _json.encode({"v": 1, "seq": seq, "sent_ms": sent_ms, "readings": told})


def _point(point: Point) -> list[Any]:
    value = point.value
    told = {"le": value.bounds, "n": value.counts, "sum": value.total} if isinstance(value, Histogram) else value
    return [point.ts_ms, told] if point.start_ms is None else [point.ts_ms, told, point.start_ms]


# --- OTLP --------------------------------------------------------------------------------------------------------


def otlp(readings: Sequence[Reading]) -> bytes:
    """A gzipped protobuf message: a resource for each instance, everything cumulative."""
    request = ExportMetricsServiceRequest()
    resources: dict[str, Any] = {}
    for reading in readings:
        instance = reading.labels.get(INSTANCE, "")
        if instance not in resources:
            resource = request.resource_metrics.add()
            resource.resource.attributes.append(_attribute("service.instance.id", instance))
            resources[instance] = resource.scope_metrics.add()
        _metric(resources[instance].metrics.add(name=reading.name), reading)
    return gzip.compress(request.SerializeToString(), 1)


def _attribute(name: str, value: str) -> KeyValue:
    found = KeyValue(key=name)
    found.value.string_value = value
    return found


def _metric(metric: Metric, reading: Reading) -> None:
    kinds: dict[str, Any] = {"counter": metric.sum, "histogram": metric.histogram}
    data = kinds.get(reading.kind, metric.gauge)
    if reading.kind in kinds:
        data.aggregation_temporality = CUMULATIVE
    if reading.kind == "counter":
        data.is_monotonic = True
    attributes = [_attribute(name, value) for name, value in reading.labels.items() if name != INSTANCE]
    for point in reading.points:
        told = data.data_points.add(attributes=attributes, time_unix_nano=point.ts_ms * NS_A_MS)
        if point.start_ms is not None:
            told.start_time_unix_nano = point.start_ms * NS_A_MS
        if isinstance(point.value, Histogram):
            told.explicit_bounds.extend(point.value.bounds)
            told.bucket_counts.extend(map(int, point.value.counts))
            told.count, told.sum = int(sum(point.value.counts)), point.value.total
        else:
            told.as_double = point.value


# --- flat series: remote write, and pages ------------------------------------------------------------------------

type Flat = tuple[str, dict[str, str], list[tuple[int, float]]]
"""A series of numbers: its name, labels, and points by time in ms."""


def flat(reading: Reading) -> Iterator[Flat]:
    """A histogram as `_bucket`, `_sum` and `_count`; anything else as it is."""
    first = reading.points[0].value
    if not isinstance(first, Histogram):
        yield reading.name, reading.labels, [(each.ts_ms, each.value) for each in reading.points]  # type: ignore[misc]
        return
    parts = [(each.ts_ms, each.value) for each in reading.points if isinstance(each.value, Histogram)]
    counts = [(ts_ms, list(accumulate(value.counts))) for ts_ms, value in parts]
    for at, bound in enumerate((*first.bounds, math.inf)):
        labels = reading.labels | {"le": "+Inf" if bound == math.inf else repr(bound)}
        yield f"{reading.name}_bucket", labels, [(ts_ms, upto[at]) for ts_ms, upto in counts]
    yield f"{reading.name}_sum", reading.labels, [(ts_ms, value.total) for ts_ms, value in parts]
    yield f"{reading.name}_count", reading.labels, [(ts_ms, upto[-1]) for ts_ms, upto in counts]


def remote_write(readings: Iterable[Reading]) -> bytes:
    """A write request as Prometheus sends it, in a snappy block."""
    request = MESSAGES["WriteRequest"]()
    for reading in readings:
        for name, labels, points in flat(reading):
            series = request.timeseries.add()
            for label, value in sorted({"__name__": name, **labels}.items()):
                series.labels.add(name=label, value=value)
            for ts_ms, number in points:
                series.samples.add(value=number, timestamp=ts_ms)
    return bytes(cramjam.snappy.compress_raw(request.SerializeToString()))


def page(readings: Iterable[Reading]) -> str:
    """The newest points as a page in the text format, without their times: they are those of the scrape."""
    lines, typed = [], set()
    for reading in sorted(readings, key=lambda each: each.name):
        if reading.name not in typed:
            typed.add(reading.name)
            lines.append(f"# TYPE {reading.name} {reading.kind}")
        for name, labels, points in flat(reading):
            told = ",".join(f'{label}="{value}"' for label, value in labels.items())
            lines.append(f"{name}{{{told}}} {points[-1][1]!r}")
    return "\n".join(lines) + "\n"
