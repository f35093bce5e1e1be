"""POST procurement/: a question becomes a job whose result answers it; mistakes are told by field, nothing stored."""

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client

from planner import seeding, tasks
from planner.models import Job
from tests.planner.documents import BASE

pytestmark = pytest.mark.django_db

ADDRESS = "/api/v1/procurement/"
PRICES = [{"name": "h200", "usd_per_gpu_hour": 2.0}, {"name": "h20", "usd_per_gpu_hour": 1.0}]


@pytest.fixture
def buyer():
    client = Client()
    client.force_login(User.objects.create_user("buyer"))
    return client


def ask(client, **changes):
    body = {"problem": "equal_cost", "scenario": BASE, "prices": PRICES} | changes
    return client.post(ADDRESS, json.dumps(body), content_type="application/json")


def computed(job):
    """The result of a job, as its worker and the worker's child make it."""
    kind = tasks.KINDS[job.kind]
    problem = kind.problem(job.input)
    answer = kind.function(problem, lambda done, total, message: None)
    return json.loads(json.dumps(kind.result(job.input, problem, answer), allow_nan=False))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({}, lambda result: result["best"]["lambda_max_rps"] == pytest.approx(3.223, abs=6e-4)),
        ({"problem": "least_cost", "rate_rps": 5.0}, lambda result: result["best"]["lambda_max_rps"] >= 5),
        (
            {"problem": "break_even", "vary": {"parameter": "bandwidth_bps", "lowest": 1e9, "highest": 1e11}},
            lambda result: len(result["ties"]) == 1,
        ),
        ({"baseline": "case-study-homogeneous"}, lambda result: result["budget_usd_per_h"] == 96),
    ],
)
def test_a_question_is_a_job_that_answers_it(buyer, changes, says):
    answer = ask(buyer, **changes)
    assert answer.status_code == 201, answer.content
    job = Job.objects.get()
    assert answer["Location"].endswith(f"/api/v1/jobs/{job.pk}/")
    assert answer.json()["kind"] == job.kind == changes.get("problem", "equal_cost")
    assert says(computed(job))


@pytest.mark.once
def test_a_front_is_computed_in_parts(buyer, monkeypatch):
    few = {
        "prfaas": [{"profile": "internal-1t-hybrid-h200x8", "most": 2}],
        "pd": [{"profile": "internal-1t-hybrid-h20x8", "most": 4}],
        "rates": 2,
        "rate_rps": 1.0,
    }
    assert ask(buyer, problem="front", **few).status_code == 201
    job = Job.objects.get()
    in_parts = tasks.IN_PARTS[job.kind]
    parts = in_parts.parts(job.input)
    assert [part["rate_rps"] for part in parts] == [0.5, 1.0]
    results = []
    for part in parts:
        kind = tasks.KINDS[in_parts.part]
        posed = kind.problem(part)
        results.append(kind.result(part, posed, kind.function(posed, lambda *news: None)))
    merged = json.loads(json.dumps(in_parts.merge(job.input, results), allow_nan=False))
    assert {point["rate_rps"] for point in merged["points"]} == {0.5, 1.0}


def test_several_clusters_are_a_job_too(buyer):
    body = {
        "problem": "clusters",
        "prfaas": [{"name": "west", "hardware": "h200", "gpus_per_instance": 8, "instances": 4}],
        "links": [{"name": "a", "bandwidth_bps": 100e9}],
        "pd": [{"name": "one", "scenario": BASE, "share": 1.0, "routes": [{"prfaas": "west", "link": "a"}]}],
    }
    assert buyer.post(ADDRESS, json.dumps(body), content_type="application/json").status_code == 201
    assert computed(Job.objects.get())["lambda_max_rps"] == pytest.approx(3.139, abs=6e-4)
    body["pd"][0]["scenario"] = "no-such"
    refused = buyer.post(ADDRESS, json.dumps(body), content_type="application/json")
    assert refused.status_code == 400
    assert refused.json()["errors"][0]["field"] == "pd.one.scenario"


def test_stored_offers_price_a_question(buyer):
    seeding.seed()
    listed = buyer.get("/api/v1/prices/?hardware=h200&page_size=1").json()["results"][0]["name"]
    assert ask(buyer, prices=[{"name": "h200", "offer": listed}, PRICES[1]]).status_code == 201
    priced = computed(Job.objects.get())["prices"][0]
    assert priced["hardware"] == "h200"
    assert priced["source"].startswith(f"offer {listed} of ")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"prices": PRICES[:1]}, "prices"),
        ({"scenario": "no-such"}, "scenario"),
        ({"baseline": "no-such"}, "baseline"),
        ({"scenario": 7}, "scenario"),
        ({"problem": "least_cost"}, "rate_rps"),
        ({"links": [{"name": "wan", "bandwidth_bps": -1}]}, "links.wan.bandwidth_bps"),
        ({"prices": "cheap"}, "prices"),
        ({"provenance": []}, "provenance"),
        ({"prfaas": "h200"}, "prfaas"),
    ],
)
def test_a_mistake_is_told_by_its_field_and_nothing_is_stored(buyer, changes, field):
    answer = ask(buyer, **changes)
    assert answer.status_code == 400
    assert field in [error["field"] for error in answer.json()["errors"]]
    assert not Job.objects.exists()


@pytest.mark.parametrize("body", ["[]", "7", "null", '"x"', "{"])
def test_what_is_no_question_is_refused(buyer, body):
    assert buyer.post(ADDRESS, body, content_type="application/json").status_code == 400


def test_a_stranger_starts_no_job(client):
    assert ask(client).status_code in (401, 403)
    assert not Job.objects.exists()
