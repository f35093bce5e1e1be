"""POST compare/sensitivity/, heat-map/, uncertainty/, growth/: true of their schema, for anybody, errors by field."""

import json

import pytest
from django.test import Client

from tests.api.test_schema import mismatches
from tests.planner.documents import shipped

pytestmark = [pytest.mark.django_db, pytest.mark.once, pytest.mark.usefixtures("shipped")]

BODIES = {
    "sensitivity": {"loaded": True, "retuned": True, "ranges": [{"input": "n_d", "low": 0.5, "high": 3}]},
    "heat-map": {"points": 5, "x": {"input": "s_kv"}},
    "uncertainty": {"draws": 200, "uncertain_prices": False, "sigmas": {"user": 0.2}},
    "growth": {"retuned": True, "chips": [1, 8], "remote_only": True},
}


def address(name):
    return f"/api/v1/compare/{name}/"


def answered(name, status=200, **body):
    body = {"comparison": "case-study"} | body
    answer = Client().post(address(name), json.dumps(body), content_type="application/json")
    assert answer.status_code == status, answer.content
    return answer.json()


@pytest.fixture(scope="module")
def schema():
    served = Client().get("/api/v1/schema/", headers={"accept": "application/vnd.oai.openapi+json"})
    return json.loads(served.content)


@pytest.mark.parametrize("name", BODIES)
def test_answers_are_what_the_document_says(schema, name):
    described = schema["paths"][address(name)]["post"]["responses"]["200"]["content"]["application/json"]["schema"]
    for body in ({}, BODIES[name]):
        assert mismatches(schema, described, answered(name, **body)) == []


@pytest.mark.parametrize("name", BODIES)
def test_every_field_that_may_be_sent_is_described(schema, name):
    named = schema["paths"][address(name)]["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    assert set(BODIES[name]) <= set(schema["components"]["schemas"][named.rsplit("/", 1)[1]]["properties"])


def test_a_comparison_may_be_a_document_with_fields_set_and_other_prices():
    document = {"scenarios": [shipped(), "case-study-homogeneous"]}
    result = answered(
        "heat-map",
        comparison=document,
        set={"case-study-prfaas-pd": {"routing.threshold_tokens": 25_000}},
        prices=[{"name": "h200", "usd_per_gpu_hour": 3.0}, {"name": "h20", "usd_per_gpu_hour": 1.0}],
        baseline="case-study-homogeneous",
        points=3,
    )
    assert (result["first"], result["second"]) == ("case-study-prfaas-pd", "case-study-homogeneous")
    assert result["x"]["value"] == 3.0
    ties = {each["input"]: each for each in result["break_even"]}
    assert ties["threshold"]["value"] == 25_000


def test_deployments_of_equal_cost_are_looked_at_as_large_as_they_then_are():
    result = answered("sensitivity", scale="cost", scenario="case-study-prfaas-pd")
    known = {each["name"]: each["value"] for each in result["inputs"]}
    # 96 H20 at 1.05 USD an hour: at most so many instances of eight H200 at 2.10
    assert 8 * (2.10 * known["n_prfaas"] + 1.05 * (known["n_p"] + known["n_d"])) <= 96 * 1.05 * (1 + 1e-9)


@pytest.mark.parametrize(
    ("name", "body", "field"),
    [
        ("sensitivity", {"colour": "red"}, "colour"),
        ("sensitivity", {"share": "wide"}, "share"),
        ("sensitivity", {"comparison": "none"}, "comparison"),
        ("sensitivity", {"comparison": {"scenarios": ["case-study-naive"]}}, "scenarios"),
        ("sensitivity", {"set": {"case-study-naive": {"decode.step_s": -1}}}, "case-study-naive.decode.step_s"),
        ("heat-map", {"points": 1000}, "points"),
        ("heat-map", {"x": {"input": 5}}, "x.input"),
        ("heat-map", {"x": {"input": "s_kv"}, "y": {"input": "s_kv"}}, "y.input"),
        ("heat-map", {"x": {"input": "s_kv"}, "y": {"input": "s_kv", "scenario": "case-study-prfaas-pd"}}, "y.input"),
        ("uncertainty", {"draws": 10**9}, "draws"),
        ("uncertainty", {"draws": 2.5}, "draws"),
        ("growth", {"traffic": "much"}, "traffic"),
        ("growth", {"chips": [-1]}, "chips.0"),
    ],
)
def test_refusals_name_the_field(name, body, field):
    assert field in [error["field"] for error in answered(name, 400, **body)["errors"]]


def test_an_axis_that_is_not_named_is_another_one_than_the_one_that_is():
    result = answered("heat-map", points=3, x={"input": "prompt_tokens"})
    assert (result["x"]["input"], result["y"]["input"] != "prompt_tokens") == ("prompt_tokens", True)
    count = {"input": "n_p", "scenario": "case-study-prfaas-pd"}
    result = answered("heat-map", points=3, x=count, y=count | {"scenario": "case-study-homogeneous"})
    assert [result[side]["moves_in"] for side in "xy"] == [["case-study-prfaas-pd"], ["case-study-homogeneous"]]


@pytest.mark.parametrize("name", BODIES)
def test_what_is_no_question_is_refused(name):
    for body in ([], 5, None, "case-study", {}):
        answer = Client().post(address(name), json.dumps(body), content_type="application/json")
        assert answer.status_code == 400
        assert answer.json()["errors"]
