"""Watches over REST: described, refused field by field, changed by one at a time; values that are entered by hand."""

import json
import time

import pytest
from django.contrib.auth.models import User
from django.test import Client

from monitoring.models import Entered, Watch

pytestmark = pytest.mark.django_db
WATCHES = "/api/v1/live/watches/"
EAST = {"name": "east", "title": "East", "scenario": "case-study-prfaas-pd", "clusters": ["pd-east"], "links": ["wan"]}
USUAL = {"title": "", "scenario": "", "clusters": [], "links": [], "headroom": 0.1, "objective": "throughput"}


@pytest.fixture
def planner(client):
    client.force_login(User.objects.create_user("ada"))
    return client


def sent(client, method, address, body, **headers):
    return getattr(client, method)(address, json.dumps(body), content_type="application/json", headers=headers)


def refused(answer):
    assert answer.status_code == 400, answer.content
    return {each["field"]: each["message"] for each in answer.json()["errors"]}


def test_a_watch_is_made_read_and_deleted(planner):
    made = sent(planner, "post", WATCHES, EAST)
    assert made.status_code == 201, made.content
    assert made.headers["Location"].endswith("/api/v1/live/watches/east/")
    (read,) = Client().get(WATCHES).json()
    assert {field: read[field] for field in USUAL | EAST} == USUAL | EAST
    assert read["entered"] == {}
    assert planner.delete(f"{WATCHES}east/").status_code == 204
    assert not Watch.objects.exists()


def test_replacing_forgets_what_is_not_said_and_changing_keeps_it(planner):
    assert sent(planner, "put", f"{WATCHES}east/", EAST).status_code == 201
    changed = sent(planner, "patch", f"{WATCHES}east/", {"objective": "ttft"}).json()
    assert (changed["title"], changed["objective"]) == ("East", "ttft")
    replaced = sent(planner, "put", f"{WATCHES}east/", {"headroom": 0.2}).json()
    assert {field: replaced[field] for field in USUAL} == USUAL | {"headroom": 0.2}


