"""Targets and servers of queries over REST: described, refused field by field, tried without storing."""

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client

from monitoring.models import Frame, Pull, Source, Target
from tests.monitoring.exporters import Page, Prometheus, serving

pytestmark = pytest.mark.django_db
TARGETS, PULLS = "/api/v1/live/targets/", "/api/v1/live/pulls/"
NODE = {"name": "node", "url": "http://10.0.0.1:9100/metrics"}
QUERY = {"query": "sum(rate(x[1m]))", "signal": "utilisation", "scale": 0.01}
PROMETHEUS = {"name": "prometheus", "url": "http://10.0.0.2:9090", "queries": [QUERY]}


@pytest.fixture
def planner(client):
    client.force_login(User.objects.create_user("ada"))
    return client


def sent(client, method, address, body):
    return getattr(client, method)(address, json.dumps(body), content_type="application/json")


def refused(answer):
    assert answer.status_code == 400, answer.content
    return {each["field"]: each["message"] for each in answer.json()["errors"]}


def test_a_target_is_made_with_its_source(planner):
    answer = sent(planner, "post", TARGETS, NODE | {"labels": {"role": "prefill"}, "systems": ["node-exporter"]})
    assert answer.status_code == 201, answer.content
    assert answer.headers["Location"].endswith("/api/v1/live/targets/node/")
    assert planner.get(TARGETS).json() == [
        NODE
        | {
            "labels": {"role": "prefill"}, "systems": ["node-exporter"], "enabled": True, "interval_s": 5.0,
            "timeout_s": 4.0, "bearer_token_file": "", "state": "never", "up": None, "last_fetched_ms": None,
            "last_duration_ms": None, "last_series": None, "last_error": "", "age_ms": None,
        }
    ]  # fmt: skip
    assert Source.objects.get().target == Target.objects.get()


def test_a_server_of_queries_is_made_changed_and_deleted_with_its_source(planner):
    assert sent(planner, "post", PULLS, PROMETHEUS).status_code == 201
    changed = sent(planner, "patch", f"{PULLS}prometheus/", {"interval_s": 60, "enabled": False})
    assert changed.json()["interval_s"] == 60
    assert changed.json()["timeout_s"] == 10  # of the longer interval, at most ten seconds
    assert changed.json()["queries"] == [QUERY]
    assert planner.delete(f"{PULLS}prometheus/").status_code == 204
    assert not Source.objects.exists()


def test_only_who_is_signed_in_changes_or_tries(planner):
    sent(planner, "post", TARGETS, NODE)
    nobody = Client()
    assert nobody.get(f"{TARGETS}node/").status_code == 200
    for method, address in [("post", TARGETS), ("patch", f"{TARGETS}node/"), ("post", f"{TARGETS}node/test/")]:
        assert sent(nobody, method, address, {}).status_code == 403
    assert nobody.delete(f"{TARGETS}node/").status_code == 403


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("url", "", "must be an address"),
        ("url", "10.0.0.1:9100", "must begin with http://"),
        ("url", "ftp://10.0.0.1/metrics", "must begin with http://"),
        ("url", "file:///etc/passwd", "must begin with http://"),
        ("url", "http://ada:secret@10.0.0.1/metrics", "give a bearer_token_file"),
        ("url", "http://169.254.169.254/latest/meta-data/", "is a link-local or a cloud's metadata address"),
        ("url", "http://[::ffff:169.254.169.254]/", "is a link-local or a cloud's metadata address"),
        ("url", "http://10.0.0.1:99999/", "is no address"),
        ("url", "http://[::1/", "is no address"),
        ("url", 5, "must be an address"),
        ("interval_s", 0.5, "must be from 1 to 300 s"),
        ("interval_s", "5", "must be from 1 to 300 s"),
        ("interval_s", True, "must be from 1 to 300 s"),
        ("timeout_s", 5, "less than the interval of 5 s, got 5"),
        ("bearer_token_file", "../secret-key", "without a path"),
        ("bearer_token_file", "nothing-there", "cannot be read"),
        ("enabled", "yes", "must be true or false"),
        ("labels", {"role": "cook"}, "must be one of prfaas"),
        ("systems", ["vim"], "vim is no mapping"),
        ("name", "a b", "must be up to"),
        ("token", "secret", "is not a field here; allowed: name"),
        ("queries", [], "is not a field here"),
    ],
)
def test_what_a_target_cannot_be_is_said_by_field(planner, field, value, said):
    assert said in refused(sent(planner, "post", TARGETS, NODE | {field: value}))[field]
    assert not Source.objects.exists()


