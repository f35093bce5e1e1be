"""Refusals: {"errors": [{field, value, message}]} whatever is wrong, and never a 500."""

import json

import pytest
from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.exceptions import ValidationError

from planner.api.documents import exception_handler
from tests.examples import examples
from tests.planner.documents import BASE, json_values, shipped, spoilt

pytestmark = pytest.mark.django_db
EVALUATE, WHATIF, JOBS = "/api/v1/evaluate/", "/api/v1/whatif/", "/api/v1/jobs/"
JSON = "application/json"
modest = examples(60)


def post(body, address=EVALUATE, content_type=JSON):
    data = body if isinstance(body, bytes | str) else json.dumps(body)
    return Client().post(address, data, content_type=content_type)


def errors(answer, status=400):
    """The errors of a refusal, checked to be of the one shape."""
    assert answer.status_code == status, answer.content[:500]
    assert answer.headers["Content-Type"] == JSON
    body = answer.json()
    assert body.keys() == {"errors"}
    assert body["errors"]
    for error in body["errors"]:
        assert error.keys() == {"field", "value", "message"}
        assert error["message"]
    return body["errors"]


@pytest.mark.parametrize("address", [EVALUATE, WHATIF])
@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("clusters.pd.instances", -1, "must be at least 0"),
        ("decode.step_s", "fast", "must be a number"),
        ("links.wan.bandwidth_bps", -5, "must be a number of bit/s from 0 to 1e18, or the word unlimited"),
        ("routing.policy", "random", "must be one of 'threshold', 'all_local', 'all_remote' or 'blind'"),
        ("decode.colour", "red", "is not a field here; allowed: max_batch, step_s"),
        ("model", "gpt-5", "is not in the catalogue; known: "),
        ("free", ["decode.step_s"], "cannot be varied here"),
    ],
)
def test_a_bad_field_is_answered_with_its_path_value_and_what_is_allowed(address, path, value, message):
    (error,) = errors(post({"scenario": BASE, "set": {path: value}}, address))
    assert error["field"] == path
    assert error["value"] in (value, "decode.step_s")
    assert error["message"].startswith(message)


def test_every_mistake_is_answered_at_once():
    found = errors(post({"scenario": BASE, "set": {"decode.step_s": -1, "decode.max_batch": -2}}))
    assert {(error["field"], error["value"]) for error in found} == {("decode.step_s", -1), ("decode.max_batch", -2)}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"scenario": BASE, "color": 1}, "color"),
        ({"scenario": BASE, "map": True}, "map"),
        ({"scenario": BASE, "form": "rough"}, "form"),
        ({"scenario": BASE, "form": ["exact"]}, "form"),
        ({"scenario": BASE, "form": None}, "form"),
        ({"scenario": BASE, "set": [1]}, "set"),
        ({"scenario": BASE, "set": None}, "set"),
        ({"scenario": BASE, "set": {"nowhere.x": 1}}, "nowhere.x"),
        ({"scenario": "no-such-scenario"}, "scenario"),
        ({"scenario": "/etc/passwd"}, "scenario"),
        ({"scenario": "../scenarios/case-study-naive"}, "scenario"),
        ({"scenario": None}, "scenario"),
        ({"scenario": [BASE]}, "scenario"),
        ({"scenario": 7}, "scenario"),
        ({}, "schema_version"),
        ([], None),
        (None, None),
        (7, None),
        (BASE, None),
    ],
)
def test_a_body_of_the_wrong_shape_is_answered_with_the_field_that_is_wrong(body, field):
    assert errors(post(json.dumps(body)))[0]["field"] == field


