"""The running product, in both arrangements: a web server, a worker, a database, a broker."""

import http.client
import json
import os
import signal
import time

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from planner.catalog.traces.generate import conversations
from tests.patience import UNTIL_ANSWER_S
from tests.stack.installation import HEARTBEAT_TIMEOUT_S, is_gone, until
from tests.stack.work import FAILING, LONG

UNKNOWN = "00000000-0000-4000-8000-000000000000"


def messages(websocket):
    """All messages, and the code with which the server closed."""
    received = []
    while True:
        try:
            received.append(json.loads(websocket.recv(timeout=UNTIL_ANSWER_S)))
        except ConnectionClosed as closed:
            return received, closed.rcvd.code


def test_a_job_runs_to_its_result(running):
    job = running.when_ended(running.submit())
    assert job["state"] == "succeeded"
    assert job["result"] == {"threshold_tokens": 19400, "outcome": "done"}
    assert job["done"] == job["total"] > 0
    assert (job["attempt"], job["error"], job["cancel_requested"]) == (1, None, False)
    assert job["created_at"] <= job["started_at"] <= job["finished_at"]
    assert job["input"]["form"] == "exact"
    assert job["input"]["scenario"]["name"]


def test_a_failure_says_why(running):
    job = running.when_ended(running.submit(set={"routing.threshold_tokens": FAILING}))
    assert (job["state"], job["error"]) == ("failed", "no threshold of one token, please")


def test_a_trace_is_imported_by_a_worker_and_then_in_the_catalogue(running):
    brought = running.bring("trace", "hour.jsonl", conversations().encode())
    assert brought["errors"] == []
    started = running.request("POST", f"/api/v1/imports/{brought['id']}/", {"name": "hour"})
    assert started.status == 202
    job = running.when_ended(started.document["id"])
    assert (job["state"], job["result"]["entry"]) == ("succeeded", {"kind": "traffic", "name": "hour"})
    entry = running.request("GET", "/api/v1/traffic/hour/").document
    assert entry["document"]["trace"] == job["result"]["trace"]
    assert entry["facts"]["mean_input_tokens"] == pytest.approx(job["result"]["facts"]["input_tokens"]["mean"])


def test_a_viewer_sees_progress_that_only_grows(running):
    job_id = running.submit()
    with running.websocket(job_id) as websocket:
        received, code = messages(websocket)
    assert code == 1000
    assert received[-1]["state"] == "succeeded"
    steps = [message["done"] for message in received]
    assert steps == sorted(steps)
    assert len(set(steps)) > 3
    assert not {"input", "result"} & received[0].keys()


def test_a_viewer_of_an_ended_job_hears_so_and_is_let_go(running):
    job_id = running.submit(set={"routing.threshold_tokens": FAILING})
    running.when_ended(job_id)
    with running.websocket(job_id) as websocket:
        received, code = messages(websocket)
    assert ([message["state"] for message in received], code) == (["failed"], 1000)


def test_a_viewer_of_an_unknown_job_is_told(running):
    with running.websocket(UNKNOWN) as websocket:
        assert messages(websocket) == ([], 4404)


def test_a_page_of_another_site_cannot_watch(running):
    with pytest.raises(InvalidStatus, match="403"), running.websocket(UNKNOWN, origin="http://elsewhere.example"):
        pass


def test_cancelling_takes_less_than_a_second_and_leaves_no_child(running):
    job_id = running.submit(set={"routing.threshold_tokens": LONG})
    child = running.when_computing(job_id)
    assert running.request("POST", f"/api/v1/jobs/{job_id}/cancel/").document["cancel_requested"]
    begun = time.monotonic()
    assert running.when_ended(job_id)["state"] == "cancelled"
    until(lambda: is_gone(child), 1)
    assert time.monotonic() - begun < 1


def test_a_killed_child_is_taken_up_once_more(running):
    job_id = running.submit()
    os.kill(running.when_computing(job_id), signal.SIGKILL)
    job = running.when_ended(job_id)
    assert (job["state"], job["attempt"]) == ("succeeded", 2)


