import contextlib

import pytest

from tests.stack import services
from tests.stack.installation import Installation

EMBEDDED = "sqlite+memory"
PRODUCTION = "postgresql+redis"


@pytest.fixture(scope="session")
def postgresql():
    with services.postgresql() as address:
        yield address


@pytest.fixture(scope="session")
def redis_server():
    with services.redis_server() as address:
        yield address


@pytest.fixture(scope="session")
def production_services(redis_server, postgresql):
    """A fresh database and an empty broker, as environment variables."""
    with services.new_database(postgresql) as database:
        yield {"DATABASE_URL": database, "REDIS_URL": services.empty_redis(redis_server)}


@pytest.fixture(scope="session", params=[EMBEDDED, PRODUCTION])
def running(request, tmp_path_factory):
    """An installation that runs, in both arrangements; a test that ends it starts it again."""
    variables = request.getfixturevalue("production_services") if request.param == PRODUCTION else {}
    installation = Installation(request.param, tmp_path_factory.mktemp("installation"), variables)
    with contextlib.ExitStack() as closing:
        closing.callback(installation.stop)
        yield installation.start()
