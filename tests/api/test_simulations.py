"""POST simulations/: a job in parts, one for each replication."""

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client

from planner import tasks
from planner.models import Job
from tests.planner.documents import BASE

pytestmark = pytest.mark.django_db

ADDRESS = "/api/v1/simulations/"


@pytest.fixture
def planner():
    client = Client()
    client.force_login(User.objects.create_user("planner"))
    return client


def ask(client, **changes):
    body = {"scenario": BASE, "load": 0.6, "requests": 2000, "replications": 2} | changes
    return client.post(ADDRESS, json.dumps(body), content_type="application/json")


def test_a_simulation_is_a_job_whose_parts_are_its_replications(planner):
    answer = ask(planner)
    assert answer.status_code == 201, answer.content
    job = Job.objects.get()
    assert answer["Location"].endswith(f"/api/v1/jobs/{job.pk}/")
    in_parts = tasks.IN_PARTS[job.kind]
    parts = in_parts.parts(job.input)
    assert [part["index"] for part in parts] == [0, 1]
    kind = tasks.KINDS[in_parts.part]
    results = []
    for part in parts:
        posed = kind.problem(part)
        answered = kind.result(part, posed, kind.function(posed, lambda *news: None))
        results.append(json.loads(json.dumps(answered, allow_nan=False)))
    found = json.loads(json.dumps(in_parts.merge(job.input, results), allow_nan=False))
    assert found["stable"]
    assert found["replications"] == 2


@pytest.mark.parametrize(
    ("changes", "field"),
    [({"scenario": "no-such"}, "scenario"), ({"load": -1}, "load"), ({"requests": "many"}, "requests")],
)
def test_a_mistake_is_told_by_its_field_and_nothing_is_stored(planner, changes, field):
    answer = ask(planner, **changes)
    assert answer.status_code == 400
    assert field in [error["field"] for error in answer.json()["errors"]]
    assert not Job.objects.exists()


def test_a_stranger_starts_nothing(client):
    assert ask(client).status_code in (401, 403)