@pytest.mark.parametrize(
    ("queries", "field", "said"),
    [
        ([], "queries", "a list of 1 to 50"),
        ("up", "queries", "a list of 1 to 50"),
        (["up"], "queries.0", "must be an object"),
        ([{"query": " "}], "queries.0.query", "must be a PromQL expression"),
        ([QUERY, {"query": "x", "signal": "speed"}], "queries.1.signal", "must be one of link_egress_bits"),
        ([{"query": "x", "signal": "ttft_s"}], "queries.0.signal", "of histograms ask for the parts by their names"),
        ([{"query": "x", "signal": "up", "kind": "gauge"}], "queries.0.signal", "says already"),
        ([{"query": "x", "kind": "histogram"}], "queries.0.kind", "must be counter or gauge"),
        ([{"query": "x", "name": "a b"}], "queries.0.name", "must be the name of a metric"),
        ([{"query": "x", "scale": 2}], "queries.0.scale", "with a signal"),
        ([{"query": "x", "signal": "up", "scale": 0}], "queries.0.scale", "greater than 0"),
        ([{"query": "x", "as": "y"}], "queries.0.as", "is not a field here"),
    ],
)
def test_what_a_query_cannot_be_is_said_by_field(planner, queries, field, said):
    assert said in refused(sent(planner, "post", PULLS, PROMETHEUS | {"queries": queries}))[field]


def test_a_body_that_is_no_object_and_a_name_that_is_taken_are_refused(planner):
    assert "must be a JSON object" in refused(sent(planner, "post", TARGETS, [NODE]))[None]
    sent(planner, "post", TARGETS, NODE)
    assert refused(sent(planner, "post", PULLS, PROMETHEUS | {"name": "node"})) == {
        "name": "node is the name of another source"
    }
    assert planner.get(f"{TARGETS}nobody/").status_code == 404


def test_a_change_begins_anew_what_is_known_of_its_state(planner):
    sent(planner, "post", TARGETS, NODE)
    Target.objects.update(up=False, last_error="answers 500")
    sent(planner, "patch", f"{TARGETS}node/", {"url": "http://10.0.0.3:9100/metrics"})
    found = planner.get(f"{TARGETS}node/").json()
    assert (found["up"], found["last_error"]) == (None, "")


# --- trying ------------------------------------------------------------------------------------------------------


def test_a_target_is_tried_and_nothing_is_stored(planner):
    page = "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running 3\nother 1\n"
    with serving(metrics=Page(page)) as server:
        sent(planner, "post", TARGETS, {"name": "vllm", "url": server.url(), "labels": {"role": "decode"}})
        answer = sent(planner, "post", f"{TARGETS}vllm/test/", {}).json()
    assert answer["error"] == ""
    [meaning] = answer["report"]["mapped"]
    assert (meaning["signal"], meaning["value"]) == ("running_requests", 3.0)
    assert meaning["labels"] == {"role": "decode", "stage": "decode"}
    assert [row["reason"] for row in answer["report"]["rows"]][1] == "no mapping has this metric"
    assert not Frame.objects.exists()


def test_what_is_wrong_with_a_target_is_said(planner):
    with serving(metrics=Page("<html>hello</html>")) as server:
        sent(planner, "post", TARGETS, {"name": "web", "url": server.url()})
        answer = sent(planner, "post", f"{TARGETS}web/test/", {}).json()
    assert answer["report"] is None
    assert answer["error"].startswith("not an exposition page: this is an HTML page")


def test_queries_are_tried_and_those_that_work_are_shown_beside_the_mistake(planner):
    answers = Prometheus(good=({"link": "wan"}, lambda at: 5.0))
    with serving(**{"api/v1/query": answers}) as server:
        queries = [{"query": "bad("}, {"query": "good", "signal": "link_rtt_s", "scale": 1e-3}]
        sent(planner, "post", PULLS, {"name": "prometheus", "url": server.url(""), "queries": queries})
        answer = sent(planner, "post", f"{PULLS}prometheus/test/", {}).json()
    assert answer["error"] == "bad(: answers 400 Bad Request: parse error: no such thing"
    [meaning] = answer["report"]["mapped"]
    assert (meaning["signal"], meaning["value"], meaning["unit"]) == ("link_rtt_s", 0.005, "s")
    assert Pull.objects.get().last_fetched_ms is None


def test_a_token_is_read_from_its_file_and_never_shown(planner, settings, tmp_path):
    settings.CREDENTIALS_DIR = tmp_path
    (tmp_path / "vllm").write_text("s3cret\n")
    with serving(metrics=Page("x 1\n")) as server:
        answer = sent(planner, "post", TARGETS, {"name": "vllm", "url": server.url(), "bearer_token_file": "vllm"})
        assert answer.status_code == 201, answer.content
        sent(planner, "post", f"{TARGETS}vllm/test/", {})
        assert server.asked[0][2]["Authorization"] == "Bearer s3cret"
    assert "s3cret" not in planner.get(f"{TARGETS}vllm/").content.decode()


@pytest.mark.parametrize("content", ["", "two\nlines", "ü", "x" * 5000])
def test_a_token_file_with_no_token_in_it_is_refused(planner, settings, tmp_path, content):
    settings.CREDENTIALS_DIR = tmp_path
    (tmp_path / "vllm").write_text(content)
    assert "vllm" in refused(sent(planner, "post", TARGETS, NODE | {"bearer_token_file": "vllm"}))["bearer_token_file"]
