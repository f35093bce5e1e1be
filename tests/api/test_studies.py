"""POST studies/: a job in parts, one for each replication of each variant."""

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client

from planner import tasks
from planner.models import Job
from tests.planner.documents import BASE, shipped

pytestmark = pytest.mark.django_db

ADDRESS = "/api/v1/studies/"
SIMULATION = {"scenario": BASE, "load": 0.6, "requests": 1000, "replications": 2}


@pytest.fixture
def planner():
    client = Client()
    client.force_login(User.objects.create_user("planner"))
    return client


def ask(client, **changes):
    body = {"kind": "sweep", "simulation": SIMULATION, "vary": "load", "values": [0.5, 0.7]} | changes
    return client.post(ADDRESS, json.dumps(body), content_type="application/json")


def test_a_study_is_a_job_whose_parts_are_replications(planner):
    answer = ask(planner)
    assert answer.status_code == 201, answer.content
    job = Job.objects.get()
    assert (job.kind, job.scenario) == ("study", BASE)
    assert answer["Location"].endswith(f"/api/v1/jobs/{job.pk}/")
    assert answer.json()["input"]["study"]["values"] == [0.5, 0.7]
    parts = tasks.IN_PARTS[job.kind].parts(job.input)
    assert [(part["simulation"]["load"], part["index"]) for part in parts] == [(0.5, 0), (0.7, 0), (0.5, 1), (0.7, 1)]


def test_its_input_is_frozen_with_the_values_that_suited(planner):
    found = ask(planner, kind="ablation", vary=None, values=None).json()["input"]["study"]
    assert found["features"] == ["pipelining"]
    assert found["simulation"]["scenario"]["model"]["s_kv"]


def test_a_scenario_may_be_sent_as_a_document(planner):
    answer = ask(planner, simulation=SIMULATION | {"scenario": shipped() | {"name": "mine"}})
    assert (answer.status_code, answer.json()["scenario"]) == (201, "mine")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"simulation": SIMULATION | {"scenario": "no-such"}}, "simulation.scenario"),
        ({"simulation": SIMULATION | {"load": -1}}, "simulation.load"),
        ({"simulation": "none"}, "simulation"),
        ({"vary": "no.such"}, "vary"),
        ({"values": [0.5, -1]}, "values"),
        ({"kind": "ablation", "vary": None, "values": None, "features": ["magic"]}, "features"),
    ],
)
def test_a_mistake_is_told_by_its_field_and_nothing_is_stored(planner, changes, field):
    answer = ask(planner, **changes)
    assert answer.status_code == 400
    assert field in [error["field"] for error in answer.json()["errors"]]
    assert not Job.objects.exists()


def test_a_body_that_is_no_table_is_refused(planner):
    assert planner.post(ADDRESS, "[]", content_type="application/json").status_code == 400


def test_a_stranger_starts_nothing(client):
    assert ask(client).status_code in (401, 403)


def test_the_schema_has_studies_with_their_simulation(planner):
    found = planner.get("/api/v1/schema/", headers={"accept": "application/vnd.oai.openapi+json"}).json()
    sent = found["paths"]["/api/v1/studies/"]["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    body = found["components"]["schemas"][sent.rsplit("/", 1)[1]]
    assert {"kind", "simulation", "vary", "values", "range", "features"} == body["properties"].keys()
    assert {"kind", "simulation"} == set(body["required"])
