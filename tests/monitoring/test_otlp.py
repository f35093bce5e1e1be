"""OTLP: what becomes of each shape, in both encodings."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.metrics.v1 import metrics_pb2

from monitoring.readings import Histogram, Point
from monitoring.sources import exponential, otlp
from tests.monitoring.otlp_requests import (
    CUMULATIVE,
    DELTA,
    MS,
    NANO,
    NO_VALUE,
    START_MS,
    START_NANO,
    add_attributes,
    as_json,
    exponential_histogram,
    gauge,
    histogram,
    request,
    sum_of,
)


@pytest.fixture(params=["protobuf", "json"])
def decoded(request):
    """Decodes a message in one encoding, then in the other."""

    def decode(message):
        if request.param == "protobuf":
            return otlp.decode(message.SerializeToString(), otlp.PROTOBUF)
        return otlp.decode(as_json(message), otlp.JSON)

    return decode


def only(decoded, metric: metrics_pb2.Metric):
    """The one reading of a metric of which nothing is rejected."""
    (reading,), rejected = decoded(request(metric))
    assert not rejected
    return reading


def refusal(decoded, metric: metrics_pb2.Metric) -> str:
    """Why the metric's one data point is rejected."""
    readings, (rejected,) = decoded(request(metric))
    assert not readings
    assert rejected.index == 0
    return rejected.reason


# --- shapes


def test_a_gauge_is_a_gauge_at_its_millisecond(decoded):
    reading = only(decoded, gauge(as_double=2.5))
    assert (reading.name, reading.kind, reading.points) == ("depth", "gauge", (Point(MS, 2.5),))


@pytest.mark.parametrize("fields", [{"as_int": 0}, {"as_double": 0.0}])
def test_a_zero_that_is_told_is_a_zero(decoded, fields):
    assert only(decoded, gauge(**fields)).points[0].value == 0.0


def test_a_value_that_is_not_told_is_not_a_zero(decoded):
    assert refusal(decoded, gauge()) == "depth: it has no value"


def test_a_whole_number_becomes_a_float(decoded):
    value = only(decoded, gauge(as_int=-7)).points[0].value
    assert (value, type(value)) == (-7.0, float)


def test_a_cumulative_monotonic_sum_is_a_counter_that_knows_its_start(decoded):
    reading = only(decoded, sum_of(CUMULATIVE, as_int=41, start_time_unix_nano=START_NANO))
    assert (reading.kind, reading.is_delta, reading.unit) == ("counter", False, "{request}")
    assert reading.points == (Point(MS, 41.0, START_MS),)


def test_a_delta_sum_is_a_counter_of_increases(decoded):
    reading = only(decoded, sum_of(DELTA, as_int=3, start_time_unix_nano=START_NANO))
    assert (reading.kind, reading.is_delta) == ("counter", True)


def test_a_sum_that_may_fall_is_a_gauge(decoded):
    assert only(decoded, sum_of(CUMULATIVE, is_monotonic=False, as_int=3)).kind == "gauge"


def test_changes_of_a_sum_that_may_fall_are_refused(decoded):
    assert "send it cumulative" in refusal(decoded, sum_of(DELTA, is_monotonic=False, as_int=3))


def test_a_temporality_that_is_not_told_is_refused_for_each_data_point(decoded):
    metric = sum_of(metrics_pb2.AGGREGATION_TEMPORALITY_UNSPECIFIED, as_int=3)
    metric.sum.data_points.add(time_unix_nano=NANO, as_int=4)
    readings, rejected = decoded(request(gauge(as_int=1), metric))
    assert [reading.name for reading in readings] == ["depth"]
    assert [one.index for one in rejected] == [1, 2]


def test_a_histogram_keeps_its_bounds_and_counts(decoded):
    point = {"count": 9, "sum": 12.5, "explicit_bounds": [0.1, 1, 10], "bucket_counts": [2, 3, 4, 0]}
    reading = only(decoded, histogram(**point))
    assert (reading.kind, reading.unit) == ("histogram", "s")
    assert reading.points == (Point(MS, Histogram((0.1, 1.0, 10.0), (2.0, 3.0, 4.0, 0.0), 12.5)),)


