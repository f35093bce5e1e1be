"""POST simulations/side-by-side/: a job in parts, one for each replication of each simulation."""

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client

from planner import tasks
from planner.models import Job
from tests.planner.documents import BASE, shipped

pytestmark = pytest.mark.django_db

ADDRESS = "/api/v1/simulations/side-by-side/"
RUN = {"scenario": BASE, "load": 0.6, "requests": 1000, "replications": 2}
OTHER = RUN | {"scenario": "case-study-naive"}


@pytest.fixture
def planner():
    client = Client()
    client.force_login(User.objects.create_user("planner"))
    return client


def ask(client, *runs):
    return client.post(ADDRESS, json.dumps({"runs": runs}), content_type="application/json")


def test_simulations_are_one_job_whose_parts_are_replications(planner):
    answer = ask(planner, RUN, OTHER)
    assert answer.status_code == 201, answer.content
    job = Job.objects.get()
    assert (job.kind, job.scenario) == ("side_by_side", f"{BASE}, case-study-naive")
    assert answer["Location"].endswith(f"/api/v1/jobs/{job.pk}/")
    parts = tasks.IN_PARTS[job.kind].parts(job.input)
    assert [(part["simulation"]["scenario"]["name"], part["index"]) for part in parts] == [
        (BASE, 0), ("case-study-naive", 0), (BASE, 1), ("case-study-naive", 1),
    ]  # fmt: skip


def test_a_scenario_may_be_sent_as_a_document(planner):
    answer = ask(planner, RUN, RUN | {"scenario": shipped() | {"name": "mine"}})
    assert (answer.status_code, answer.json()["scenario"]) == (201, f"{BASE}, mine")


@pytest.mark.parametrize(
    ("runs", "field"),
    [
        ([], "runs"),
        ([RUN] * 41, "runs"),
        ([RUN, RUN | {"scenario": "no-such"}], "runs.1.scenario"),
        ([RUN, RUN | {"load": -1}], "runs.1.load"),
        ([RUN | {"scenario": 5}], "runs.0.scenario"),
        (["all of them"], "runs.0"),
    ],
)
def test_a_mistake_is_told_by_its_field_and_nothing_is_stored(planner, runs, field):
    answer = ask(planner, *runs)
    assert answer.status_code == 400
    assert field in [error["field"] for error in answer.json()["errors"]]
    assert not Job.objects.exists()


def test_a_body_that_is_no_table_is_refused(planner):
    assert planner.post(ADDRESS, "[]", content_type="application/json").status_code == 400


def test_a_stranger_starts_nothing(client):
    assert ask(client, RUN).status_code in (401, 403)


def test_the_schema_has_runs_as_simulations(planner):
    found = planner.get("/api/v1/schema/", headers={"accept": "application/vnd.oai.openapi+json"}).json()
    schemas = found["components"]["schemas"]
    sent = found["paths"][ADDRESS]["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    runs = schemas[sent.rsplit("/", 1)[1]]["properties"]["runs"]
    assert runs["type"] == "array"
    assert "scenario" in schemas[runs["items"]["$ref"].rsplit("/", 1)[1]]["properties"]
