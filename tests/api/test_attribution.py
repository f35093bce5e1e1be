"""POST compare/attribution/: a gain divided among its causes, true of its schema, and refusing what cannot be asked."""

import json

import pytest
from django.test import Client

from planner.scenario import parse
from tests.api.test_schema import mismatches
from tests.planner.documents import shipped

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("shipped")]

ADDRESS = "/api/v1/compare/attribution/"
ENDS = ["case-study-homogeneous", "case-study-prfaas-pd"]


def asked(status=200, **body):
    body = {"comparison": "case-study", "candidate": "case-study-prfaas-pd"} | body
    answer = Client().post(ADDRESS, json.dumps(body), content_type="application/json")
    assert answer.status_code == status, answer.content
    return answer.json()


@pytest.mark.parametrize("metric", ["lambda_max_rps", "usd_per_million_tokens", "ttft_p90_s"])
def test_the_answer_is_what_the_document_says(metric):
    served = Client().get("/api/v1/schema/", headers={"accept": "application/vnd.oai.openapi+json"})
    schema = json.loads(served.content)
    described = schema["paths"][ADDRESS]["post"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert mismatches(schema, described, asked(metric=metric)) == []


def test_nobody_needs_to_sign_in_and_every_step_is_a_scenario():
    result = asked(baseline="case-study-homogeneous", tuned=True)
    assert result["tuned"] is True
    names = [parse(each["scenario_document"]).name for each in result["steps"]]
    assert names[0] == "case-study-prfaas-pd--tuned-chips"


def test_a_comparison_may_be_a_document_with_fields_set():
    whole = asked(comparison={"scenarios": ENDS})
    narrow = asked(
        comparison={"scenarios": [ENDS[0], shipped()]}, set={"case-study-prfaas-pd": {"links.wan.bandwidth_bps": 5e9}}
    )
    shares = {each["factor"]: each["share"] for each in narrow["factors"]}
    assert shares["link"] < 0
    assert narrow["total"] < whole["total"]


def test_deployments_of_equal_cost_differ_in_their_number_as_well():
    result = asked(scale="cost")
    assert "fleet" in [each["factor"] for each in result["factors"]]
    assert any("at equal cost" in note for note in result["notes"])


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"comparison": "none"}, "comparison"),
        ({"comparison": 3}, "comparison"),
        ({"candidate": "none"}, "candidate"),
        ({"candidate": None}, "candidate"),
        ({"candidate": {"name": "x"}}, "candidate"),
        ({"baseline": "case-study-prfaas-pd"}, "candidate"),
        ({"metric": "beauty"}, "metric"),
        ({"metric": []}, "metric"),
        ({"order": "chips"}, "order"),
        ({"order": ["chips", {}, None]}, "order"),
        ({"tuned": "yes"}, "tuned"),
        ({"colour": "red"}, "colour"),
        ({"set": {"case-study-prfaas-pd": {"decode.step_s": 0.03}}}, "candidate"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_field(changes, field):
    assert [each["field"] for each in asked(400, **changes)["errors"]] == [field]