def test_of_two_who_change_what_they_have_read_the_second_is_told(planner):
    sent(planner, "post", WATCHES, EAST)
    etag = planner.get(f"{WATCHES}east/").headers["ETag"]
    first = sent(planner, "patch", f"{WATCHES}east/", {"title": "One"}, if_match=etag)
    assert first.status_code == 200
    for method, body in (("patch", {"title": "Two"}), ("put", {"title": "Two"}), ("delete", {})):
        answer = sent(planner, method, f"{WATCHES}east/", body, if_match=etag)
        assert answer.status_code == 412
        assert "read it again" in answer.json()["errors"][0]["message"]
    assert Watch.objects.get().title == "One"
    assert sent(planner, "delete", f"{WATCHES}east/", {}, if_match=first.headers["ETag"]).status_code == 204
    assert sent(planner, "put", f"{WATCHES}east/", {}, if_match=first.headers["ETag"]).status_code == 412


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("name", "with space", "name"), ("name", 7, "name"), ("name", "", "name"), ("title", "x" * 201, "title"),
        ("title", "a\0b", "title"), ("scenario", None, "scenario"),
        ("scenario", "nobody stored it", "scenario"), ("clusters", "east", "clusters"),
        ("links", ["wan", ""], "links.1"), ("links", ["wan", "wan"], "links.1"), ("headroom", 0.95, "headroom"),
        ("headroom", -0.1, "headroom"), ("headroom", True, "headroom"), ("headroom", "0.1", "headroom"),
        ("objective", "cost", "objective"), ("colour", "red", "colour"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_by_its_field(planner, field, value, named):
    assert named in refused(sent(planner, "post", WATCHES, EAST | {field: value}))
    sent(planner, "put", f"{WATCHES}west/", {})
    assert named in refused(sent(planner, "patch", f"{WATCHES}west/", {field: value}))
    assert [each.name for each in Watch.objects.all()] == ["west"]


def test_a_name_is_that_of_one_watch_alone(planner):
    for name in ("east", "west"):
        sent(planner, "put", f"{WATCHES}{name}/", {})
    assert "another" in refused(sent(planner, "post", WATCHES, EAST))["name"]
    assert "another" in refused(sent(planner, "patch", f"{WATCHES}west/", {"name": "east"}))["name"]
    assert "address" in refused(sent(planner, "put", f"{WATCHES}west/", {"name": "east"}))["name"]


@pytest.mark.parametrize("body", [[], "east", 7, None])
def test_a_body_that_is_no_object_is_refused(planner, body):
    assert refused(sent(planner, "post", WATCHES, body))


def test_only_who_is_signed_in_changes_anything(planner):
    sent(planner, "post", WATCHES, EAST)
    for method, address in (
        ("post", WATCHES), ("put", f"{WATCHES}east/"), ("patch", f"{WATCHES}east/"), ("delete", f"{WATCHES}east/"),
        ("post", f"{WATCHES}east/entered/"),
    ):  # fmt: skip
        assert sent(Client(), method, address, {}).status_code in (401, 403)
    assert Client().get(f"{WATCHES}east/").status_code == 200


# --- entered by hand ---------------------------------------------------------------------------------------------


@pytest.fixture
def entering(planner):
    sent(planner, "post", WATCHES, EAST)
    return lambda **body: sent(planner, "post", f"{WATCHES}east/entered/", body)


def test_of_what_is_entered_the_newest_counts_with_who_and_when(planner, entering):
    now_ms = round(time.time() * 1000)
    assert entering(what="threshold_tokens", value=8192, at_ms=now_ms - 1000).status_code == 201
    assert entering(what="threshold_tokens", value=4096, at_ms=now_ms - 2000).status_code == 201
    assert entering(what="instances.decode", value=5).status_code == 201
    entered = planner.get(f"{WATCHES}east/").json()["entered"]
    assert entered["threshold_tokens"] == {"value": 8192.0, "at_ms": now_ms - 1000, "by": "ada"}
    assert entered["instances.decode"]["value"] == 5.0
    assert entered["instances.decode"]["at_ms"] >= now_ms
    assert set(entered) == {"threshold_tokens", "instances.decode"}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "what"), ({"what": "egress", "value": 1}, "what"), ({"what": ["x"], "value": 1}, "what"),
        ({"what": "instances.router", "value": 1}, "what"), ({"what": "instances.decode", "value": 1.5}, "value"),
        ({"what": "threshold_tokens", "value": -1}, "value"), ({"what": "threshold_tokens", "value": "8K"}, "value"),
        ({"what": "threshold_tokens"}, "value"), ({"what": "threshold_tokens", "value": 1, "at_ms": "now"}, "at_ms"),
        ({"what": "threshold_tokens", "value": 1, "at_ms": 10**14}, "at_ms"),
        ({"what": "threshold_tokens", "value": 1, "by": "bob"}, "by"),
    ],
)  # fmt: skip
def test_what_cannot_be_in_force_is_refused_by_its_field(entering, body, field):
    assert field in refused(entering(**body))
    assert not Entered.objects.exists()


def test_what_was_entered_is_withdrawn_once_and_stays_on_record(planner, entering):
    entering(what="threshold_tokens", value=8192)
    entering(what="instances.decode", value=5)
    assert planner.delete(f"{WATCHES}east/entered/threshold_tokens/").status_code == 204
    assert set(planner.get(f"{WATCHES}east/").json()["entered"]) == {"instances.decode"}
    again = planner.delete(f"{WATCHES}east/entered/threshold_tokens/")
    assert again.status_code == 404
    assert "entered is: instances.decode" in again.json()["errors"][0]["message"]
    assert Client().delete(f"{WATCHES}east/entered/instances.decode/").status_code == 403
    kept = Entered.objects.filter(what="threshold_tokens").order_by("pk")
    assert list(kept.values_list("value", "by")) == [(8192.0, "ada"), (None, "ada")]
    assert entering(what="threshold_tokens", value=4096).status_code == 201
    assert planner.get(f"{WATCHES}east/").json()["entered"]["threshold_tokens"]["value"] == 4096.0


def test_values_of_a_watch_that_is_not_there_are_not_taken(planner):
    assert sent(planner, "post", f"{WATCHES}none/entered/", {"what": "threshold_tokens", "value": 1}).status_code == 404
