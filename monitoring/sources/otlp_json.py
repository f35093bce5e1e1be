"""OTLP's JSON as structures that answer like the messages of the protobuf library, so that one walk reads both.

Names are in lowerCamelCase, 64-bit integers may be strings, enumerations are numbers, and what is not known is
ignored (OTLP 1.x specification, "JSON Protobuf Encoding"). Only what becomes a reading is declared: exemplars, whose
identifiers are hexadecimal where protobuf's JSON has base64, are passed over.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

type Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
type Fixed64 = Annotated[int, Meta(ge=0, le=2**63 - 1)]
type Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]


class _Message(msgspec.Struct, rename="camel", gc=False):
    """A message. A member of a oneof, and an optional field, is None where it is not told."""

    def HasField(self, field: str) -> bool:
        return getattr(self, field) is not None

    def WhichOneof(self, group: str) -> str | None:
        return next((field for field in _ONEOFS[type(self)] if getattr(self, field) is not None), None)


class AnyValue(_Message):
    string_value: str | None = None
    bool_value: bool | None = None
    int_value: Int64 | None = None
    double_value: float | None = None
    array_value: ArrayValue | None = None
    kvlist_value: KeyValueList | None = None
    bytes_value: str | None = None


class ArrayValue(_Message):
    values: list[AnyValue] = []


class KeyValue(_Message):
    key: str = ""
    value: AnyValue = msgspec.field(default_factory=AnyValue)


class KeyValueList(_Message):
    values: list[KeyValue] = []


class NumberPoint(_Message):
    attributes: list[KeyValue] = []
    start_time_unix_nano: Fixed64 = 0
    time_unix_nano: Fixed64 = 0
    as_double: float | None = None
    as_int: Int64 | None = None
    flags: Int64 = 0


class HistogramPoint(_Message):
    attributes: list[KeyValue] = []
    start_time_unix_nano: Fixed64 = 0
    time_unix_nano: Fixed64 = 0
    count: Fixed64 = 0
    sum: float | None = None
    bucket_counts: list[Fixed64] = []
    explicit_bounds: list[float] = []
    flags: Int64 = 0


class Buckets(_Message):
    offset: Int32 = 0
    bucket_counts: list[Fixed64] = []


class ExponentialPoint(_Message):
    attributes: list[KeyValue] = []
    start_time_unix_nano: Fixed64 = 0
    time_unix_nano: Fixed64 = 0
    count: Fixed64 = 0
    sum: float | None = None
    scale: Int32 = 0
    zero_count: Fixed64 = 0
    positive: Buckets = msgspec.field(default_factory=Buckets)
    negative: Buckets = msgspec.field(default_factory=Buckets)
    zero_threshold: float = 0.0
    flags: Int64 = 0


class SummaryPoint(_Message):
    attributes: list[KeyValue] = []
    start_time_unix_nano: Fixed64 = 0
    time_unix_nano: Fixed64 = 0
    count: Fixed64 = 0
    sum: float = 0.0
    flags: Int64 = 0


class Gauge(_Message):
    data_points: list[NumberPoint] = []


class Sum(_Message):
    data_points: list[NumberPoint] = []
    aggregation_temporality: int = 0
    is_monotonic: bool = False


class HistogramData(_Message):
    data_points: list[HistogramPoint] = []
    aggregation_temporality: int = 0


class ExponentialHistogram(_Message):
    data_points: list[ExponentialPoint] = []
    aggregation_temporality: int = 0


class Summary(_Message):
    data_points: list[SummaryPoint] = []


class Metric(_Message):
    name: str = ""
    unit: str = ""
    gauge: Gauge | None = None
    sum: Sum | None = None
    histogram: HistogramData | None = None
    exponential_histogram: ExponentialHistogram | None = None
    summary: Summary | None = None


class Attributed(_Message):
    """A resource, or a scope: the former has no name."""

    name: str = ""
    attributes: list[KeyValue] = []


class ScopeMetrics(_Message):
    scope: Attributed = msgspec.field(default_factory=Attributed)
    metrics: list[Metric] = []


class ResourceMetrics(_Message):
    resource: Attributed = msgspec.field(default_factory=Attributed)
    scope_metrics: list[ScopeMetrics] = []


class Request(_Message):
    resource_metrics: list[ResourceMetrics] = []


_ONEOFS: dict[type[_Message], tuple[str, ...]] = {
    AnyValue: AnyValue.__struct_fields__,
    NumberPoint: ("as_double", "as_int"),
    Metric: ("gauge", "sum", "histogram", "exponential_histogram", "summary"),
}
_decoder = msgspec.json.Decoder(Request, strict=False)


def request(text: bytes) -> Request:
    """The request that is written in `text`; msgspec.DecodeError or RecursionError if it is none."""
    return _decoder.decode(text)
