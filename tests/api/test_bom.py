"""GET scenarios/NAME/bom: for anybody, as JSON or CSV, with an ETag, mistakes told by parameter."""

import csv
import io

import pytest
from django.contrib.auth.models import User

from planner import scenario, seeding, store
from tests.api.test_schema import mismatches, schema  # noqa: F401 - a fixture

pytestmark = pytest.mark.django_db

ADDRESS = "/api/v1/scenarios/case-study-prfaas-pd/bom"
PRICED = "?price=h200=2.10&price=h20=1.05"


def described(schema, path):  # noqa: F811
    return schema["paths"][path]["get"]["responses"]


@pytest.mark.parametrize("address", [ADDRESS, f"{ADDRESS}/"])
def test_a_bill_is_answered_with_a_slash_at_the_end_and_without(client, address):
    answer = client.get(address + PRICED)
    assert answer.status_code == 200
    assert answer.json()["totals"]["usd_per_h"] == pytest.approx(134.4)
    assert answer.json()["totals"]["usd_per_month"] == pytest.approx(98_179.2)


def test_a_bill_is_what_the_document_says(client, schema):  # noqa: F811
    seeding.seed()
    answers = described(schema, "/api/v1/scenarios/{name}/bom/")
    part = answers["200"]["content"]["application/json"]["schema"]
    for query in ("", PRICED, f"{PRICED}&usd_per_kwh=0.1&pue=1.3"):
        assert mismatches(schema, part, client.get(ADDRESS + query).json()) == []
    assert answers["200"]["content"]["text/csv"]["schema"] == {"type": "string"}
    refusal = answers["400"]["content"]["application/json"]["schema"]
    assert mismatches(schema, refusal, client.get(f"{ADDRESS}?form=x").json()) == []


def test_without_stored_prices_no_total_is_made_up(client):
    found = client.get(ADDRESS).json()
    assert found["totals"]["usd_per_h"] is None
    assert {each["hardware"] for each in found["missing"] if each["what"] == "usd_per_gpu_hour"} == {"h200", "h20"}


@pytest.mark.parametrize(
    ("query", "headers"), [("&format=csv", {}), ("", {"accept": "text/csv"})], ids=["by parameter", "by header"]
)
def test_a_bill_is_a_table_too(client, query, headers):
    answer = client.get(ADDRESS + PRICED + query, headers=headers)
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert answer["Content-Disposition"] == 'attachment; filename="case-study-prfaas-pd-bom.csv"'
    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert [row["quantity"] for row in rows[:3]] == ["32", "24", "40"]
    total = next(row for row in rows if row["item"] == "total")
    assert float(total["usd_per_h"]) == pytest.approx(134.4)


def test_a_bill_that_was_read_before_is_not_sent_again(client):
    etag = client.get(ADDRESS + PRICED)["ETag"]
    again = client.get(ADDRESS + PRICED, headers={"if-none-match": etag})
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", etag)
    assert client.get(f"{ADDRESS}?price=h200=2.20&price=h20=1.05", headers={"if-none-match": etag}).status_code == 200
    assert client.get(f"{ADDRESS}{PRICED}&format=csv")["ETag"] != etag


def test_another_offer_of_the_catalogue_is_another_bill(client):
    seeding.seed()
    before = client.get(ADDRESS)
    offer = {"name": "cheap", "hardware": "h200", "date": "2099-01-01", "kind": "on_demand", "usd_per_gpu_hour": 1.0}
    store.create("prices", offer, by=User.objects.create_user("ada").pk)
    after = client.get(ADDRESS, headers={"if-none-match": before["ETag"]})
    assert after.status_code == 200
    assert after.json()["chips"][0]["usd_per_h"] == 32


def test_a_stored_scenario_has_a_bill_under_its_own_name(client):
    store.create("scenarios", scenario.load("case-study-homogeneous").document() | {"name": "mine"})
    found = client.get("/api/v1/scenarios/mine/bom?price=h20=1.05").json()
    assert found["totals"]["usd_per_h"] == pytest.approx(96 * 1.05)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("price=h200", "price"),
        ("price=tpu=1", "price"),
        ("form=short", "form"),
        ("format=xml", "format"),
        ("usd_per_kwh=x", "usd_per_kwh"),
        ("pue=1.3", "pue"),
        ("colour=red", "colour"),
        ("price=%00", "price.0"),
    ],
)
def test_a_mistake_is_told_by_its_parameter(client, query, field):
    for wanted in (query, f"{query}&format=csv"):
        if query.startswith("format") and wanted != query:
            continue
        answer = client.get(f"{ADDRESS}?{wanted}")
        assert (answer.status_code, answer["Content-Type"]) == (400, "application/json")
        assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_a_scenario_that_is_not_there_has_no_bill(client):
    answer = client.get("/api/v1/scenarios/none/bom?format=csv")
    assert answer.status_code == 404
    assert "No scenario is called none" in answer.json()["errors"][0]["message"]
