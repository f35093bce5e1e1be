"""Sources and tokens over REST."""

import pytest
from django.contrib.auth.models import User

from monitoring import tokens
from monitoring.models import Source, Token

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/live/sources/"


@pytest.fixture
def operator(client):
    client.force_login(User.objects.create_user("ada"))
    return client


def send(client, method, path, document=None):
    return getattr(client, method)(ADDRESS + path, document, content_type="application/json")


def test_a_source_is_made_read_changed_and_deleted(operator):
    made = send(operator, "post", "", {"name": "gw", "labels": {"role": "router"}, "systems": ["llm-d"]})
    assert (made.status_code, made.headers["Location"]) == (201, "http://testserver/api/v1/live/sources/gw/")
    assert made.json() | {"created_at": None} == {
        "name": "gw", "labels": {"role": "router"}, "systems": ["llm-d"], "enabled": True, "state": "never",
        "last_seen_ms": None, "age_ms": None, "last_seq": None, "skew_ms": None, "accepted": 0, "rejected": 0,
        "reasons": [], "quarantined": 0, "created_at": None,
    }  # fmt: skip
    assert send(operator, "patch", "gw/", {"enabled": False}).json()["state"] == "disabled"
    assert operator.get(ADDRESS).json()[0]["labels"] == {"role": "router"}
    assert operator.delete(ADDRESS + "gw/").status_code == 204
    assert operator.get(ADDRESS + "gw/").status_code == 404


@pytest.mark.parametrize(
    ("document", "field", "said"),
    [
        ({}, "name", "letters, digits"),
        ({"name": "a b"}, "name", "letters, digits"),
        ({"name": "there"}, "name", "another source"),
        ({"name": "gw", "labels": []}, "labels", "must be an object"),
        ({"name": "gw", "labels": {"rack": "1"}}, "labels", "rack is not a label of a source; allowed: datacenter"),
        ({"name": "gw", "labels": {"role": "boss"}}, "labels", "one of prfaas, prefill, decode, router"),
        ({"name": "gw", "labels": {"link": "a\u0000"}}, "labels", "link must be text"),
        ({"name": "gw", "systems": "vllm"}, "systems", "must be a list"),
        ({"name": "gw", "systems": ["none"]}, "systems", "none is no mapping; known: "),
        ({"name": "gw", "systems": [{}]}, "systems", "{} is no mapping"),
        ({"name": "gw", "enabled": "no"}, "enabled", "true or false"),
        ({"name": "gw", "accepted": 5}, "accepted", "is not a field here; allowed: name"),
        ([], None, "must be a JSON object"),
    ],
)
def test_what_is_no_description_is_refused_by_field(operator, document, field, said):
    Source.objects.create(name="there")
    answer = send(operator, "post", "", document)
    assert answer.status_code == 400
    [error] = answer.json()["errors"]
    assert error["field"] == field
    assert said in error["message"]
    assert Source.objects.count() == 1


def test_a_token_is_shown_once_listed_without_its_secret_and_revoked(operator):
    Source.objects.create(name="gw")
    made = send(operator, "post", "gw/tokens/")
    assert made.status_code == 201
    assert Token.objects.get().digest == tokens.digest(made.json()["token"])
    [listed] = operator.get(ADDRESS + "gw/tokens/").json()
    assert set(listed) == {"id", "hint", "created_at", "last_used_at"}
    assert operator.delete(f"{ADDRESS}gw/tokens/{listed['id']}/").status_code == 204
    assert not Token.objects.exists()


def test_a_source_has_two_tokens_at_most(operator):
    Source.objects.create(name="gw")
    assert [send(operator, "post", "gw/tokens/").status_code for _ in range(3)] == [201, 201, 400]


def test_a_token_of_another_source_is_not_found(operator):
    token, _ = tokens.create(Source.objects.create(name="gw"))
    Source.objects.create(name="other")
    assert operator.delete(f"{ADDRESS}other/tokens/{token.pk}/").status_code == 404


def test_reading_sources_needs_no_account_but_tokens_and_changes_do(client):
    Source.objects.create(name="gw")
    assert client.get(ADDRESS).status_code == 200
    assert [client.get(ADDRESS + "gw/tokens/").status_code, send(client, "post", "", {"name": "b"}).status_code] == [
        403, 403,
    ]  # fmt: skip
    assert send(client, "patch", "gw/", {"enabled": False}).status_code == 403
    assert client.delete(ADDRESS + "gw/").status_code == 403
