"""OTLP: bodies as they come, whole or damaged, and what is answered."""

import base64
import gzip
import json
import math
import tracemalloc
import zlib

import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.metrics.v1 import metrics_pb2

from monitoring.readings import Malformed, Point, Rejected, Unsupported
from monitoring.sources import otlp, packed
from tests.monitoring.fuzzing import check, damaged, thoroughly
from tests.monitoring.otlp_requests import (
    CUMULATIVE,
    MS,
    NANO,
    NO_VALUE,
    START_MS,
    START_NANO,
    as_json,
    exponential_histogram,
    gauge,
    histogram,
    request,
    sum_of,
)

# --- encodings


OF_THE_SDK = (
    "H4sIAF7sDGsC/+M6wsZlwSXBxVOcWlSWmZyql5eYmyrEwcVWlF9aklrEJcMlDJPJzCsuScwDMVKEWLmYi3QNhdrZuNi4WFJSc/OFirg4ilILS1"
    "OLS4qlGA2tkrn0BEUO3dbZseWNhOQyS3VdEMOQmQECrAS5WMEWgG0Cai9J5dIVnMp7B009E0y9AEw9OxdrTn5yYo4AkwSjkAYXK9DG0lQreS5p"
    "QaV5d3DYJsAkJMPFUpKaW6AlwiUEl1eEyP6wFzrCBJQuSSuRYiz22sHEtZlJ8Gv3PVTDFFmghmlWvlQzPDD3soNRAyNUiIERjcYFCMkTC2DmWF"
    "Wgios4QGgVKG0JpT0h9IEgKD8SQjvkQ+l6CF3QDuX3Q+iOxVB6M4T22QvlH3aI/FWXtadkcoZ9IkTksgMwkH8ycjGnVhRIsZbkZ6fmBb1i5HrK"
    "KPh64gO0kHwBjRdNkDc4H3g7GrA5LWXk0BFawIgSkIxQBIQgBAJMIMjEzMQMBCwsrCxsbGzs7JycnNw8PHz8gkLCYuKSMnKKKura+kYWNk4efp"
    "YM1AVezEKMDInGYCDrkAkWa9kD9DsAw9SSTEcDAAA="
)
"""What opentelemetry-exporter-otlp-proto-http 1.45.2 sent, gzipped: a counter, an up-down counter, a gauge, a histogram
of 0.003, 7, 80 and 20,000 s, and an exponential one of 7.3, 14.6, ... 7,300 tokens."""


def test_a_body_of_opentelemetrys_own_sdk_is_read():
    readings, rejected = otlp.decode(base64.b64decode(OF_THE_SDK), otlp.PROTOBUF, "gzip")
    assert not rejected
    numbers = [(one.name, one.labels.get("route"), one.kind, one.points[0].value) for one in readings[:4]]
    assert numbers == [
        ("requests", "remote", "counter", 3.0),
        ("requests", "local", "counter", 2.0),
        ("queue", None, "gauge", 3.0),
        ("temp", None, "gauge", 1.5),
    ]
    ttft, tokens = (one.points[0].value for one in readings[4:])
    assert {bound: count for bound, count in zip((*ttft.bounds, math.inf), ttft.counts, strict=True) if count} == {
        5.0: 1.0,
        10.0: 1.0,
        100.0: 1.0,
        math.inf: 1.0,
    }
    up_to_1024 = sum(tokens.counts[: tokens.bounds.index(1024.0) + 1])
    assert up_to_1024 == 1024 // 7.3
    assert sum(tokens.counts) == 1000


