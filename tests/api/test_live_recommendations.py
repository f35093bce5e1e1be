"""What is recommended, now and before, and router configuration, over REST."""

import time

import pytest
import yaml

from monitoring.api.recommendations import NowSerializer
from monitoring.api.shapes import shape
from monitoring.live.messages import AdviceNow
from monitoring.models import Recommendation
from tests.monitoring.advised import CASE, NOW_MS, snapshot, stored, watch, watch_now

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/live/watches/case/"


@pytest.fixture
def row():
    return watch()


def recommended(ts_ms, **fields):
    now = watch_now(ts_ms=ts_ms)
    now.advice = AdviceNow(ts_ms, "throughput", "link_busy", "raise t", threshold_tokens=21_340.0, **fields)
    stored(snapshot(now, ts_ms=ts_ms))


def written(row, at_ms, reason="hold"):
    return Recommendation.objects.create(
        watch=row.name, at_ms=at_ms, reason=reason, sentence="keep t", is_valid=True, current={"threshold_tokens": 1.0},
        recommended={"threshold_tokens": 2.0}, inputs={"scenario": CASE}, carried={"calm": 2.0},
    )  # fmt: skip


def now_ms():
    return round(time.time() * 1000)


def test_what_is_recommended_now_is_told_with_its_time_and_validity(client, row):
    ts_ms = now_ms()
    recommended(ts_ms, instances={"prefill": 3})
    answer = client.get(ADDRESS + "recommendation/").json()
    assert (answer["watch"], answer["at_ms"], answer["is_valid"], answer["problems"]) == ("case", ts_ms, True, [])
    assert (answer["threshold_tokens"], answer["current_threshold_tokens"]) == (21_340.0, 19_400.0)
    assert answer["instances"] == {"prefill": 3}
    assert answer["advice"]["reason"] == "link_busy"
    described = shape(AdviceNow)["properties"]
    assert (set(answer), set(answer["advice"])) == (set(NowSerializer().fields), set(described))
    assert (described["confidence"]["type"], described["confidence"]["nullable"]) == ("number", True)
    assert described["objectives"]["additionalProperties"]["properties"]["ttft_mean_s"]["type"] == "number"


def test_what_is_not_valid_tells_no_value_but_why(client, row):
    recommended(now_ms(), problems=["12 lengths were seen, of 200 needed"])
    answer = client.get(ADDRESS + "recommendation/").json()
    assert (answer["is_valid"], answer["threshold_tokens"], answer["instances"]) == (False, None, {})
    assert answer["problems"] == ["12 lengths were seen, of 200 needed"]


@pytest.mark.parametrize(("age", "origin", "told"), [("stale", "telemetry", None), ("stale", "entered", 19_400.0)])
def test_a_t_that_has_grown_stale_is_not_told_to_be_in_force(client, row, age, origin, told):
    ts_ms = now_ms()
    now = watch_now(ts_ms=ts_ms)
    now.threshold_tokens.age, now.threshold_tokens.origin = age, origin
    stored(snapshot(now, ts_ms=ts_ms))
    assert client.get(ADDRESS + "recommendation/").json()["current_threshold_tokens"] == told


@pytest.mark.parametrize(("age_s", "said"), [(None, "no snapshot yet"), (60, "no snapshot has come for 6")])
def test_while_nobody_recommends_nothing_is_valid(client, row, age_s, said):
    if age_s is not None:
        recommended(now_ms() - 1000 * age_s)
    answer = client.get(ADDRESS + "recommendation/").json()
    assert (answer["is_valid"], answer["threshold_tokens"]) == (False, None)
    assert said in answer["problems"][0]


def test_a_watch_without_a_scenario_says_so(client, row):
    ts_ms = now_ms()
    stored(snapshot(watch_now(ts_ms=ts_ms, scenario=""), ts_ms=ts_ms))
    assert "names no scenario" in client.get(ADDRESS + "recommendation/").json()["problems"][0]


@pytest.mark.parametrize("path", ["recommendation/", "recommendations/", "router/llm-d/"])
def test_of_a_watch_that_is_not_there_nothing_is_told(client, path):
    assert client.get(ADDRESS + path).status_code == 404


