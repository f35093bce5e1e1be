"""Telegraf's and Vector's JSON.

Neither program is in a registry that the tests reach. The shape of each frame (keys, their order, how numbers and what
is no number are written) is that of the programs' own tests, read in November 2026, with names and values of ours:
Telegraf's `plugins/serializers/json/json_test.go` (TestSerializeBatch, TestSerialize_TimestampUnits) and
`plugins/parsers/prometheus/testcases` (valid_histogram, histogram_inf_bucket, valid_summary: expected_v1.out); Vector's
`lib/codecs/src/encoding/format/json.rs` (serialize_json_metric_*, serialize_metric_tags_*) and
`lib/codecs/tests/data/native_encoding/json`.
"""

import json

import pytest

from monitoring.readings import Histogram, Malformed, Point, Reading
from monitoring.sources import frames, telegraf

NOW_MS = 1_790_000_000_000

TELEGRAF_BATCH = b"""{"metrics":[
 {"fields":{"gauge":3},"name":"vllm:num_requests_running","tags":{"engine":"0","host":"gpu-1","model_name":"m"},
  "timestamp":1790000000},
 {"fields":{"counter":125},"name":"vllm:generation_tokens_total","tags":{"host":"gpu-1"},"timestamp":1790000000},
 {"fields":{"0.1":2,"1":5,"+Inf":6,"count":6,"sum":3.5},"name":"vllm:time_to_first_token_seconds",
  "tags":{"host":"gpu-1"},"timestamp":1790000000},
 {"fields":{"value":8},"name":"node_netstat_Tcp_OutSegs","tags":{},"timestamp":1790000000},
 {"fields":{"0.5":0.1,"0.9":0.2,"count":6,"sum":3.5},"name":"rpc","tags":{},"timestamp":1790000000}]}"""
TELEGRAF_ONE = b"""{"fields":{"ifHCOutOctets":17,"ifAdminStatus":"up","ifPromiscuous":false},"name":"interface",
 "tags":{"agent_host":"10.0.0.1","ifName":"xe-0"},"timestamp":1790000000}"""


def test_what_telegraf_reads_from_prometheus_pages_keeps_its_name_and_kind():
    found = frames.decode(TELEGRAF_BATCH, NOW_MS).readings
    assert found[0] == Reading(
        "vllm:num_requests_running", {"engine": "0", "host": "gpu-1", "model_name": "m"}, "gauge", (Point(NOW_MS, 3.0),)
    )
    assert (found[1].name, found[1].kind) == ("vllm:generation_tokens_total", "counter")
    assert (found[3].name, found[3].kind) == ("node_netstat_Tcp_OutSegs", "untyped")


def test_a_histogram_of_telegraf_is_cumulative_and_becomes_buckets_each_alone():
    found = frames.decode(TELEGRAF_BATCH, NOW_MS).readings[2]
    assert found.kind == "histogram"
    assert found.points[0].value == Histogram((0.1, 1.0), (2.0, 3.0, 1.0), 3.5)


def test_quantiles_of_a_summary_are_readings_of_their_own_and_no_histogram():
    names = [each.name for each in frames.decode(TELEGRAF_BATCH, NOW_MS).readings[4:]]
    assert names == ["rpc_0.5", "rpc_0.9", "rpc_count", "rpc_sum"]


def test_fields_of_other_inputs_are_readings_of_their_own_and_text_is_passed_over():
    found = frames.decode(TELEGRAF_ONE, NOW_MS).readings
    assert [(each.name, each.kind, each.points[0].value) for each in found] == [
        ("interface_ifHCOutOctets", "untyped", 17.0), ("interface_ifPromiscuous", "untyped", 0.0),
    ]  # fmt: skip
    assert found[0].labels == {"agent_host": "10.0.0.1", "ifName": "xe-0"}


@pytest.mark.parametrize("timestamp", [1790000000, 1790000000000, 1790000000000000, 1790000000000000000])
def test_the_unit_of_telegrafs_time_is_told_from_its_size(timestamp):
    assert telegraf.time_ms(timestamp) == NOW_MS


def test_fields_read_with_the_second_metric_version_have_the_metrics_names():
    given = {"name": "prometheus", "fields": {"sglang:num_queue_reqs": 4}, "tags": {}, "timestamp": 1790000000}
    [found] = frames.decode(json.dumps(given), NOW_MS).readings
    assert (found.name, found.kind) == ("sglang:num_queue_reqs", "untyped")


def test_a_metric_of_telegrafs_that_is_none_is_rejected_by_its_place():
    given = {"metrics": [{"name": "a", "fields": {"value": 1}, "timestamp": 1}, {"name": "b", "fields": 5}]}
    found = frames.decode(json.dumps(given), NOW_MS)
    assert (found.places, [each.index for each in found.rejected]) == ([0], [1])


def test_a_frame_as_telegraf_writes_it_ends_with_a_line_and_may_have_times_in_milliseconds():
    frame = b'{"metrics":[{"fields":{"gauge":42},"name":"sglang:token_usage","tags":{},"timestamp":1790000000123}]}\n'
    [found] = frames.decode(frame, NOW_MS).readings
    assert found == Reading("sglang:token_usage", {}, "gauge", (Point(1_790_000_000_123, 42.0),))


@pytest.mark.parametrize("beyond", [',"+Inf":6', ""], ids=["of a text page", "of protobuf, which has no last bucket"])
def test_a_histogram_of_telegraf_with_bounds_above_one_is_one_in_either_form(beyond):
    fields = b'{"100":2,"1e+06":5' + beyond.encode() + b',"count":6,"sum":350}'
    frame = b'{"fields":' + fields + b',"name":"llm_d_epp_request_input_tokens","tags":{},"timestamp":1790000000}'
    [found] = frames.decode(frame, NOW_MS).readings
    assert found.points[0].value == Histogram((100.0, 1e6), (2.0, 3.0, 1.0), 350.0)