def test_json_is_read_as_the_specification_writes_it():
    """Integers as text, enumerations as numbers, hexadecimal exemplars, fields that nobody knows."""
    point = {"startTimeUnixNano": str(START_NANO), "timeUnixNano": str(NANO), "asInt": "5"}
    point["attributes"] = [{"key": "route", "value": {"stringValue": "remote"}}]
    point["exemplars"] = [{"traceId": "0123456789abcdef0123456789abcdef", "spanId": "0123456789abcdef"}]
    metric = {"name": "requests", "unit": "1", "description": "since the start", "later": [{}]}
    metric["sum"] = {"aggregationTemporality": 1, "isMonotonic": True, "dataPoints": [point]}
    body = {"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}], "schemaUrl": ""}]}
    (reading,), rejected = otlp.decode(json.dumps(body).encode(), "application/json; charset=utf-8")
    assert not rejected
    assert (reading.name, reading.labels, reading.is_delta) == ("requests", {"route": "remote"}, True)
    assert reading.points == (Point(MS, 5.0, START_MS),)


names = st.text(st.characters(codec="utf-8"), max_size=5)
nanos = st.integers(0, 2**63 - 1)
values = st.one_of(
    st.builds(lambda x: {"as_double": x}, st.floats()),
    st.builds(lambda n: {"as_int": n}, st.integers(-(2**63), 2**63 - 1)),
    st.just({}),
)
attributes = st.lists(
    st.builds(
        lambda key, value: {"key": key, "value": value},
        names,
        st.one_of(
            st.builds(lambda text: {"string_value": text}, names),
            st.builds(lambda n: {"int_value": n}, st.integers(-(2**63), 2**63 - 1)),
            st.builds(lambda x: {"double_value": x}, st.floats(allow_nan=False, allow_infinity=False)),
            st.builds(lambda b: {"bytes_value": b}, st.binary(max_size=4)),
        ),
    ),
    max_size=3,
)
points = st.builds(
    lambda value, time, start, told, flags: (
        value | {"time_unix_nano": time, "start_time_unix_nano": start, "attributes": told, "flags": flags}
    ),
    values,
    nanos,
    st.one_of(st.just(0), nanos),
    attributes,
    st.sampled_from([0, NO_VALUE]),
)
metrics = st.builds(
    lambda name, shape, told, temporality, is_monotonic: metrics_pb2.Metric(
        name=name,
        **{
            shape: {"data_points": told}
            | ({"aggregation_temporality": temporality, "is_monotonic": is_monotonic} if shape == "sum" else {})
        },
    ),
    names,
    st.sampled_from(["gauge", "sum"]),
    st.lists(points, max_size=3),
    st.sampled_from([0, 1, 2]),
    st.booleans(),
)


@given(st.lists(metrics, max_size=3))
def test_both_encodings_say_the_same(told):
    message = request(*told)
    assert otlp.decode(message.SerializeToString(), otlp.PROTOBUF) == otlp.decode(as_json(message), otlp.JSON)


def test_gzip_is_unpacked():
    body = gzip.compress(request(gauge(as_int=1)).SerializeToString())
    assert len(otlp.decode(body, otlp.PROTOBUF, "GZIP")[0]) == 1


@pytest.mark.parametrize(
    ("content_type", "content_encoding", "told"),
    [
        ("text/plain", "", "send application/x-protobuf or application/json"),
        ("", "", "send application/x-protobuf or application/json"),
        (otlp.JSON, "br", "send gzip, or none"),
    ],
)
def test_what_is_not_spoken_is_told_with_what_is(content_type, content_encoding, told):
    with pytest.raises(Unsupported, match=told):
        otlp.decode(b"{}", content_type, content_encoding)


# --- answers


def test_a_full_success_says_nothing():
    assert otlp.response([], otlp.PROTOBUF) == b""
    assert otlp.response([], otlp.JSON) == b"{}"


@pytest.mark.parametrize("content_type", [otlp.PROTOBUF, otlp.JSON])
def test_a_partial_success_counts_and_explains_in_the_requests_format(content_type):
    body = otlp.response(
        [Rejected(0, "b: no time"), Rejected(4, "a: no value"), Rejected(5, "a: no value")], content_type
    )
    answer = ExportMetricsServiceResponse()
    if content_type == otlp.PROTOBUF:
        answer.ParseFromString(body)
    else:
        json_format.Parse(body, answer)
    assert answer.partial_success.rejected_data_points == 3
    assert answer.partial_success.error_message == "2 x a: no value; 1 x b: no time"


def test_an_answer_is_in_the_requests_format():
    assert otlp.format_of("Application/JSON; charset=utf-8") == otlp.JSON
    assert otlp.failure_format("application/x-protobuf") == otlp.PROTOBUF
    assert otlp.failure_format("text/plain") == otlp.JSON


def test_a_failure_is_a_status_in_the_requests_format():
    # field 2 of google.rpc.Status, a string of 3 bytes
    assert otlp.failure("bad", otlp.PROTOBUF) == b"\x12\x03bad"
    assert otlp.failure("bad", otlp.JSON) == otlp.failure("bad", "text/plain") == b'{"message":"bad"}'


# --- what is none of it

EXAMPLE = request(
    gauge(as_double=1.5),
    sum_of(CUMULATIVE, as_int=4, start_time_unix_nano=START_NANO),
    histogram(count=3, sum=4.0, explicit_bounds=[1, 2], bucket_counts=[1, 2, 0]),
    exponential_histogram(count=3, scale=2, positive={"offset": 3, "bucket_counts": [1, 2]}),
    resource={"service.name": "vllm", "host.name": "gpu1"},
)
PROTOBUF_EXAMPLE, JSON_EXAMPLE = EXAMPLE.SerializeToString(), as_json(EXAMPLE)


@thoroughly
@given(st.one_of(st.binary(max_size=200), damaged(PROTOBUF_EXAMPLE)))
def test_any_protobuf_is_read_or_refused(body):
    check(otlp.decode, body, otlp.PROTOBUF)


@thoroughly
@given(st.one_of(st.binary(max_size=200), damaged(JSON_EXAMPLE)))
def test_any_json_is_read_or_refused(body):
    check(otlp.decode, body, otlp.JSON)


@thoroughly
@given(st.one_of(st.binary(max_size=200), damaged(gzip.compress(PROTOBUF_EXAMPLE, mtime=0))))
def test_any_gzip_is_read_or_refused(body):
    check(otlp.decode, body, otlp.PROTOBUF, "gzip")


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["key", "value", "values", "arrayValue", "kvlistValue", "flags"]), inner),
    ),
    max_leaves=8,
)


