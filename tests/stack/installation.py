"""A real installation: the commands that a user starts, on a free port, with its own data and services."""

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import websockets.sync.client

from tests.patience import PATIENCE, UNTIL_ANSWER_S

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "a password for the tests"
HEARTBEAT_TIMEOUT_S = 5
INPUT = {"scenario": "case-study-prfaas-pd"}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(condition, within_s, what="it"):
    """The first true value of `condition()`, asked forty times a second; `within_s` is enough on a quiet machine."""
    end = time.monotonic() + PATIENCE * within_s
    while not (value := condition()):
        assert time.monotonic() < end, f"{what} did not happen within {PATIENCE} x {within_s} s"
        time.sleep(0.025)
    return value


def is_gone(pid):
    """Whether it has ended, even where nobody has buried it yet: not every container has an init that does."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def environment(data_directory, **variables):
    inherited = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}}
    # Compiled once and kept: otherwise each start of a server compiles all of Django again.
    inherited.pop("PYTHONDONTWRITEBYTECODE", None)
    return inherited | {
        "PLANNER_DATA_DIR": str(data_directory),
        "DJANGO_SETTINGS_MODULE": "tests.stack.settings",
        "ADMIN_PASSWORD": PASSWORD,
        "JOB_HEARTBEAT_TIMEOUT_S": str(HEARTBEAT_TIMEOUT_S),
        "WORKER_CONCURRENCY": "2",
        "PLANNER_SIMULATE_AT_START": "off",
        **variables,
    }


@dataclass
class Answer:
    status: int
    headers: dict
    document: object


@dataclass
class Installation:
    name: str
    directory: Path
    variables: dict = field(default_factory=dict)

    def __post_init__(self):
        self.port = free_port()
        self.directory.mkdir(exist_ok=True)
        self.server = self.worker = None

    @property
    def environment(self):
        return environment(self.directory / "data", **self.variables)

    @property
    def has_worker_processes(self):
        return "REDIS_URL" in self.variables

    # --- starting and ending ---

    def start(self):
        self.start_server()
        if self.has_worker_processes:
            self.start_worker()
        return self

    def start_server(self):
        self.server = self.run("manage.py", "serve", "--port", str(self.port), log="server.log")
        until(self.is_ready, 40, "the start of the server")

    def is_ready(self):
        assert self.server.poll() is None, self.log("server.log")
        return "Ctrl-C ends it." in self.log("server.log")

    def start_worker(self):
        command = ["-m", "celery", "-A", "config", "worker", "--pool", "threads", "--loglevel", "INFO"]
        self.worker = self.run(*command, log="worker.log")
        until(lambda: " ready." in self.log("worker.log"), 40, "the start of the worker")

    def run(self, *arguments, log):
        with (self.directory / log).open("w") as file:
            return subprocess.Popen(
                [sys.executable, *arguments], cwd=ROOT, env=self.environment, stdout=file, stderr=subprocess.STDOUT
            )

    def log(self, name):
        return (self.directory / name).read_text()

    def stop(self):
        for process in (self.worker, self.server):
            if process is not None and process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(UNTIL_ANSWER_S)

    def kill_server(self):
        self.server.kill()
        self.server.wait()

    def kill_worker(self):
        self.worker.kill()
        self.worker.wait()

    def processes(self):
        """Everything that the installation has started, and is still there."""
        started = [psutil.Process(each.pid) for each in (self.server, self.worker) if each and each.poll() is None]
        return started + [child for each in started for child in each.children(recursive=True)]

    # --- talking to it ---

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}"

    def request(self, method, path, body=None, login=None, content_type="application/json", **more):
        """Logs in for changes only, as people who read need not; `more` are further headers."""
        headers = {"Content-Type": content_type, "Accept": "*/*", **more}
        if method == "POST" if login is None else login:
            headers["Authorization"] = "Basic " + base64.b64encode(f"admin:{PASSWORD}".encode()).decode()
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, headers, method=method)  # noqa: S310 - ours
        try:
            with urllib.request.urlopen(request, timeout=UNTIL_ANSWER_S) as response:  # noqa: S310
                return self._answer(response)
        except urllib.error.HTTPError as error:
            with error:
                return self._answer(error)

    @staticmethod
    def _answer(response):
        body = response.read()
        is_json = "json" in response.headers.get("Content-Type", "")
        return Answer(response.status, response.headers, json.loads(body) if is_json else body)

    def submit(self, **changes):
        answer = self.request("POST", "/api/v1/jobs/", INPUT | changes)
        assert answer.status == 201, answer
        return answer.document["id"]

    def bring(self, kind, name, content):
        """The import of a file that is handed in as a form does it."""
        part = b'--edge\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n'
        body = part % (b"kind", b"", kind.encode()) + part % (b"file", b'; filename="%s"' % name.encode(), content)
        answer = self.request(
            "POST", "/api/v1/imports/", body + b"--edge--\r\n", content_type="multipart/form-data; boundary=edge"
        )
        assert answer.status == 201, answer
        return answer.document

    def job(self, job_id):
        return self.request("GET", f"/api/v1/jobs/{job_id}/").document

    def count(self):
        return self.request("GET", "/api/v1/jobs/").document["count"]

    def websocket(self, job_id, origin=None):
        return websockets.sync.client.connect(
            f"ws://127.0.0.1:{self.port}/ws/jobs/{job_id}/", origin=origin or self.address
        )

    # --- waiting ---

    def when(self, job_id, condition, within_s=20):
        def look():
            job = self.job(job_id)
            return job if condition(job) else None

        return until(look, within_s, f"the awaited change of job {job_id}")

    def when_computing(self, job_id, attempt=1):
        """The process id of the child that computes the job, once it does."""
        job = self.when(job_id, lambda job: job["message"] and job["attempt"] == attempt and job["state"] == "running")
        return int(job["message"])

    def when_ended(self, job_id, within_s=20):
        return self.when(job_id, lambda job: job["state"] not in {"queued", "running"}, within_s)