def test_a_histogram_without_buckets_is_one_bucket(decoded):
    assert only(decoded, histogram(count=5, sum=2.0)).points[0].value == Histogram((), (5.0,), 2.0)


def test_a_histogram_without_sum_has_none(decoded):
    assert math.isnan(only(decoded, histogram(count=0)).points[0].value.total)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"count": 1, "explicit_bounds": [1, 2], "bucket_counts": [1, 0]}, "2 bucket counts for 2 bounds"),
        ({"count": 1, "explicit_bounds": [2, 1], "bucket_counts": [1, 0, 0]}, "not finite and rising"),
        ({"count": 1, "explicit_bounds": [1, 1], "bucket_counts": [1, 0, 0]}, "not finite and rising"),
        ({"count": 1, "explicit_bounds": [math.inf], "bucket_counts": [1, 0]}, "not finite and rising"),
        ({"count": 1, "explicit_bounds": [math.nan], "bucket_counts": [1, 0]}, "not finite and rising"),
        ({"count": 3, "explicit_bounds": [1], "bucket_counts": [1, 1]}, "have 2 observations and it says 3"),
        ({"count": 1, "sum": math.inf}, "it is infinite"),
    ],
)
def test_a_histogram_that_contradicts_itself_is_refused(decoded, fields, reason):
    assert reason in refusal(decoded, histogram(**fields))


def test_a_summary_gives_its_sum_and_count_as_counters(decoded):
    point = {"time_unix_nano": NANO, "count": 4, "sum": 10.0, "quantile_values": [{"quantile": 0.5, "value": 2.0}]}
    readings, rejected = decoded(request(metrics_pb2.Metric(name="wait", summary={"data_points": [point]})))
    assert [(one.name, one.kind, one.points[0].value) for one in readings] == [
        ("wait_sum", "counter", 10.0),
        ("wait_count", "counter", 4.0),
    ]
    assert not rejected


def test_a_metric_without_data_is_nothing(decoded):
    assert decoded(request(metrics_pb2.Metric(name="empty"))) == ([], [])


# --- exponential histograms


def buckets_of(values: list[float], scale: int) -> tuple[int, list[int]]:
    """Offset and counts as a sender has them: bucket i holds (base^i, base^(i+1)], base = 2^(2^-scale)."""
    indexes = [math.ceil(math.log2(value) * 2.0**scale) - 1 for value in values]
    offset = min(indexes)
    return offset, [indexes.count(index) for index in range(offset, max(indexes) + 1)]


@given(
    # off the bounds, where rounding decides
    st.lists(st.integers(1, 10**6).map(lambda n: n * 1.0001), min_size=1, max_size=30),
    st.integers(-3, 8),
)
def test_an_exponential_histogram_has_as_many_below_each_bound_as_there_were(values, scale):
    bounds, counts = exponential.explicit(scale, buckets_of(values, scale), zero=(0.0, 0))
    below = 0.0
    for bound, count in zip(bounds, counts, strict=False):
        below += count
        assert below == sum(value <= bound for value in values)
    assert sum(counts) == len(values)


@pytest.mark.parametrize(("coarse", "fine"), [(1, 5), (1, 20)])
def test_senders_that_refine_keep_their_bounds(coarse, fine):
    assert exponential.explicit(coarse, (0, [1]), (0.0, 0))[0] == exponential.explicit(fine, (0, [1]), (0.0, 0))[0]


def test_an_exponential_histogram_has_zeros_in_its_lowest_bucket(decoded):
    metric = exponential_histogram(
        count=5, sum=9.0, scale=0, zero_count=2, positive={"offset": 1, "bucket_counts": [3]}
    )
    value = only(decoded, metric).points[0].value
    assert value.counts[0] == 2.0
    assert value.counts[value.bounds.index(4.0)] == 3.0  # (2, 4]
    assert value.total == 9.0


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"count": 1, "negative": {"bucket_counts": [1]}}, "negative observations"),
        ({"count": 1, "scale": 21, "positive": {"bucket_counts": [1]}}, "scale 21 is not within -10 to 20"),
        ({"count": 2, "positive": {"bucket_counts": [1]}}, "have 1 observations and it says 2"),
        ({"count": 1, "zero_count": 1, "zero_threshold": 1.0}, "zero threshold 1.0 is not within"),
        ({"count": 0, "zero_threshold": math.nan}, "zero threshold nan is not within"),
    ],
)
def test_an_exponential_histogram_that_has_no_explicit_bounds_is_refused(decoded, fields, reason):
    assert reason in refusal(decoded, exponential_histogram(**fields))


