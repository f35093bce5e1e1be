import gc
import os

import pytest
from hypothesis import HealthCheck, settings

# A loaded machine is slow for reasons that are not ours: time is for benchmarks, not for properties. The default run
# tries the same examples each time, so that one that fails is the change's doing, and fails again;
# HYPOTHESIS_PROFILE=thorough looks for what nobody has thought of: many examples, and others each time.
COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("default", max_examples=40, derandomize=True, **COMMON)
settings.register_profile("thorough", max_examples=1000, **COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_collection_finish():
    """What has been imported stays: nobody looks through it again for what could be freed."""
    gc.freeze()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(tmp_path_factory):
    """SQLite in a file, as the product has it: of one in memory nobody waits for the lock, but fails at once."""
    from django.db import connection

    if connection.vendor == "sqlite":
        connection.settings_dict["TEST"]["NAME"] = str(tmp_path_factory.mktemp("database") / "test.sqlite3")


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker):
    """Readers and the writer do not hold each other up, as with the server."""
    from django.db import connection

    with django_db_blocker.unblock():
        if connection.vendor == "sqlite":
            connection.cursor().execute("PRAGMA journal_mode=WAL")


@pytest.fixture(scope="module")
def shipped(django_db_setup, django_db_blocker):
    """What the product ships with is stored, once for a module: each of its tests takes back what it changes."""
    from django.core.management import call_command

    from planner import seeding

    with django_db_blocker.unblock():
        seeding.seed()
    yield
    with django_db_blocker.unblock():
        call_command("flush", verbosity=0, interactive=False)


@pytest.fixture
def nothing_stored(db):
    """No entry, also in a module for which some are stored."""
    from planner.models import Entry

    Entry.objects.all().delete()


@pytest.fixture
def rules_of_a_new_installation(db):
    """Of alerts: tests that empty the database have taken away what its migrations put there."""
    from monitoring.alerts.defaults import RULES
    from monitoring.models import AlertRule

    AlertRule.objects.all().delete()
    AlertRule.objects.bulk_create([AlertRule(**each) for each in RULES])
