"""Nothing acknowledged is lost, nothing is stored twice: servers killed under load, a database that goes away."""

import contextlib
import os
import random
import time
import urllib.parse

import psutil
import psycopg
import pytest

from tests.stack import services
from tests.stack.ingest import Agent, prepared, stored
from tests.stack.installation import Installation, until

ROUNDS = int(os.environ.get("INGEST_KILLS", "2"))
SERIES = 6
"""Of a frame: enough that they go as columns."""


@pytest.fixture
def installation(tmp_path):
    installation = Installation("its own", tmp_path)
    yield installation
    installation.stop()


def sorted_in(installation):
    """All that was acknowledged, once nothing waits to be sorted in."""

    def look():
        found = stored(installation)
        return None if found["waiting"] else found

    return until(look, 60, "the end of sorting in")


def test_a_server_that_is_killed_under_load_has_stored_each_acknowledged_frame_once(installation):
    installation.start_server()
    agent = Agent(installation, prepared(installation), series=SERIES).start()
    for _ in range(ROUNDS):
        enough = agent.acknowledged + random.randint(20, 200)
        until(lambda enough=enough: agent.acknowledged > enough, 30, "acknowledgements")
        installation.kill_server()
        installation.start_server()
    agent.finish()
    found = sorted_in(installation)
    assert agent.connections > ROUNDS
    assert found["values"] == [float(each) for each in range(1, agent.sent + 1) for _ in range(SERIES)]
    assert (found["last_seq"], found["accepted"]) == (agent.sent, agent.sent * SERIES)


def test_while_postgresql_is_away_nothing_is_acknowledged_and_afterwards_all_is_stored(postgresql, tmp_path):
    with services.new_database(postgresql) as database:
        installation = Installation("postgresql", tmp_path, {"DATABASE_URL": database})
        installation.start_server()
        try:
            _interrupted(installation, postgresql, database)
        finally:
            installation.stop()


def _interrupted(installation, server, database):
    agent = Agent(installation, prepared(installation)).start()
    until(lambda: agent.acknowledged > 100, 30, "acknowledgements")
    memory = psutil.Process(installation.server.pid).memory_info().rss
    with away(server, database):
        until(lambda: agent.silent_s > 2, 30, "the end of acknowledgements")
        sent, acknowledged = agent.sent, agent.acknowledged
        time.sleep(1)
        assert (agent.sent, agent.acknowledged) == (sent, acknowledged)
        assert sent - acknowledged <= 64  # what is in flight is bounded
    until(lambda: agent.acknowledged > sent, 60, "acknowledgements after the database is back")
    agent.finish()
    found = sorted_in(installation)
    assert found["values"] == [float(each) for each in range(1, agent.sent + 1)]
    assert psutil.Process(installation.server.pid).memory_info().rss < memory + 64 * 2**20


@contextlib.contextmanager
def away(server, database):
    """The database ends all connections and takes none."""
    name = urllib.parse.urlparse(database).path.strip("/")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        yield
        connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