# --- absence, times, labels


@pytest.mark.parametrize(
    "fields", [{"flags": NO_VALUE}, {"flags": NO_VALUE, "as_double": 3.0}, {"as_double": math.nan}]
)
def test_nothing_recorded_is_neither_a_reading_nor_a_mistake(decoded, fields):
    assert decoded(request(gauge(**fields))) == ([], [])


def test_an_infinite_value_is_refused(decoded):
    assert refusal(decoded, gauge(as_double=-math.inf)) == "depth: it is infinite"


@pytest.mark.parametrize("time_unix_nano", [0, 999_999])
def test_a_point_without_time_is_refused(decoded, time_unix_nano):
    assert refusal(decoded, gauge(as_int=1, time_unix_nano=time_unix_nano)) == "depth: it has no time"


def test_a_point_that_starts_after_its_time_is_refused(decoded):
    assert "starts after" in refusal(decoded, sum_of(CUMULATIVE, as_int=1, start_time_unix_nano=NANO + 1))


def test_a_metric_without_name_is_refused(decoded):
    metric = gauge(as_int=1)
    metric.name = ""
    assert refusal(decoded, metric) == "a metric: it has no name"


def test_labels_tell_point_scope_and_resource_apart(decoded):
    metric = gauge(as_int=1)
    add_attributes(metric.gauge.data_points[0].attributes, {"device": "eth0"})
    message = request(metric, resource={"device": "rack-7"}, scope={"device": "x"})
    message.resource_metrics[0].scope_metrics[0].scope.name = "host"
    (reading,), _ = decoded(message)
    assert reading.labels == {"device": "eth0", "resource.device": "rack-7", "scope.device": "x", "scope.name": "host"}


@pytest.mark.parametrize(
    ("resource", "job", "instance"),
    [
        (
            {"service.name": "vllm", "service.instance.id": "10.0.0.1:8000", "host.name": "gpu1"},
            "vllm",
            "10.0.0.1:8000",
        ),
        ({"service.namespace": "prod", "service.name": "vllm", "host.name": "gpu1"}, "prod/vllm", "gpu1"),
        ({}, None, None),
    ],
)
def test_job_and_instance_come_from_the_resource_as_in_prometheus(decoded, resource, job, instance):
    (reading,), _ = decoded(request(gauge(as_int=1), resource=resource))
    assert (reading.labels.get("job"), reading.labels.get("instance")) == (job, instance)


def test_a_resource_may_tell_its_place(decoded):
    (reading,), _ = decoded(request(gauge(as_int=1), resource={"role": "prefill", "cluster": "pd-1", "instance": "a"}))
    assert (reading.labels["role"], reading.labels["cluster"], reading.labels["instance"]) == ("prefill", "pd-1", "a")


def test_a_points_own_instance_is_kept(decoded):
    metric = gauge(as_int=1)
    add_attributes(metric.gauge.data_points[0].attributes, {"instance": "switch-3"})
    (reading,), _ = decoded(request(metric, resource={"host.name": "poller"}))
    assert reading.labels["instance"] == "switch-3"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"int_value": 3}, "3"),
        ({"int_value": 0}, "0"),
        ({"bool_value": False}, "false"),
        ({"double_value": 0.5}, "0.5"),
        ({"bytes_value": b"\x00\x01"}, "AAE="),
        ({"array_value": {"values": [{"int_value": 1}, {"string_value": "a"}]}}, '[1,"a"]'),
        ({"kvlist_value": {"values": [{"key": "k", "value": {"bool_value": True}}]}}, '{"k":true}'),
        ({}, ""),
    ],
)
def test_an_attribute_that_is_no_text_is_written_as_json(decoded, value, text):
    metric = gauge(as_int=1)
    metric.gauge.data_points[0].attributes.add(key="a", value=value)
    assert only(decoded, metric).labels == {"a": text}