def test_of_the_watch_over_everything_it_is_said_that_it_has_no_scenario(client):
    ts_ms = now_ms()
    stored(snapshot(watch_now("all", ts_ms=ts_ms, scenario=""), ts_ms=ts_ms))
    everything = "/api/v1/live/watches/all/"
    assert "names no scenario" in client.get(everything + "recommendation/").json()["problems"][0]
    assert client.get(everything + "recommendations/").json()["results"] == []
    for path in ("router/llm-d/", "refit/"):
        answer = client.get(everything + path)
        assert (answer.status_code, "names no scenario" in answer.json()["errors"][0]["message"]) == (409, True)
    watch()  # now there is one, and that is no more
    assert client.get(everything + "recommendation/").status_code == 404


def test_the_audit_log_is_paged_newest_first(client, row):
    for at in range(3):
        written(row, NOW_MS + at)
    answer = client.get(ADDRESS + "recommendations/", {"page_size": 2}).json()
    assert (answer["count"], [each["at_ms"] - NOW_MS for each in answer["results"]]) == (3, [2, 1])
    assert [each["at_ms"] - NOW_MS for each in client.get(answer["next"]).json()["results"]] == [0]
    first = answer["results"][0]
    assert (first["watch"], first["inputs"], first["current"]) == (
        "case",
        {"scenario": CASE},
        {"threshold_tokens": 1.0},
    )
    assert "carried" not in first


def test_the_audit_log_outlives_its_watch(client, row):
    written(row, NOW_MS)
    row.delete()
    assert [each["watch"] for each in client.get(ADDRESS + "recommendations/").json()["results"]] == ["case"]
    assert client.get(ADDRESS + "recommendation/").status_code == 404


def test_the_audit_log_is_narrowed_by_time_and_reason(client, row):
    for at, reason in enumerate(["hold", "link_busy", "hold"]):
        written(row, NOW_MS + at, reason)

    def at(**query):
        found = client.get(ADDRESS + "recommendations/", query).json()["results"]
        return [each["at_ms"] - NOW_MS for each in found]

    assert at(start=NOW_MS + 1) == [2, 1]
    assert at(end=NOW_MS + 2) == [1, 0]
    assert at(start=NOW_MS + 1, end=NOW_MS + 2) == [1]
    assert at(reason="hold") == [2, 0]


def test_the_log_costs_as_many_queries_whatever_it_holds(client, row, django_assert_num_queries):
    for at in range(20):
        written(row, NOW_MS + at)
    with django_assert_num_queries(3):
        client.get(ADDRESS + "recommendations/")


@pytest.mark.parametrize(
    ("query", "field"),
    [({"start": "then"}, "start"), ({"page_size": "many"}, "page_size"), ({"reason": "bored"}, "reason")],
)
def test_what_cannot_be_asked_is_refused_by_field(client, row, query, field):
    answer = client.get(ADDRESS + "recommendations/", query)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == field


@pytest.mark.parametrize("accept", ["*/*", "application/yaml", "text/html"])
def test_a_routers_configuration_is_told_whatever_is_accepted(client, row, accept):
    recommended(now_ms())
    answer = client.get(ADDRESS + "router/llm-d/", headers={"accept": accept})
    assert answer.headers["Content-Type"] == "application/yaml; charset=utf-8"
    assert yaml.safe_load(answer.content)["plugins"][0]["parameters"] == {"nonCachedTokens": 21_341}


def test_dynamos_flags_are_told(client, row):
    recommended(now_ms())
    answer = client.get(ADDRESS + "router/dynamo/")
    assert '"eff_isl_threshold":21341' in answer.content.decode()


@pytest.mark.parametrize(
    ("fields", "said"), [({"problems": ["too few lengths"]}, "too few lengths"), (None, "no snapshot yet")]
)
def test_while_nothing_is_recommended_a_router_is_told_nothing(client, row, fields, said):
    if fields is not None:
        recommended(now_ms(), **fields)
    answer = client.get(ADDRESS + "router/llm-d/")
    assert answer.status_code == 409
    assert said in answer.json()["errors"][0]["message"]


def test_a_router_that_knows_no_threshold_is_not_there(client, row):
    answer = client.get(ADDRESS + "router/sglang/")
    assert answer.status_code == 404
    assert "known: llm-d, dynamo" in answer.json()["errors"][0]["message"]
