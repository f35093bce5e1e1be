"""Mappings that people change: checked, in the place of a shipped one, over REST and on their page, and taken back."""

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client

from monitoring import mapping, mappings
from monitoring.mapping import MappingError
from monitoring.mapping.engine import State, map_readings
from monitoring.models import OwnMapping
from monitoring.readings import Point, Reading

pytestmark = pytest.mark.django_db
OWN = """name: ours
version: 1
title: Our gateway
source: the gateway's own page
rules:
  - metric: gateway_out_octets
    signal: link_egress_bits
    scale: 8
    kind: counter
    rename: {port: link}
"""
NOW_MS = 1_790_000_000_000


@pytest.fixture(autouse=True)
def read_anew():
    mappings.refresh()
    yield
    OwnMapping.objects.all().delete()
    mappings.refresh()


@pytest.fixture
def planner():
    client = Client()
    client.force_login(User.objects.create_user("planner"))
    return client


def mapped(name="gateway_out_octets"):
    reading = Reading(name, {"port": "wan"}, "untyped", (Point(NOW_MS, 10.0),))
    return map_readings([reading], {}, mappings.compiled_for(()), State()).mapped


def test_what_is_stored_is_read_by_after_the_next_look():
    assert mapped() == []
    mappings.store("ours", OWN, "planner")
    mappings.refresh()
    (series,) = mapped()
    assert (series.signal, series.points[0].value, dict(series.labels)["link"]) == ("link_egress_bits", 80.0, "wan")


def test_a_change_counts_the_revisions_and_changes_what_is_read():
    mappings.store("ours", OWN, "planner")
    mappings.refresh()
    assert mapped()[0].points[0].value == 80.0
    assert mappings.store("ours", OWN.replace("scale: 8", "scale: 1"), "planner").revision == 2
    mappings.refresh()
    assert mapped()[0].points[0].value == 10.0


def test_one_in_the_place_of_a_shipped_one_counts_until_it_is_taken_back():
    shipped = mapping.shipped()["node-exporter"]
    mappings.store("node-exporter", OWN.replace("name: ours", "name: node-exporter"), "planner")
    assert mappings.known()["node-exporter"].title == "Our gateway"
    assert mappings.remove("node-exporter")
    assert mappings.known()["node-exporter"] == shipped
    assert not mappings.remove("node-exporter")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (OWN.replace("link_egress_bits", "bits"), "rule 1 ('gateway_out_octets'): signal"),
        (OWN.replace("name: ours", "name: other"), "must be ours"),
        ("rules: [", "is no YAML"),
        ("", "must be a table"),
    ],
)
def test_what_is_no_mapping_is_refused_and_nothing_is_stored(text, said):
    with pytest.raises(MappingError) as caught:
        mappings.store("ours", text, "planner")
    assert said in str(caught.value)
    assert not OwnMapping.objects.exists()


def test_one_that_todays_rules_refuse_is_left_out(caplog):
    OwnMapping.objects.create(name="vllm", text="rules: [")
    assert mappings.known()["vllm"] == mapping.shipped()["vllm"]
    assert "vllm is not valid any more" in caplog.text


def put(client, name, text):
    return client.put(f"/api/v1/live/mappings/{name}/", json.dumps({"text": text}), content_type="application/json")


def test_mappings_are_read_and_stored_over_rest(planner):
    assert put(planner, "ours", OWN).status_code == 200
    listed = {each["name"]: each for each in planner.get("/api/v1/live/mappings/").json()["mappings"]}
    assert listed["ours"]["origin"] == "own"
    assert listed["vllm"]["origin"] == "shipped"
    assert planner.get("/api/v1/live/mappings/ours/").json()["text"].strip() == OWN.strip()
    assert "rules:" in planner.get("/api/v1/live/mappings/vllm/").json()["text"]
    assert planner.delete("/api/v1/live/mappings/ours/").status_code == 204
    assert planner.get("/api/v1/live/mappings/ours/").status_code == 404
    assert planner.delete("/api/v1/live/mappings/ours/").status_code == 404


def test_a_refusal_names_the_rule(planner):
    answer = put(planner, "ours", OWN.replace("link_egress_bits", "bits"))
    assert answer.status_code == 400
    (error,) = answer.json()["errors"]
    assert error["field"] == "text"
    assert "rule 1" in error["message"]


def test_nobody_changes_one_without_signing_in():
    assert put(Client(), "ours", OWN).status_code == 403
    assert Client().get("/api/v1/live/mappings/vllm/").status_code == 200
    assert "/login/" in Client().post("/live/mapping/ours/", {"text": OWN})["Location"]


def test_a_new_one_begins_with_its_name(planner):
    assert planner.get("/live/mapping/?new=ours")["Location"] == "/live/mapping/ours/"
    refused = planner.get("/live/mapping/?new=no blanks")
    assert refused.status_code == 400
    assert "letters, digits" in refused.content.decode()


def test_the_page_keeps_what_was_typed_and_stores_what_is_right(planner):
    assert "their_metric_name" in planner.get("/live/mapping/ours/").content.decode()
    wrong = planner.post("/live/mapping/ours/", {"text": OWN.replace("link_egress_bits", "bits")})
    assert wrong.status_code == 400
    assert "Nothing is stored yet." in wrong.content.decode()
    assert "gateway_out_octets" in wrong.content.decode()
    assert planner.post("/live/mapping/ours/", {"text": OWN})["Location"] == "/live/mapping/"
    page = planner.get("/live/mapping/").content.decode()
    assert "Our gateway" in page
    assert "changed here" in page
    planner.post("/live/mapping/ours/remove/")
    assert not OwnMapping.objects.exists()
