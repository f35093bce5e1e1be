"""Answers of Prometheus' query API, as its documentation shows them."""

import json

import pytest

from monitoring.readings import Histogram
from monitoring.sources.fetching import Answer, Failed
from monitoring.sources.promql import Query, Window, instant, over, readings, windows
from tests.monitoring.exporters import success

# https://prometheus.io/docs/prometheus/latest/querying/api/#instant-queries
DOCUMENTED = """{"status":"success","data":{"resultType":"vector","result":[
{"metric":{"__name__":"up","job":"prometheus","instance":"localhost:9090"},"value":[1435781451.781,"1"]},
{"metric":{"__name__":"up","job":"node","instance":"localhost:9100"},"value":[1435781451.781,"0"]}]}}"""


def answer(document, status=200):
    text = document if isinstance(document, str) else json.dumps(document)
    return Answer(status, text.encode(), "")


def vector(*series):
    return answer(success("vector", [{"metric": metric, "value": [1000.5, value]} for metric, value in series]))


def test_the_documented_answer_is_read():
    found, rejected = readings(answer(DOCUMENTED), Query("up"))
    assert [(each.name, each.labels["job"], each.points[0].value) for each in found] == [
        ("up", "prometheus", 1.0), ("up", "node", 0.0),
    ]  # fmt: skip
    assert {each.points[0].ts_ms for each in found} == {1_435_781_451_781}
    assert not rejected


def test_a_signal_is_scaled_and_is_what_the_signal_is():
    query = Query("sum by (link) (ifHCOutOctets)", signal="link_egress_bits", scale=8.0)
    [reading], _ = readings(vector(({"link": "wan"}, "1e3")), query)
    assert (reading.name, reading.kind, reading.labels) == ("link_egress_bits", "counter", {"link": "wan"})
    assert reading.points[0].value == 8000.0


@pytest.mark.parametrize(
    ("name", "query", "kind"),
    [
        ("vllm:prompt_tokens_total", Query("x"), "counter"),
        ("vllm:num_requests_running", Query("x"), "untyped"),
        ("agent_tx_bytes", Query("x", kind="counter"), "counter"),
    ],
)
def test_the_kind_is_what_the_name_says_or_the_query(name, query, kind):
    [reading], _ = readings(vector(({"__name__": name}, "1")), query)
    assert reading.kind == kind


def test_an_expression_without_a_name_is_given_one():
    query = Query("sum(x)", name="vllm:num_requests_running")
    [reading], _ = readings(answer(success("scalar", [1000.5, "7"])), query)
    assert (reading.name, reading.points[0].value) == ("vllm:num_requests_running", 7.0)
    found, [rejected] = readings(vector(({}, "7")), Query("sum(x)"))
    assert not found
    assert "has no name" in rejected.reason


def test_the_parts_of_a_histogram_are_one():
    parts = [("_bucket", {"le": "1"}, "2"), ("_bucket", {"le": "+Inf"}, "5"), ("_sum", {}, "9"), ("_count", {}, "5")]
    series = [({"__name__": f"vllm:time_to_first_token_seconds{end}", **more}, value) for end, more, value in parts]
    [reading], _ = readings(vector(*series), Query('{__name__=~"vllm:time_to_first_token_seconds_.*"}'))
    assert reading.points[0].value == Histogram((1.0,), (2.0, 3.0), 9.0)


def test_what_has_no_value_is_absent_and_what_is_infinite_is_rejected():
    found, rejected = readings(vector(({"__name__": "a"}, "NaN"), ({"__name__": "b"}, "+Inf")), Query("x"))
    assert not found
    assert "infinite" in rejected[0].reason


def test_native_histograms_are_rejected_with_the_remedy():
    given = answer(success("vector", [{"metric": {"__name__": "x"}, "histogram": [1.0, {"count": "3"}]}]))
    found, [rejected] = readings(given, Query("x"))
    assert not found
    assert "ask for classic ones" in rejected.reason


def test_a_matrix_has_a_point_each_step():
    series = {"metric": {"__name__": "node_load1"}, "values": [[1.0, "1"], [2.0, "2"]]}
    [reading], _ = readings(answer(success("matrix", [series])), Query("x"))
    assert [(point.ts_ms, point.value) for point in reading.points] == [(1000, 1.0), (2000, 2.0)]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (answer({"status": "error", "error": "1:5: parse error"}, 400), "answers 400 Bad Request: 1:5: parse error"),
        (answer("no such page", 404), "answers 404 Not Found"),
        (answer("<html>"), "does not answer as Prometheus' query API does"),
        (answer(success("string", [1.0, "x"])), "answers a string"),
        (answer(success("vector", {"x": 1})), "does not answer as"),
        (answer("[" * 100_000), "does not answer as"),
    ],
)
def test_what_is_no_answer_is_said(given, said):
    with pytest.raises(Failed) as told:
        readings(given, Query("x"))
    assert said in str(told.value)


def test_times_that_are_none_are_rejected():
    given = (
        '{"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"x"},"value":[1e99,"1"]}]}}'
    )
    found, [rejected] = readings(answer(given), Query("x"))
    assert not found
    assert "no time" in rejected.reason


def test_it_is_asked_in_seconds():
    assert instant(Query("up"), 1500) == ("/api/v1/query", {"query": "up", "time": "1.500"})
    path, given = over(Query("up"), Window(1000, 61_000, 5000))
    assert path == "/api/v1/query_range"
    assert given == {"query": "up", "start": "1.000", "end": "61.000", "step": "5.000"}


def times(found):
    return [at for each in found for at in range(each.start_ms, each.end_ms + 1, each.step_ms)]


@pytest.mark.parametrize(("since", "until", "step", "longest"), [(0, 100, 7, 30), (5, 6, 1, 10), (0, 99, 50, 10)])
def test_windows_have_every_step_once_and_none_is_too_long(since, until, step, longest):
    found = list(windows(since, until, step, longest))
    assert times(found) == list(range(since, until, step))
    assert all(each.end_ms - each.start_ms <= longest for each in found)