@thoroughly
@given(st.dictionaries(st.sampled_from(["timeUnixNano", "asDouble", "asInt", "attributes", "flags"]), json_values))
def test_any_values_in_the_right_places_are_read_or_refused(point):
    metric = {"name": "x", "gauge": {"dataPoints": [point]}}
    body = {"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]}
    check(otlp.decode, json.dumps(body).encode(), otlp.JSON)


@pytest.mark.parametrize("depth", [50, 300, 1000, 50_000])
def test_nesting_is_read_or_refused_however_deep(depth):
    nested = b'{"arrayValue":{"values":[' * depth + b"{}" + b"]}}" * depth
    body = b'{"resourceMetrics":[{"resource":{"attributes":[{"key":"a","value":%s}]}}]}' % nested
    check(otlp.decode, body, otlp.JSON)


def gzip_bomb(mebibytes: int) -> bytes:
    """Zeros: a block of one mebibyte, again and again."""
    packer = zlib.compressobj(wbits=31)
    zeros = bytes(2**20)
    head = packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + block * (mebibytes - 1)


def test_a_bomb_is_refused_within_a_few_times_the_limit():
    bomb = gzip_bomb(4096)
    tracemalloc.start()
    try:
        with pytest.raises(Malformed, match="unpacks to more than"):
            otlp.decode(bomb, otlp.JSON, "gzip")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 * packed.MOST_BYTES


def test_a_body_beyond_the_limit_is_refused_unread():
    with pytest.raises(Malformed, match="send smaller batches"):
        otlp.decode(bytes(packed.MOST_BYTES + 1), otlp.PROTOBUF)


def test_more_points_than_a_message_may_have_are_refused(monkeypatch):
    monkeypatch.setattr(otlp, "MOST_POINTS", 2)
    metric = gauge(as_int=1)
    metric.gauge.data_points.add(time_unix_nano=NANO, as_int=2)
    assert len(otlp.decode(request(metric).SerializeToString(), otlp.PROTOBUF)[0]) == 2
    with pytest.raises(Malformed, match="more than 2 data points"):
        otlp.decode(request(metric, gauge(as_int=1)).SerializeToString(), otlp.PROTOBUF)


def test_attributes_that_many_points_would_copy_are_refused(monkeypatch):
    monkeypatch.setattr(otlp, "MOST_LABELS", 6)
    metric = gauge(as_int=1)
    metric.gauge.data_points.add(time_unix_nano=NANO, as_int=2)
    three, four = ({str(n): "x" for n in range(count)} for count in (3, 4))
    assert len(otlp.decode(request(metric, resource=three).SerializeToString(), otlp.PROTOBUF)[0]) == 2
    with pytest.raises(Malformed, match="more than 6 labels"):
        otlp.decode(request(metric, resource=four).SerializeToString(), otlp.PROTOBUF)