def test_fields_beside_a_count_and_a_sum_do_not_make_a_histogram():
    given = {"name": "disk", "fields": {"5": 1, "used": 2, "count": 3, "sum": 4}, "timestamp": 1790000000}
    assert {each.name for each in frames.decode(json.dumps(given), NOW_MS).readings} == {
        "disk_5", "disk_used", "disk_count", "disk_sum",
    }  # fmt: skip


def test_buckets_of_telegrafs_that_fall_are_rejected():
    given = {"name": "a", "fields": {"1": 5, "2": 4, "+Inf": 6, "count": 6}, "timestamp": 1}
    assert "do not rise" in frames.decode(json.dumps(given), NOW_MS).rejected[0].reason


def vector(**event):
    return frames.decode(json.dumps({"name": "requests_total", "kind": "absolute", **event}), NOW_MS)


TIMED = {"timestamp": "2026-09-21T13:33:20.123456789Z", "tags": {"route": "remote", "hosts": ["a", "b"], "none": None}}


def test_a_counter_of_vector():
    [found] = vector(namespace="smg", counter={"value": 12.0}, **TIMED).readings
    assert found == Reading(
        "smg_requests_total", {"route": "remote", "hosts": "b", "none": ""}, "counter",
        (Point(1_789_997_600_123, 12.0),),
    )  # fmt: skip


def test_an_incremental_counter_of_vector_is_an_increase_over_its_interval():
    [found] = vector(kind="incremental", interval_ms=1000, counter={"value": 12.0}, **TIMED).readings
    assert found.is_delta
    assert found.points == (Point(1_789_997_600_123, 12.0, 1_789_997_599_123),)


def test_an_event_without_a_time_is_of_now():
    assert vector(gauge={"value": 2.5}).readings[0].points == (Point(NOW_MS, 2.5),)


@pytest.mark.parametrize("last", [[], [{"upper_limit": None, "count": 1}], [{"upper_limit": "inf", "count": 1}]])
def test_a_histogram_of_vector_has_what_is_beyond_its_bounds(last):
    buckets = [{"upper_limit": 0.1, "count": 5}, {"upper_limit": 1.0, "count": 2}, *last]
    [found] = vector(aggregated_histogram={"buckets": buckets, "count": 8, "sum": 3.0}).readings
    assert found.points[0].value == Histogram((0.1, 1.0), (5.0, 2.0, 1.0), 3.0)


REFUSED = {
    "a distribution": ({"distribution": {"samples": [], "statistic": "histogram"}}, "aggregate it"),
    "a set": ({"set": {"values": []}}, "a set is not taken"),
    "a summary": ({"aggregated_summary": {"quantiles": [], "count": 0, "sum": 0}}, "send a histogram"),
    "an incremental gauge": ({"kind": "incremental", "gauge": {"value": 1}}, "send it absolute"),
    "nothing": ({}, "has no value"),
    "too much in buckets": (
        {"aggregated_histogram": {"buckets": [{"upper_limit": 1, "count": 5}], "count": 4, "sum": 0}}, "more than its",
    ),
    "a bound twice": (
        {"aggregated_histogram": {"buckets": [{"upper_limit": 1, "count": 1}] * 2, "count": 4, "sum": 0}}, "twice",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("event", "said"), REFUSED.values(), ids=REFUSED)
def test_what_of_vector_is_not_taken_is_told(event, said):
    found = vector(**event)
    assert not found.readings
    assert said in found.rejected[0].reason


def test_an_event_as_vector_writes_it_natively_is_read():
    given = {"metric": {"name": "up", "kind": "absolute", "gauge": {"value": 1.0}}}
    assert frames.decode(json.dumps(given), NOW_MS).readings[0].name == "up"


VECTORS = {
    b'{"name":"requests","namespace":"smg","tags":{"route":"remote"},"timestamp":"2026-09-21T13:33:20.000000011Z",'
    b'"kind":"incremental","counter":{"value":100.0}}': ("smg_requests", "counter", 100.0),
    b'{"name":"up","tags":{"a":["first",null,"second"]},"kind":"absolute","gauge":{"value":1.0}}': ("up", "gauge", 1.0),
    b'{"name":"ttft","kind":"absolute","aggregated_histogram":{"buckets":[{"upper_limit":0.5,"count":2},'
    b'{"upper_limit":null,"count":1}],"count":3,"sum":1.5}}': ("ttft", "histogram", Histogram((0.5,), (2.0, 1.0), 1.5)),
}  # fmt: skip


@pytest.mark.parametrize(("frame", "said"), VECTORS.items(), ids=[said[1] for said in VECTORS.values()])
def test_events_in_the_order_in_which_vector_writes_them(frame, said):
    [found] = frames.decode(frame, NOW_MS).readings
    assert (found.name, found.kind, found.points[0].value) == said


@pytest.mark.parametrize(
    "frame",
    [
        b'{"name":"glork","kind":"incremental","distribution":{"samples":[{"value":10.0,"rate":1}],"statistic":"histogram"}}',
        b'{"name":"users","kind":"incremental","set":{"values":["bob"]}}',
    ],
    ids=["distribution", "set"],
)
def test_events_that_are_none_of_ours_are_rejected_and_the_connection_stays(frame):
    found = frames.decode(frame, NOW_MS)
    assert (found.readings, len(found.rejected)) == ([], 1)


def test_an_event_of_vector_that_is_none_is_malformed():
    with pytest.raises(Malformed, match="no metric event"):
        vector(counter={"value": "x"})