def test_a_job_whose_child_is_killed_twice_is_lost_and_says_why(running):
    job_id = running.submit()
    os.kill(running.when_computing(job_id), signal.SIGKILL)
    os.kill(running.when_computing(job_id, attempt=2), signal.SIGKILL)
    job = running.when_ended(job_id)
    assert job["state"] == "lost"
    assert job["error"] == "Lost after 2 attempts: the process that computed it was killed by SIGKILL."


def test_a_server_killed_in_mid_job_continues_after_a_restart(running):
    job_id = running.submit()
    child = running.when_computing(job_id)
    running.kill_server()
    if not running.has_worker_processes:
        until(lambda: is_gone(child), 3, "the end of the orphaned child")
    running.start_server()
    assert running.when_ended(job_id, within_s=HEARTBEAT_TIMEOUT_S + 20)["state"] == "succeeded"


def test_a_worker_killed_in_mid_job_is_noticed(running):
    if not running.has_worker_processes:
        pytest.skip("the worker is a thread of the server here")
    job_id = running.submit()
    child = running.when_computing(job_id)
    running.kill_worker()
    until(lambda: is_gone(child), 3, "the end of the orphaned child")
    running.start_worker()
    job = running.when_ended(job_id, within_s=HEARTBEAT_TIMEOUT_S + 20)
    assert (job["state"], job["attempt"]) == ("succeeded", 2)


def test_a_worker_asked_to_stop_hands_its_job_back_unharmed(running):
    """Of the embedded arrangement the worker is a part of the server."""
    job_id = running.submit()
    running.when_computing(job_id)
    running.stop()
    assert running.server.returncode == 0
    running.start()
    job = running.when_ended(job_id)
    assert (job["state"], job["attempt"]) == ("succeeded", 1)


def test_a_stranger_may_look_but_not_start_or_cancel(running):
    before = running.count()
    job_id = running.submit()
    assert running.request("POST", "/api/v1/jobs/", {"scenario": "case-study-naive"}, login=False).status in {401, 403}
    assert running.request("POST", f"/api/v1/jobs/{job_id}/cancel/", login=False).status in {401, 403}
    assert running.request("GET", f"/api/v1/jobs/{job_id}/", login=False).status == 200
    assert running.count() == before + 1
    assert running.when_ended(job_id)["state"] == "succeeded"


@pytest.mark.parametrize(
    "wrong",
    [
        {"scenario": "nonsense"},
        {"kind": "guess"},
        {"map": "perhaps"},
        {"form": "neat"},
        {"set": {"routing.threshold_tokens": -5}},
    ],
)
def test_bad_input_is_refused_and_nothing_is_stored(running, wrong):
    before = running.count()
    answer = running.request("POST", "/api/v1/jobs/", {"scenario": "case-study-prfaas-pd"} | wrong)
    assert answer.status == 400
    assert answer.document["errors"][0]["message"]
    assert running.count() == before


def test_the_list_is_short_and_the_newest_first(running):
    job_id = running.submit(set={"routing.threshold_tokens": FAILING})
    page = running.request("GET", "/api/v1/jobs/").document
    assert page["results"][0]["id"] == job_id
    assert "input" not in page["results"][0]
    running.when_ended(job_id)


def test_every_answer_is_strict_about_scripts_frames_and_types(running):
    headers = running.request("GET", "/api/v1/jobs/").headers
    policy = dict(rule.split(" ", 1) for rule in headers["Content-Security-Policy"].split("; "))
    assert policy["script-src"] == "'self'"
    assert policy["default-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["object-src"] == policy["base-uri"] == "'none'"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "same-origin"
    assert "Server" not in headers


def test_an_unknown_host_is_refused(running):
    connection = http.client.HTTPConnection("127.0.0.1", running.port)
    connection.request("GET", "/api/v1/jobs/", headers={"Host": "elsewhere.example"})
    assert connection.getresponse().status == 400
    connection.close()
