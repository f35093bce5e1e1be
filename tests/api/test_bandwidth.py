"""The bandwidth wall over REST: true of its schema, of the paper, and refusing what cannot be asked."""

import json

import pytest
from django.test import Client

from tests.api.test_schema import mismatches

pytestmark = pytest.mark.django_db


def asked(query="", status=200):
    answer = Client().get(f"/api/v1/bandwidth/?{query}")
    assert answer.status_code == status, answer.content
    return answer.json()


def schema():
    answer = Client().get("/api/v1/schema/", headers={"accept": "application/vnd.oai.openapi+json"})
    return json.loads(answer.content)


def described(document, path, status="200"):
    return document["paths"][path]["get"]["responses"][status]["content"]["application/json"]["schema"]


@pytest.mark.usefixtures("shipped")
def test_the_answer_and_the_refusal_are_what_the_document_says():
    document = schema()
    path = "/api/v1/bandwidth/"
    whole = asked("link=case-study-100g&length=32K&length=300000&gpus=512")
    assert mismatches(document, described(document, path), whole) == []
    assert mismatches(document, described(document, path, "400"), asked("colour=red", 400)) == []


@pytest.mark.usefixtures("shipped")
def test_everything_that_is_asked_is_answered_in_order():
    found = asked("model=ring-2-5-1t&profile=minimax-m2-5-h200x8&length=131072,32K&gpus=10000;512&headroom=0")
    assert [row["model"] for row in found["rows"]] == ["minimax-m2-5", "ring-2-5-1t"]
    assert [cell["length_tokens"] for cell in found["rows"][0]["cells"]] == [32768, 131072]
    assert [fleet["gpus"] for fleet in found["rows"][0]["cells"][0]["fleets"]] == [512, 10000]
    assert found["asked"]["headroom"] == 0


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("model=none", "model"),
        ("profile=none", "profile"),
        ("link=none", "link"),
        ("length=0", "length"),
        ("length=NaN", "length"),
        ("length=1e30", "length"),
        ("length=" + "9" * 5000, "length"),
        ("length=" + ",".join(map(str, range(1, 40))), "length"),
        ("gpus=-8", "gpus"),
        ("gpus=8.5", "gpus"),
        ("gpus=²", "gpus"),
        ("headroom=1", "headroom"),
        ("headroom=nan", "headroom"),
        ("colour=red", "colour"),
        ("model=a%00b", "model"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_its_field(query, field):
    errors = asked(query, 400)["errors"]
    assert [error["field"] for error in errors] == [field]
    assert errors[0]["message"]


@pytest.mark.usefixtures("shipped")
def test_a_model_without_a_profile_is_told_to_get_one():
    (error,) = asked("model=llama-3-1-70b", 400)["errors"]
    assert (error["field"], error["message"]) == ("model", "has no profile; add one")


def test_every_mistake_is_told_at_once():
    assert {error["field"] for error in asked("length=x&gpus=x&headroom=x", 400)["errors"]} == {
        "length", "gpus", "headroom",
    }  # fmt: skip


KINDS = {
    "models": "ring-2-5-1t",
    "profiles": "internal-1t-hybrid-h20x8",
    "traffic": "synthetic-conversations",
    "links": "aws-us-east-1-us-west-2",
    "hardware": "h100",
    "prices": "h20-ucloud-compshare-undated",
}


@pytest.mark.usefixtures("shipped")
def test_charts_are_what_the_document_says():
    document = schema()
    for kind, name in KINDS.items():
        answer = Client().get(f"/api/v1/{kind}/{name}/charts/")
        assert answer.status_code == 200
        part = described(document, f"/api/v1/{kind}/{{name}}/charts/")
        assert mismatches(document, part, answer.json()) == [], kind


@pytest.mark.parametrize("kind", KINDS)
def test_charts_of_nothing_are_not_found(kind):
    assert Client().get(f"/api/v1/{kind}/none/charts/").status_code == 404


@pytest.mark.usefixtures("shipped")
def test_recorded_lengths_are_fitted_and_others_are_not():
    document = schema()
    answer = Client().get("/api/v1/traffic/synthetic-conversations/fits/").json()
    assert mismatches(document, described(document, "/api/v1/traffic/{name}/fits/"), answer) == []
    assert [fit["bic"] for fit in answer["fits"]] == sorted(fit["bic"] for fit in answer["fits"])
    assert Client().get("/api/v1/traffic/case-study/fits/").json() == {"fits": None}
