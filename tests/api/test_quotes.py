"""GET quotes: a page of ranked deployments, each with its bill, for anybody."""

import pytest

from planner import evaluation, scenario, seeding
from tests.api.test_schema import mismatches, schema  # noqa: F401 - a fixture

pytestmark = pytest.mark.django_db

ADDRESS = "/api/v1/quotes"
PRICED = "?budget=134.4&price=h200=2.10&price=h20=1.05"


@pytest.mark.parametrize("address", [ADDRESS, f"{ADDRESS}/"])
def test_quotes_are_answered_with_a_slash_at_the_end_and_without(client, address):
    found = client.get(address + PRICED).json()
    assert found["count"] == found["quoted"] == 3
    best = found["results"][0]
    assert best["lambda_max_rps"] == pytest.approx(3.223, abs=6e-4)
    assert (best["prfaas"]["instances"], best["pd"]["prefill_instances"], best["pd"]["decode_instances"]) == (5, 1, 5)


def test_quotes_are_what_the_document_says(client, schema):  # noqa: F811
    seeding.seed()
    answers = schema["paths"]["/api/v1/quotes/"]["get"]["responses"]
    part = answers["200"]["content"]["application/json"]["schema"]
    for query in (PRICED, "?budget=200&slo=8&link=gcp-within-us", "?budget=5", "?budget=150&form=paper"):
        answer = client.get(ADDRESS + query)
        assert mismatches(schema, part, answer.json()) == []


def test_a_page_has_as_many_as_are_asked_for(client):
    first = client.get(f"{ADDRESS}{PRICED}&page_size=2").json()
    assert [each["rank"] for each in first["results"]] == [1, 2]
    second = client.get(first["next"]).json()
    assert [each["rank"] for each in second["results"]] == [3]
    assert second["next"] is None
    assert client.get(f"{ADDRESS}{PRICED}&page=9").status_code == 404


def test_the_bill_of_a_quote_is_where_the_quote_says(client):
    for quote in client.get(f"{ADDRESS}{PRICED}&slo=10&order=cost_per_million_tokens&page_size=2").json()["results"]:
        found = client.get(quote["links"]["bom"]).json()
        assert found["totals"] == quote["totals"]
        assert found["rate_rps"] == quote["rate_rps"]
        assert client.get(quote["links"]["bom"] + "&format=csv")["Content-Type"].startswith("text/csv")


def test_a_quote_can_be_stored_and_has_the_same_bill_by_its_name(client, admin_client):
    seeding.seed()
    quote = client.get(ADDRESS + "?budget=200").json()["results"][0]
    document = quote["scenario_document"]
    stored = admin_client.post("/api/v1/scenarios/", document, content_type="application/json")
    assert stored.status_code == 201
    assert evaluation.evaluate(scenario.parse(document))["lambda_max_rps"] == pytest.approx(quote["lambda_max_rps"])
    bill = client.get(f"/api/v1/scenarios/quote-{quote['id']}/bom").json()
    assert bill["totals"]["usd_per_h"] == pytest.approx(quote["totals"]["usd_per_h"])


def test_a_quote_that_is_no_more_is_not_there(client):
    answer = client.get(f"{ADDRESS}/0123456789abcdef/bom{PRICED}")
    assert answer.status_code == 404
    assert "ask for quotes again" in answer.json()["errors"][0]["message"]


def test_quotes_that_were_read_before_are_not_sent_again(client):
    etag = client.get(ADDRESS + PRICED)["ETag"]
    assert client.get(ADDRESS + PRICED, headers={"if-none-match": etag}).status_code == 304
    dearer = client.get(f"{ADDRESS}?budget=140&price=h200=2.10&price=h20=1.05", headers={"if-none-match": etag})
    assert dearer.status_code == 200


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("", "budget"),
        ("?budget=x", "budget"),
        ("?budget=100&scenario=none", "scenario"),
        ("?budget=100&price=h200=1&price=h20=1&page_size=0", "page_size"),
        ("?budget=100&colour=red", "colour"),
    ],
)
def test_a_mistake_is_told_by_its_parameter(client, query, field):
    answer = client.get(ADDRESS + query)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == field