def test_an_unknown_form_in_the_address_is_refused():
    assert errors(post({"scenario": BASE}, f"{EVALUATE}?form=rough"))[0]["field"] == "form"


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"not json",
        b"{'scenario': 1}",
        b'{"scenario": NaN}',
        b'{"scenario": Infinity}',
        b'{"scenario": "a", "scenario": "b"}',
        b"\xff\xfe\xfd",
        b'{"scenario": "\xff"}',
        b'{"a":' * 100_000,
        b"[" * 1_000_000,
        b'{"scenario": ' + b"9" * 5000 + b"}",
    ],
    ids=lambda body: repr(body[:20]),
)
def test_a_body_that_is_not_json_is_answered_in_the_same_shape(body):
    (error,) = errors(post(body))
    assert error["field"] is None
    assert error["message"].startswith("JSON parse error")


def test_an_empty_body_misses_every_part():
    missing = {error["field"] for error in errors(post(b""))}
    assert {"schema_version", "model", "clusters"} <= missing


@pytest.mark.parametrize("content_type", ["text/plain", "application/xml", "application/x-www-form-urlencoded", "x"])
def test_another_content_type_is_answered_with_415(content_type):
    errors(post("scenario=1", content_type=content_type), 415)


@pytest.mark.parametrize("charset", ["utf-8", "latin-1", "hex", "zlib", "no-such-charset", "idna"])
def test_json_is_utf_8_whatever_charset_is_claimed(charset):
    body = json.dumps({"scenario": BASE}).encode()
    answer = Client().generic("POST", EVALUATE, body, content_type=f"{JSON}; charset={charset}")
    assert answer.status_code == 200, answer.content


@pytest.mark.parametrize("method", ["get", "put", "patch", "delete"])
@pytest.mark.parametrize("address", [EVALUATE, WHATIF])
def test_another_method_is_answered_with_405(method, address):
    (error,) = errors(getattr(Client(), method)(address), 405)
    assert "not allowed" in error["message"]


