"""Export requests, made with OpenTelemetry's own messages."""

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1 import metrics_pb2

NANO, MS = 1_790_000_000_123_456_789, 1_790_000_000_123
START_NANO, START_MS = 1_780_000_000_000_000_000, 1_780_000_000_000
CUMULATIVE, DELTA = metrics_pb2.AGGREGATION_TEMPORALITY_CUMULATIVE, metrics_pb2.AGGREGATION_TEMPORALITY_DELTA
NO_VALUE = metrics_pb2.DATA_POINT_FLAGS_NO_RECORDED_VALUE_MASK


def request(*metrics: metrics_pb2.Metric, resource=(), scope=()) -> ExportMetricsServiceRequest:
    message = ExportMetricsServiceRequest()
    of_resource = message.resource_metrics.add()
    add_attributes(of_resource.resource.attributes, dict(resource))
    of_scope = of_resource.scope_metrics.add()
    add_attributes(of_scope.scope.attributes, dict(scope))
    of_scope.metrics.extend(metrics)
    return message


def add_attributes(attributes, told: dict[str, str]) -> None:
    for key, text in told.items():
        attributes.add(key=key).value.string_value = text


def number(**fields) -> dict:
    return {"time_unix_nano": NANO} | fields


def gauge(**fields) -> metrics_pb2.Metric:
    return metrics_pb2.Metric(name="depth", gauge={"data_points": [number(**fields)]})


def sum_of(temporality, is_monotonic=True, **fields) -> metrics_pb2.Metric:
    data = {"data_points": [number(**fields)], "aggregation_temporality": temporality, "is_monotonic": is_monotonic}
    return metrics_pb2.Metric(name="requests", unit="{request}", sum=data)


def histogram(temporality=CUMULATIVE, **fields) -> metrics_pb2.Metric:
    data = {"data_points": [{"time_unix_nano": NANO} | fields], "aggregation_temporality": temporality}
    return metrics_pb2.Metric(name="ttft", unit="s", histogram=data)


def exponential_histogram(**fields) -> metrics_pb2.Metric:
    data = {"data_points": [{"time_unix_nano": NANO} | fields], "aggregation_temporality": CUMULATIVE}
    return metrics_pb2.Metric(name="tokens", exponential_histogram=data)


def as_json(message) -> bytes:
    return json_format.MessageToJson(message, use_integers_for_enums=True, indent=None).encode()
