"""The catalogue over REST: lists that can be narrowed, ETags, and refusals that name the field."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from planner import seeding, store
from planner.models import Entry

pytestmark = pytest.mark.django_db
CHIP = {"name": "x1", "title": "Chip X1", "memory_bytes": 8e10, "tdp_w": 700.0}
KINDS = ["hardware", "models", "profiles", "traffic", "links", "prices", "scenarios"]


@pytest.fixture
def client():
    client = Client()
    client.force_login(User.objects.create_user("ada"))
    return client


def address(kind, name="", action=""):
    return "/".join(["/api/v1", kind, *filter(None, [name, action])]) + "/"


def post(client, where, body):
    return client.post(where, body, content_type="application/json")


def put(client, where, body, etag):
    return client.put(where, body, content_type="application/json", headers={"If-Match": etag})


def delete(client, where, etag="*"):
    return client.delete(where, headers={"If-Match": etag})


@pytest.mark.parametrize("kind", KINDS)
def test_anybody_reads_every_kind_and_nobody_writes_without_an_account(kind):
    seeding.seed()
    listed = Client().get(address(kind)).json()
    assert listed["count"] == store.entries(kind).count() > 0
    first = listed["results"][0]
    assert Client().get(address(kind, first["name"])).json()["document"]["name"] == first["name"]
    assert post(Client(), address(kind), {"name": "x"}).status_code in {401, 403}


def test_an_entry_is_added_read_changed_and_deleted(client):
    added = post(client, address("hardware"), CHIP)
    assert (added.status_code, added["ETag"], added["Location"]) == (
        201,
        '"1"',
        "http://testserver/api/v1/hardware/x1/",
    )
    assert client.get(address("hardware", "x1")).json()["document"] == CHIP
    changed = put(client, address("hardware", "x1"), {**CHIP, "tdp_w": 900.0}, '"1"')
    assert (changed.status_code, changed["ETag"], changed.json()["document"]["tdp_w"]) == (200, '"2"', 900.0)
    assert delete(client, address("hardware", "x1"), '"2"').status_code == 204
    assert client.get(address("hardware", "x1")).status_code == 404


def test_a_writer_who_is_late_is_told_so_and_overwrites_nothing(client):
    post(client, address("hardware"), CHIP)
    put(client, address("hardware", "x1"), {**CHIP, "tdp_w": 900.0}, '"1"')
    late = put(client, address("hardware", "x1"), {**CHIP, "tdp_w": 100.0}, '"1"')
    assert late.status_code == 409
    assert "changed by somebody else" in late.json()["errors"][0]["message"]
    assert Entry.objects.get().document["tdp_w"] == 900.0


def test_who_deletes_names_what_was_read_too(client):
    post(client, address("hardware"), CHIP)
    put(client, address("hardware", "x1"), {**CHIP, "tdp_w": 900.0}, '"1"')
    assert delete(client, address("hardware", "x1"), '"1"').status_code == 409
    assert delete(client, address("hardware", "x1"), '"2"').status_code == 204


def test_who_does_not_say_what_a_change_rests_on_changes_nothing(client):
    post(client, address("hardware"), CHIP)
    where = address("hardware", "x1")
    for answer in (client.put(where, {**CHIP, "tdp_w": 9.0}, content_type="application/json"), client.delete(where)):
        assert answer.status_code == 428
        assert "If-Match" in answer.json()["errors"][0]["message"]
    assert Entry.objects.get().document == CHIP
    assert put(client, where, {**CHIP, "tdp_w": 9.0}, "*").status_code == 200


def test_what_is_archived_or_offered_already_gets_no_revision(client):
    post(client, address("hardware"), CHIP)
    for action, archived, revision in (("restore", False, 1), ("archive", True, 2), ("archive", True, 2)):
        found = post(client, address("hardware", "x1", action), {}).json()
        assert (found["archived"], found["revision"]) == (archived, revision)
    late = client.post(address("hardware", "x1", "archive"), headers={"If-Match": '"1"'})
    assert late.status_code == 409


def test_a_revision_of_thousands_of_digits_is_refused(client):
    post(client, address("hardware"), CHIP)
    assert put(client, address("hardware", "x1"), CHIP, f'"{"1" * 5000}"').status_code == 400


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({**CHIP, "tdp_w": "hot"}, "tdp_w"),
        ({**CHIP, "name": "has.dot"}, "name"),
        ({**CHIP, "colour": "red"}, "colour"),
        ({**CHIP, "provenance": {"tdp_w": {"kind": "published"}}}, "provenance.tdp_w.source"),
        ([], None),
    ],
)
def test_a_refusal_names_the_field_and_stores_nothing(client, body, field):
    answer = post(client, address("hardware"), body)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == field
    assert not Entry.objects.exists()


def test_what_is_used_is_archived_restored_and_not_deleted(client):
    post(client, address("hardware"), CHIP)
    offer = {"name": "x1-acme", "hardware": "x1", "date": None, "kind": "spot", "usd_per_gpu_hour": 2.0}
    assert post(client, address("prices"), offer).status_code == 201
    refused = delete(client, address("hardware", "x1"))
    assert (refused.status_code, "prices/x1-acme" in refused.content.decode()) == (409, True)
    assert client.get(address("hardware", "x1", "uses")).json()["uses"][0]["name"] == "x1-acme"
    assert post(client, address("hardware", "x1", "archive"), {}).json()["archived"] is True
    assert client.get(address("hardware")).json()["count"] == 0
    assert client.get(address("hardware") + "?archived=yes").json()["count"] == 1
    assert post(client, address("hardware", "x1", "restore"), {}).json()["archived"] is False


def test_a_shipped_entry_that_was_deleted_is_gone_and_can_be_restored(client):
    seeding.seed()
    where = address("links", "case-study-100g")
    assert delete(client, where).status_code == 204
    seeding.seed()
    assert client.get(where).status_code == 404
    assert post(Client(), where + "restore/", {}).status_code in {401, 403}
    assert post(client, where + "restore/", {}).json()["origin"] == "shipped"
    assert client.get(where).status_code == 200
    assert post(client, address("links", "never-there", "restore"), {}).status_code == 404


def test_a_history_tells_who_changed_what(client):
    post(client, address("hardware"), CHIP)
    put(client, address("hardware", "x1"), {**CHIP, "tdp_w": 900.0}, '"1"')
    changes = client.get(address("hardware", "x1", "history")).json()["results"]
    assert [(each["number"], each["change"], each["by"], each["document"]["tdp_w"]) for each in changes] == [
        (2, "edited", "ada", 900.0),
        (1, "created", "ada", 700.0),
    ]


def test_a_copy_is_made_under_another_name(client):
    post(client, address("hardware"), CHIP)
    copied = post(client, address("hardware", "x1", "clone"), {"name": "x2"})
    assert (copied.status_code, copied.json()["document"]) == (201, {**CHIP, "name": "x2"})
    assert post(client, address("hardware", "x1", "clone"), {}).json()["errors"][0]["field"] == "name"


def listed(query, kind="prices"):
    answer = Client().get(f"{address(kind)}?{query}")
    assert answer.status_code == 200, answer.content
    return answer.json()["results"]


def test_lists_are_narrowed_sorted_and_cut_into_pages():
    seeding.seed()
    spots = listed("hardware=h100&kind=spot")
    assert [each["document"]["kind"] for each in spots] == ["spot"]
    dear = [each["facts"]["usd_per_gpu_hour"] for each in listed("ordering=-facts.usd_per_gpu_hour&page_size=200")]
    assert dear == sorted(dear, reverse=True)
    assert len(dear) == store.entries("prices").count()
    chips = listed("ordering=document.memory_bytes", "hardware")
    memory = [each["document"].get("memory_bytes", 1e99) for each in chips]
    assert memory == sorted(memory)
    assert {each["name"] for each in listed("search=H20", "hardware")} >= {"h20", "h200"}
    assert len(listed("page_size=2")) == 2


def test_a_list_leaves_out_what_is_recorded_by_the_thousand_and_an_entry_has_it():
    seeding.seed()
    (brief,) = [each for each in listed("", "traffic") if each["name"] == "synthetic-conversations"]
    whole = Client().get(address("traffic", "synthetic-conversations")).json()
    assert len(whole["document"]["input_tokens"]["samples"]) > 100
    assert brief["document"]["input_tokens"] == {"distribution": "empirical"}
    assert "uncached" not in brief["document"]["prefix"]
    assert brief["document"]["prefix"]["token_hit_ratio"] == whole["document"]["prefix"]["token_hit_ratio"]
    assert brief["facts"] == whole["facts"]
    assert len(Client().get(address("traffic")).content) < 50_000
    for kind in ("models", "profiles", "links"):
        for each in listed("page_size=200", kind):
            assert each["document"] == Client().get(address(kind, each["name"])).json()["document"]


def test_what_nobody_states_comes_last_whichever_way():
    seeding.seed()
    for ordering in ("document.tdp_w", "-document.tdp_w"):
        found = [each["document"].get("tdp_w") for each in listed(f"ordering={ordering}", "hardware")]
        stated = [each for each in found if each is not None]
        assert found == [*sorted(stated, reverse=ordering.startswith("-")), *[None] * (len(found) - len(stated))]


@pytest.mark.parametrize(
    "query",
    [
        "colour=red",
        "ordering=secret__name",
        "archived=maybe",
        "ordering=password",
        "ordering=name.x",
        "ordering=-title.length",
        "search=a%00b",
        "vendor=%00",
    ],
)
def test_a_query_that_cannot_be_asked_is_refused(query):
    answer = Client().get(f"{address('hardware')}?{query}")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == query.split("=")[0]


@pytest.mark.parametrize("search", ["a " * 1500, "a" * 60_000], ids=["words", "word"])
def test_a_search_longer_than_databases_take_is_refused(search):
    answer = Client().get(address("hardware"), {"search": search})
    assert (answer.status_code, answer.json()["errors"][0]["message"]) == (400, "takes at most 200 characters")
    assert Client().get("/catalogue/hardware/", {"search": search}).status_code == 400
    assert Client().get(address("hardware"), {"search": "a " * 100}).status_code == 200


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("page_size=0", "must be a whole number from 1 to 200"),
        ("page_size=-1", "must be a whole number from 1 to 200"),
        ("page_size=201", "must be a whole number from 1 to 200"),
        ("page_size=abc", "must be a whole number from 1 to 200"),
        ("page_size=", "must be a whole number from 1 to 200"),
        ("page_size=" + "9" * 5000, "must be a whole number from 1 to 200"),
        ("page=abc", "must be a whole number from 1 to 999999999"),
        ("page=0", "must be a whole number from 1 to 999999999"),
        ("page=" + "9" * 5000, "must be a whole number from 1 to 999999999"),
        ("origin=x", "must be one of shipped, user"),
        ("origin=", "must be one of shipped, user"),
        ("archived=", "must be no, yes or all"),
        ("date=2025-13-01", "must be a day as YYYY-MM-DD"),
        ("date=", "must be a day as YYYY-MM-DD"),
        ("as_of=", "must be a day as YYYY-MM-DD"),
        ("kind=lease", "must be one of 'on_demand', 'spot', 'reserved', 'blended' or 'purchase'"),
        ("hardware=h%20200", "must be letters, digits, - and _"),
    ],
)
def test_a_value_that_no_entry_can_have_is_refused(query, told):
    answer = Client().get(f"{address('prices')}?{query}")
    field, _, value = query.partition("=")
    [error] = answer.json()["errors"]
    assert (answer.status_code, error["field"], error["value"][:99]) == (400, field, value.replace("%20", " ")[:99])
    assert told in error["message"]


def test_pages_beyond_the_last_are_not_there_and_a_history_has_pages_too(client):
    post(client, address("hardware"), CHIP)
    assert client.get(address("hardware") + "?page=2").status_code == 404
    post(client, address("hardware"), CHIP | {"name": "x2"})
    last = client.get(address("hardware") + "?page_size=1&page=last").json()
    assert ([entry["name"] for entry in last["results"]], last["next"]) == (["x2"], None)
    answer = client.get(address("hardware", "x1", "history") + "?page_size=x")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "page_size")


def test_a_filter_sees_what_an_entry_means_and_does_not_say():
    seeding.seed()
    assert len(listed("kv_dtype=bf16&page_size=200", "models")) == store.entries("models").count()
    fp8 = {**store.entries("models").first().document, "name": "small", "kv_dtype": "fp8"}
    store.create("models", fp8)
    assert [each["name"] for each in listed("kv_dtype=fp8", "models")] == ["small"]
    assert "small" not in [each["name"] for each in listed("kv_dtype=bf16&page_size=200", "models")]
    nowhere = [each["name"] for each in listed("page_size=200") if not each["document"].get("region")]
    assert [each["name"] for each in listed("region=&page_size=200")] == nowhere
    assert Client().get(address("models") + "?kv_dtype=fp4").json()["errors"][0]["field"] == "kv_dtype"


def test_a_stored_scenario_is_evaluated_by_its_name(client):
    seeding.seed()
    assert post(client, address("scenarios", "case-study-prfaas-pd", "clone"), {"name": "mine"}).status_code == 201
    body = {"scenario": "mine", "set": {"routing.threshold_tokens": 19_600}}
    assert post(Client(), "/api/v1/evaluate/", body).json()["threshold_tokens"] == 19_600


def test_prices_are_had_as_of_any_day():
    seeding.seed()
    dates = [each["document"]["date"] for each in listed("as_of=2026-09-20&page_size=200")]
    assert dates
    assert max(dates) == "2026-09-20"
    latest = listed("as_of=2026-10-01&hardware=h100&kind=on_demand&ordering=-document.date&page_size=1")
    assert latest[0]["document"]["date"] == "2026-09-20"
    answer = Client().get(f"{address('prices')}?as_of=yesterday")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "as_of")