def test_a_body_beyond_the_limit_is_answered_with_413_and_the_limit(settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    assert errors(post(b" " * 1001), 413)[0]["message"] == "the body must not exceed 1000 bytes"
    assert errors(post(b" " * 1000))[0]["message"].startswith("JSON parse error")


def test_a_body_larger_than_any_document_is_refused_unread():
    assert errors(post(b"[" * (8 * 2**20 + 1)), 413)[0]["message"] == "the body must not exceed 8388608 bytes"


def test_an_answer_is_shorter_than_what_it_refuses():
    answer = post({**shipped(), **{f"{index}{'k' * 200}": "v" * 2000 for index in range(1000)}, "form": "f" * 10**6})
    assert errors(answer)[-1]["message"] == "has 901 more mistakes, which are not listed"
    assert len(answer.content) < 100_000


def test_an_envelope_of_a_thousand_fields_is_answered_with_a_hundred_of_them():
    found = errors(post({"scenario": BASE, **dict.fromkeys(map(str, range(1000)), 1), "set": {"decode.x": 1}}))
    assert (len(found), found[-1]["message"]) == (101, "has 901 more mistakes, which are not listed")


def pit(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("depth", [19, 30, 900])
@pytest.mark.parametrize("place", ["scenario", "set", "form", "other", "field", "override"])
def test_a_body_nested_however_deep_is_answered_with_400(place, depth):
    deep = pit(depth)
    body = {"scenario": BASE, place: deep}
    if place == "field":
        body = {**shipped(), "title": deep}
    elif place == "override":
        body = {"scenario": BASE, "set": {"title": deep}}
    errors(post(body))


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1" + "0" * 400, "-" + "9" * 400, "1e-999"])
@pytest.mark.parametrize(
    "path", ["decode.step_s", "clusters.pd.instances", "traffic.input_tokens.max", "title", "free"]
)
def test_a_number_beyond_measure_is_answered_with_its_field(number, path):
    body = f'{{"scenario": "{BASE}", "set": {{"{path}": {number}}}}}'
    assert errors(post(body))[0]["field"].startswith(path)


@pytest.mark.parametrize("text", ["\ud800", "a\x00b", "\udfff\ud800"])
def test_broken_text_is_refused_wherever_it_stands(text):
    for body in (
        {**shipped(), "title": text},
        {**shipped(), text: 1},
        {"scenario": text},
        {"scenario": BASE, "form": text},
        {"scenario": BASE, text: 1},
        {"scenario": BASE, "set": {text: 1}},
        {"scenario": BASE, "set": {f"links.{text}.x": 1}},
        {"scenario": BASE, "set": {"name": text}},
        {**shipped(), "provenance": {text: {"kind": "user"}}},
    ):
        errors(post(body))


@examples(40)
@given(spoilt(), st.sampled_from([EVALUATE, WHATIF]))
@pytest.mark.once
def test_a_spoilt_document_is_answered_with_a_result_or_its_fields(document, address):
    answer = post(document, address)
    if answer.status_code != 200:
        assert errors(answer)


ENVELOPES = [
    lambda value: value,
    lambda value: {"scenario": value},
    lambda value: {"scenario": BASE, "set": value},
    lambda value: {"scenario": BASE, "form": value},
    lambda value: {"scenario": BASE, "set": {"links.wan.bandwidth_bps": value}},
]


@modest
@given(json_values, st.sampled_from(ENVELOPES))
@pytest.mark.once
def test_any_envelope_is_answered_with_a_result_or_its_fields(value, envelope):
    answer = post(envelope(value))
    if answer.status_code != 200:
        assert errors(answer)


def test_an_unknown_job_and_a_stranger_are_answered_in_the_same_shape(db):
    missing = errors(Client().get(f"{JOBS}00000000-0000-0000-0000-000000000000/"), 404)
    assert missing == [{"field": None, "value": None, "message": missing[0]["message"]}]
    assert post({"scenario": BASE}, JOBS).status_code in (401, 403)
    (said,) = errors(post({"scenario": BASE}, JOBS), post({"scenario": BASE}, JOBS).status_code)
    assert "needs an account: sign in, or send its name and password as HTTP Basic" in said["message"]


@pytest.mark.parametrize(
    ("error", "status", "expected"),
    [
        (Http404("no row"), 404, (None, "no row")),
        (PermissionDenied("not yours"), 403, (None, "not yours")),
        (ValidationError({"map": ["Must be a valid boolean."]}), 400, ("map", "Must be a valid boolean.")),
        (ValidationError(["One.", "Two."]), 400, (None, "One. Two.")),
        (ValidationError({"kind": ['"\ud800" is not a choice.']}), 400, ("kind", r'"\ud800" is not a choice.')),
    ],
)
def test_what_the_framework_refuses_comes_in_our_shape(error, status, expected):
    answer = exception_handler(error, {})
    assert answer.status_code == status
    ((field, message),) = [(one["field"], one["message"]) for one in answer.data["errors"]]
    assert (field, message) == expected


def test_a_mistake_of_our_own_is_not_dressed_up_as_a_refusal():
    assert exception_handler(RuntimeError("a bug"), {}) is None


@pytest.mark.parametrize("address", ["/api/v1/", "/api/v1/nope/", "/api/v1/jobs/1/2/"])
@pytest.mark.parametrize("method", ["get", "post", "delete"])
def test_an_address_that_is_not_there_is_refused_in_the_same_shape(client, address, method):
    response = getattr(client, method)(address)
    assert response.status_code == 404
    assert address in response.json()["errors"][0]["message"]


def test_an_address_without_its_last_slash_still_leads_on(client):
    response = client.get("/api/v1/schema")
    assert (response.status_code, response.headers["Location"]) == (301, "/api/v1/schema/")


def test_every_mistake_of_a_request_is_told_at_once(client):
    body = {
        "scenario": "case-study-naive",
        "form": "x",
        "extra": 1,
        "set": {"decode.step_s": -1, "slo.tokens_per_s": 0},
    }
    response = client.post("/api/v1/evaluate/", body, content_type="application/json")
    assert {error["field"] for error in response.json()["errors"]} == {
        "form", "extra", "decode.step_s", "slo.tokens_per_s",
    }  # fmt: skip
