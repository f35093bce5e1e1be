"""POST simulations/: a job in parts, one for each replication."""

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client

from planner import tasks
from planner.documents.fields import fields_by_place
from planner.models import Job
from planner.simulating.schema import Run
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


def test_every_part_of_a_simulation_is_taken_and_frozen(planner):
    parts = {
        "failover": False,
        "prefill": {"choice": "shortest_queue"},
        "decode": {"iterations": True, "base_s": 0.02},
        "tcp": {"connections": 4},
        "paths": [{"share": 0.5, "tcp": {"loss": 0.001}}, {"share": 0.5}],
        "weather": {"windows": [{"begin_s": 10, "end_s": 20, "bps": 1e9}]},
        "faults": [{"place": "pd_d", "begin_s": 5, "end_s": 6}],
        "spares": [{"place": "pd_d", "instances": 1}],
        "roles": {},
        "prompts": {"source": "sessions", "kind": "agents"},
        "caches": {"pd_bytes": 1e12, "prfaas_bytes": 0},
    }
    assert ask(planner, **parts).status_code == 201
    frozen = Job.objects.get().input["simulation"]
    assert {field: frozen[field] for field in parts} == parts


TAGS = ("constant", "diurnal", "recorded", "sessions", "trace")
"""Kinds of a table, which stand under one name over REST."""
DISTRIBUTIONS = ("first", "added", "output")
"""Fields that may be a distribution, which has its own schema."""


def parts_of(document):
    for place, fields in fields_by_place(document).items():
        if not set(DISTRIBUTIONS) & set(place.split(".")):
            yield place, fields


def untagged(place):
    return [name for name in place.split(".") if name and name not in TAGS]


def described(schema, part):
    """The fields of a part of the OpenAPI document, in it and below it, as the names that lead there."""
    part = part.get("allOf", [part])[0]
    if "$ref" in part:
        part = schema["components"]["schemas"][part["$ref"].rsplit("/", 1)[1]]
    if "items" in part:
        return described(schema, part["items"])
    found = set(part.get("properties", {}))
    return found | {f"{name}.{below}" for name in found for below in described(schema, part["properties"][name])}


def test_the_schema_has_every_field_of_the_document(planner):
    schema = planner.get("/api/v1/schema/", headers={"accept": "application/vnd.oai.openapi+json"}).json()
    sent = schema["paths"][ADDRESS]["post"]["requestBody"]["content"]["application/json"]["schema"]
    known = {".".join([*untagged(place), field]) for place, fields in parts_of(Run) for field in fields}
    assert described(schema, sent) == known


def test_a_study_describes_the_same_simulation(planner):
    schema = planner.get("/api/v1/schema/", headers={"accept": "application/vnd.oai.openapi+json"}).json()
    bodies = [
        schema["paths"][f"/api/v1/{kind}/"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        for kind in ("simulations", "studies")
    ]
    alone, of_study = (described(schema, body) for body in bodies)
    assert {name.removeprefix("simulation.") for name in of_study if name.startswith("simulation.")} == alone


def test_a_stranger_starts_nothing(client):
    assert ask(client).status_code in (401, 403)
