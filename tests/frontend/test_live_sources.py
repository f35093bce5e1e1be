"""Pages of the sources of telemetry, and of trying a mapping."""

import re
import time

import pytest
from django.contrib.auth.models import User

from monitoring import tokens
from monitoring.models import Source, Token

pytestmark = pytest.mark.django_db
DESCRIPTION = {"name": "gateway-a", "datacenter": "berlin", "role": "router", "link": "wan", "systems": ["llm-d"]}


@pytest.fixture
def operator(client):
    client.force_login(User.objects.create_user("ada"))
    return client


def text(answer):
    return answer.content.decode()


def stored(**fields):
    return Source.objects.create(**{"name": "gateway-a", **fields})


def ago(seconds):
    return round((time.time() - seconds) * 1000)


# --- the list ----------------------------------------------------------------------------------------------------


def test_without_a_source_the_page_says_what_to_do(client):
    assert "No source yet." in text(client.get("/live/sources/"))


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({}, "never"),
        ({"last_seen_ms": 3}, "live"),
        ({"last_seen_ms": 40}, "stale"),
        ({"last_seen_ms": 400}, "absent"),
        ({"last_seen_ms": 3, "enabled": False}, "disabled"),
    ],
)
def test_what_is_late_what_is_gone_and_what_never_came_are_told_apart(client, fields, state):
    stored(**{**fields, **({"last_seen_ms": ago(fields["last_seen_ms"])} if "last_seen_ms" in fields else {})})
    assert f'data-state="{state}"' in text(client.get("/live/sources/"))


def test_a_source_is_shown_with_what_was_counted_and_how_its_clock_goes(client):
    stored(last_seen_ms=ago(200), accepted=1234567, rejected=12, skew_ms=-1260, labels={"role": "decode"})
    page = text(client.get("/live/sources/"))
    for shown in ("1,234,567", ">12<", "-1.3", "3 min", "role=decode"):
        assert shown in page


# --- one source --------------------------------------------------------------------------------------------------


def test_a_source_is_made_with_its_labels_and_mappings(operator):
    answer = operator.post("/live/sources/new/", DESCRIPTION)
    assert (answer.status_code, answer.headers["Location"]) == (302, "/live/sources/gateway-a/")
    source = Source.objects.get()
    assert source.labels == {"datacenter": "berlin", "role": "router", "link": "wan"}
    assert source.systems == ["llm-d"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": "with blanks"}, "letters, digits, - and _"),
        ({"name": "new"}, "new is not a name"),
        ({"name": ""}, "required"),
        ({"role": "boss"}, "boss is not one of the available choices"),
        ({"systems": ["none"]}, "none is not one of the available choices"),
        ({"name": "there"}, "there is the name of another source"),
    ],
)
def test_a_description_that_is_none_is_told_at_its_field(operator, change, said):
    stored(name="there")
    page = text(operator.post("/live/sources/new/", DESCRIPTION | change))
    assert said in page
    assert "Nothing is stored yet." in page
    assert Source.objects.count() == 1


def test_a_source_is_changed_and_keeps_its_count(operator):
    stored(accepted=7, labels={"role": "router"})
    assert 'value="gateway-a"' in text(operator.get("/live/sources/gateway-a/change/"))
    operator.post("/live/sources/gateway-a/change/", DESCRIPTION | {"name": "gateway-b", "role": ""})
    source = Source.objects.get()
    assert (source.name, source.labels, source.accepted) == ("gateway-b", {"datacenter": "berlin", "link": "wan"}, 7)


def test_a_source_is_switched_off_and_on(operator):
    stored()
    operator.post("/live/sources/gateway-a/switch/")
    assert not Source.objects.get().enabled
    operator.post("/live/sources/gateway-a/switch/")
    assert Source.objects.get().enabled


def test_a_token_is_shown_once_and_in_no_cache(operator):
    stored()
    answer = operator.post("/live/sources/gateway-a/tokens/")
    secret = re.search(r"data-secret>([^<]+)<", text(answer))[1]
    assert Token.objects.get().digest == tokens.digest(secret)
    assert "no-store" in answer.headers["Cache-Control"]
    assert secret not in text(operator.get("/live/sources/gateway-a/"))


def test_a_third_token_is_refused_with_the_remedy(operator):
    source = stored()
    for _ in range(2):
        tokens.create(source)
    answer = operator.post("/live/sources/gateway-a/tokens/", follow=True)
    assert "revoke one of them first" in text(answer)


def test_revoking_a_token_asks_first(operator):
    token, _ = tokens.create(stored())
    address = f"/live/sources/gateway-a/tokens/{token.pk}/revoke/"
    assert "It cannot be brought back" in text(operator.get(address))
    assert Token.objects.count() == 1
    operator.post(address)
    assert not Token.objects.exists()


def test_tokens_are_not_shown_to_whoever_is_not_signed_in(client):
    token, _ = tokens.create(stored())
    assert token.hint not in text(client.get("/live/sources/gateway-a/"))


@pytest.mark.parametrize("path", ["new/", "gateway-a/change/", "gateway-a/switch/", "gateway-a/tokens/"])
def test_changes_need_an_account(client, path):
    stored()
    answer = client.post(f"/live/sources/{path}")
    assert (answer.status_code, answer.headers["Location"].split("?")[0]) == (302, "/login/")
    assert not Token.objects.exists()


# --- trying a mapping --------------------------------------------------------------------------------------------

PAGE = """# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 3
# TYPE python_info gauge
python_info{version="3.12"} 1
"""


def test_a_pasted_page_is_told_series_by_series(client):
    page = text(client.post("/live/mapping/", {"text": PAGE, "role": "decode"}))
    assert "1 of 2 series are taken" in page
    assert "<strong>running_requests</strong>" in page
    assert "stage=decode" in page
    assert "not taken: no mapping has this metric" in page


def test_a_mapping_may_be_chosen(client):
    assert "No mapping knows any of them." in text(client.post("/live/mapping/", {"text": PAGE, "system": "sglang"}))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "Paste what your system answers"),
        ({"text": "<html>no metrics</html>"}, "Nothing was read."),
        ({"text": PAGE, "system": "none"}, "none is no mapping"),
        ({"text": PAGE, "role": "boss"}, "role is boss"),
    ],
)
def test_what_cannot_be_tried_is_told(client, given, said):
    answer = client.post("/live/mapping/", given)
    assert answer.status_code == 400
    assert said in text(answer)
