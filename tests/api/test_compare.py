"""Comparisons over REST: stored like any entry, computed at once, simulated by a job."""

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client

from planner import scenario, tasks
from planner.models import Job

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("shipped")]
PRFAAS, HOMOGENEOUS, NAIVE = scenario.SHIPPED
H200 = [{"name": "h200", "usd_per_gpu_hour": 3}]


@pytest.fixture
def planner():
    client = Client()
    client.force_login(User.objects.create_user("planner"))
    return client


def post(client, address, **body):
    return client.post(f"/api/v1/{address}", json.dumps(body), content_type="application/json")


def rates(answer):
    result = answer.json()
    row = next(row for row in result["metrics"] if row["key"] == "lambda_max_rps")
    return dict(zip([each["name"] for each in result["scenarios"]], [v["value"] for v in row["values"]], strict=True))


def test_anybody_compares_what_is_stored():
    answer = post(Client(), "compare/", comparison="case-study", form="paper")
    assert answer.status_code == 200, answer.content
    # Table 6, within the rounding of the paper's profile
    assert rates(answer) == pytest.approx({PRFAAS: 3.24, HOMOGENEOUS: 2.11, NAIVE: 2.45}, rel=0.02)
    assert answer.json()["baseline"] == HOMOGENEOUS


def test_scenarios_are_put_together_by_name():
    answer = post(Client(), "compare/", comparison={"scenarios": [NAIVE, PRFAAS]})
    assert list(rates(answer)) == [NAIVE, PRFAAS]


def test_a_change_is_of_this_answer_alone():
    changes = {PRFAAS: {"routing.threshold_tokens": 60000}}
    before, changed, after = (
        post(Client(), "compare/", comparison="case-study", **more) for more in ({}, {"set": changes}, {})
    )
    assert rates(changed)[PRFAAS] < rates(before)[PRFAAS]
    assert rates(after) == rates(before)


def test_a_price_takes_the_place_of_an_offer_of_the_same_chip():
    offered = {"scenarios": [PRFAAS, HOMOGENEOUS], "prices": [{"offer": "h200-nebius-2026-10-24"}]}
    answer = post(Client(), "compare/", comparison=offered, prices=H200)
    assert answer.status_code == 200, answer.content
    paid = next(row for row in answer.json()["metrics"] if row["key"] == "prfaas_usd_per_h")
    assert paid["values"][0]["value"] == 4 * 8 * 3


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "comparison"),
        ({"comparison": "nobody"}, "comparison"),
        ({"comparison": {"scenarios": [PRFAAS]}}, "scenarios"),
        ({"comparison": "case-study", "scale": "height"}, "scale"),
        ({"comparison": "case-study", "colour": "red"}, "colour"),
        ({"comparison": "case-study", "set": {PRFAAS: {"routing.nothing": 1}}}, f"{PRFAAS}.routing.nothing"),
        ({"comparison": "case-study", "prices": [{"name": "h20", "usd_per_gpu_hour": "much"}]},
         "prices.h20.usd_per_gpu_hour"),
        ({"comparison": "case-study", "power": {"usd_per_kwh": -1}}, "power.usd_per_kwh"),
        ({"comparison": {"scenarios": [PRFAAS, NAIVE], "prices": "low"}, "prices": H200}, "prices"),
        ({"comparison": {"scenarios": [PRFAAS, NAIVE], "prices": [7]}, "prices": H200}, "prices.1"),
        ({"comparison": {"scenarios": [PRFAAS, NAIVE], "prices": [{"offer": "none"}]}, "prices": H200},
         "prices.1.offer"),
        ({"comparison": {"scenarios": [PRFAAS, NAIVE], "provenance": ["mine"]}, "prices": H200}, "provenance"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused_by_field(body, field):
    answer = post(Client(), "compare/", **body)
    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_a_comparison_is_stored_changed_and_read_like_any_entry(planner):
    answer = post(planner, "comparisons/", name="mine", scenarios=[NAIVE, PRFAAS])
    assert answer.status_code == 201, answer.content
    kept = planner.get("/api/v1/comparisons/mine/").json()["document"]
    assert [each["name"] for each in kept["scenarios"]] == [NAIVE, PRFAAS]
    assert kept["baseline"] == NAIVE
    changed = planner.put(
        "/api/v1/comparisons/mine/",
        json.dumps({**kept, "baseline": PRFAAS}),
        content_type="application/json",
        headers={"If-Match": answer["ETag"]},
    )
    assert changed.json()["document"]["baseline"] == PRFAAS
    assert changed.json()["revision"] == 2
    late = planner.put(
        "/api/v1/comparisons/mine/",
        json.dumps(kept),
        content_type="application/json",
        headers={"If-Match": answer["ETag"]},
    )
    assert late.status_code == 409


def test_what_is_no_comparison_is_not_stored(planner):
    answer = post(planner, "comparisons/", name="mine", scenarios=[NAIVE, "nobody"])
    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == ["scenarios.1"]
    assert planner.get("/api/v1/comparisons/mine/").status_code == 404


def test_its_deployments_are_simulated_by_one_job(planner):
    answer = post(planner, "compare/simulation/", comparison="case-study", load=0.5, requests=1000, replications=2)
    assert answer.status_code == 201, answer.content
    job = Job.objects.get()
    assert job.kind == "side_by_side"
    parts = tasks.IN_PARTS[job.kind].parts(job.input)
    assert {part["simulation"]["scenario"]["name"] for part in parts} == {PRFAAS, HOMOGENEOUS, NAIVE}
    assert len(parts) == 6


@pytest.mark.parametrize(
    ("settings", "field"),
    [({"load": 0.5, "rate_rps": 1.0}, "rate_rps"), ({"load": 0}, "runs.0.load"), ({"policy": "x"}, "policy")],
)
def test_a_simulation_that_cannot_be_is_refused(planner, settings, field):
    answer = post(planner, "compare/simulation/", comparison="case-study", **settings)
    assert answer.status_code == 400
    assert field in [error["field"] for error in answer.json()["errors"]]
    assert not Job.objects.exists()


def test_nobody_simulates_without_signing_in():
    assert post(Client(), "compare/simulation/", comparison="case-study").status_code == 403
    assert post(Client(), "comparisons/", name="mine", scenarios=[NAIVE, PRFAAS]).status_code == 403
