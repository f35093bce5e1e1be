"""`manage.py serve` as a command: what it prints, refuses, leaves behind."""

import signal
import socket
import stat
import subprocess
import sys
import time

import pytest
from websockets.sync.client import connect

from planner.management.commands import serve
from tests.patience import UNTIL_ANSWER_S
from tests.stack.installation import PASSWORD, ROOT, Installation, environment, is_gone, until
from tests.stack.work import LONG

STYLESHEET = "/static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui.css"


@pytest.fixture
def installation(tmp_path):
    installation = Installation("its own", tmp_path)
    yield installation
    installation.stop()


def test_the_first_start_makes_an_account_and_a_second_start_says_nothing_of_it(installation):
    installation.variables["ADMIN_PASSWORD"] = ""
    installation.start()
    first = installation.log("server.log")
    assert "Account for changes: admin, password " in first
    assert f"http://127.0.0.1:{installation.port}/" in first
    password = first.split("password ")[1].split(" ")[0]
    assert len(password) >= 16
    key = installation.directory / "data" / "secret-key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    drawn = key.read_text()

    installation.stop()
    installation.start()
    assert "password" not in installation.log("server.log")
    assert key.read_text() == drawn


def test_ctrl_c_ends_everything_at_once(installation):
    installation.start()
    installation.when_computing(installation.submit(set={"routing.threshold_tokens": LONG}))
    processes = installation.processes()
    assert len(processes) >= 3  # server, fork server, child
    begun = time.monotonic()
    for process in processes:  # a terminal sends it to all of them
        process.send_signal(signal.SIGINT)
    assert installation.server.wait(10) == 0
    until(lambda: all(map(is_gone, (each.pid for each in processes))), 1, "the end of the last process")
    assert time.monotonic() - begun < 4  # one second on an idle machine
    assert "Traceback" not in installation.log("server.log").split("Ctrl-C ends it.")[1]


def test_ctrl_c_at_the_first_moment_is_as_quiet(installation):
    """The fork server still loads NumPy and SciPy then."""
    installation.start()
    for process in installation.processes():
        process.send_signal(signal.SIGINT)
    assert installation.server.wait(10) == 0
    assert "Traceback" not in installation.log("server.log")


def test_a_taken_port_is_said_plainly_and_nothing_else_happens(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        command = [sys.executable, "manage.py", "serve", "--port", port]
        ended = subprocess.run(command, cwd=ROOT, env=environment(tmp_path), capture_output=True, text=True)
    assert ended.returncode == 2
    assert f"Port {port} is taken" in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert not (tmp_path / "planner.sqlite3").exists()


def test_the_product_as_it_is_shipped_simulates_the_case_study_by_itself_and_optimises_it(installation):
    installation.variables |= {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PLANNER_SIMULATE_AT_START": "on",
        "PLANNER_CASE_STUDY_REQUESTS": "1000",
        "PLANNER_CASE_STUDY_REPLICATIONS": "1",
    }
    installation.start()
    assert "as set by ADMIN_PASSWORD" in installation.log("server.log")
    assert PASSWORD not in installation.log("server.log")  # that is in the environment
    [job] = installation.request("GET", "/api/v1/jobs/").document["results"]
    ended = installation.when_ended(job["id"], within_s=60)
    assert (ended["kind"], ended["state"]) == ("side_by_side", "succeeded")
    assert b'data-table="under-load"' in installation.request("GET", "/case-study/").document
    installation.stop()
    installation.start()
    assert installation.count() == 1  # not simulated again
    job = installation.when_ended(installation.submit(map=False))
    assert job["state"] == "succeeded", job["error"]
    assert job["result"]["lambda_max_rps"] == pytest.approx(3.139, abs=0.001)
    assert job["result"]["instances"] == {"prfaas": 4, "prefill": 3, "decode": 5}


def test_below_a_path_behind_a_proxy_links_and_websockets_are_right(installation):
    installation.variables["FORCE_SCRIPT_NAME"] = "/planner"
    installation.start()
    assert f":{installation.port}/planner/" in installation.log("server.log")
    for prefix in ("", "/planner"):  # the proxy may strip the path or not
        answer = installation.request("POST", f"{prefix}/api/v1/jobs/", {"scenario": "case-study-prfaas-pd"})
        assert answer.headers["Location"].startswith(f"{installation.address}/planner/api/v1/jobs/")
        assert installation.request("GET", prefix + STYLESHEET).status == 200
        url = f"ws://127.0.0.1:{installation.port}{prefix}/ws/jobs/{answer.document['id']}/"
        with connect(url, origin=installation.address) as websocket:
            assert websocket.recv(timeout=UNTIL_ANSWER_S)


QUESTION = {
    "problem": "front",
    "scenario": "case-study-prfaas-pd",
    "prices": [{"name": "h200", "usd_per_gpu_hour": 2.0}, {"name": "h20", "usd_per_gpu_hour": 1.0}],
    "prfaas": [{"profile": "internal-1t-hybrid-h200x8", "most": 1}],
    "pd": [{"profile": "internal-1t-hybrid-h20x8", "most": 3}],
    "rate_rps": 1.2,
    "rates": 3,
}


def test_one_and_three_workers_find_the_same_front(tmp_path):
    answers = []
    for workers in ("1", "3"):
        installation = Installation("workers", tmp_path / workers, {"WORKER_CONCURRENCY": workers})
        installation.start()
        try:
            asked = installation.request("POST", "/api/v1/procurement/", QUESTION)
            assert asked.status == 201, asked
            job = installation.when_ended(asked.document["id"], within_s=60)
            assert job["state"] == "succeeded", job["error"]
            answers.append(job["result"])
        finally:
            installation.stop()
    assert answers[0]["points"]
    assert answers[0] == answers[1]


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="only Linux cuts off who reads nothing")
def test_whoever_reads_nothing_is_cut_off_by_the_system():
    with (
        serve.listen("127.0.0.1", 0) as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == serve.UNREAD_MS
