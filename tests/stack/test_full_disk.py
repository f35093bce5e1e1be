"""A disk that is really full: senders are told, reading goes on, nothing acknowledged is lost, and room is enough."""

import contextlib
import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg
import pytest

from tests.stack import services
from tests.stack.ingest import Agent, prepared, stored
from tests.stack.installation import Installation, until

SIZE = 48 * 2**20
ROOM = 192 * 1024
"""What is left to the senders."""
FULL = "the disk of the database is full"


@pytest.fixture
def small_disk():
    """A file system of its own, in memory. Not under pytest's directory: PostgreSQL has a user of its own."""
    with tempfile.TemporaryDirectory(prefix="planner-small-disk-") as name:
        Path(name).chmod(0o755)
        command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=0755", "tmpfs", name]
        if shutil.which("mount") is None or subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("no file system can be mounted here: that needs root, and a container that allows it")
        yield Path(name)
        subprocess.run(["umount", "--lazy", name], check=True)


def filled(directory):
    """All but a little room is taken by somebody else; the file that takes it."""
    ballast = directory / "ballast"
    with ballast.open("wb") as file:
        file.write(bytes(shutil.disk_usage(directory).free - ROOM))
    return ballast


def point(seconds_ago=0):
    """An OTLP request of one gauge."""
    value = {"timeUnixNano": str(time.time_ns() - round(seconds_ago * 1e9)), "asDouble": 1.5}
    metric = {"name": "link_rtt_s", "gauge": {"dataPoints": [value]}}
    return {"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]}


def post(installation, token):
    return installation.request("POST", "/v1/metrics", point(), login=False, Authorization=f"Bearer {token}")


def sorted_in(installation):
    def look():
        found = stored(installation)
        return None if found["waiting"] else found

    return until(look, 60, "the end of sorting in")


def test_on_sqlite_a_full_disk_is_a_reason_reading_goes_on_and_with_room_all_goes_on(small_disk):
    interrupted(Installation("its own", small_disk), small_disk)


def test_so_it_is_on_postgresql_whose_data_are_on_that_disk(postgresql, small_disk, tmp_path):
    with database_on(small_disk, postgresql) as database:
        interrupted(Installation("postgresql", tmp_path, {"DATABASE_URL": database}), small_disk)


@contextlib.contextmanager
def database_on(disk, server):
    """A fresh database whose tables are there, and not beside the server's log of changes: where that has no room
    left, the server itself ends, and it is as if it were away."""
    with psycopg.connect(server, autocommit=True) as connection:
        [data] = connection.execute("SHOW data_directory").fetchone()
        if not Path(data).exists():
            pytest.skip("the PostgreSQL of TEST_DATABASE_URL is on another machine")
        shutil.chown(disk, Path(data).stat().st_uid)
        connection.execute(f"CREATE TABLESPACE small_disk LOCATION '{disk}'")
        try:
            with services.new_database(server, "TABLESPACE small_disk") as database:
                yield database
        finally:
            connection.execute("DROP TABLESPACE small_disk")


def interrupted(installation, disk):
    installation.start_server()
    with contextlib.ExitStack() as closing:
        closing.callback(installation.stop)
        token = prepared(installation)
        agent = Agent(installation, token).start()
        until(lambda: agent.acknowledged > 50, 30, "acknowledgements")
        ballast = filled(disk)
        refused_while_full(installation, agent, token)
        acknowledged = agent.acknowledged
        ballast.unlink()
        until(lambda: agent.acknowledged > acknowledged + 100, 60, "acknowledgements once there is room")
        agent.finish()
        found = sorted_in(installation)
    assert [value for value in found["values"] if value != 1.5] == [float(each) for each in range(1, agent.sent + 1)]


def refused_while_full(installation, agent, token):
    until(lambda: agent.refusals, 60, "a refusal over the websocket")
    answer = until(lambda: (each := post(installation, token)).status != 200 and each, 60, "a refusal over HTTP")
    assert (answer.status, answer.headers["Retry-After"]) == (503, "2")
    assert FULL in json.dumps(answer.document)
    assert set(agent.refusals) == {FULL}
    pages = "/", "/live/sources/", "/live/sources/agent/", "/catalogue/"
    queries = "/api/v1/live/sources/", "/api/v1/live/query/?signal=output_tokens&start=-15m", "/api/v1/jobs/"
    for path in (*pages, *queries):
        assert installation.request("GET", path).status == 200, path
