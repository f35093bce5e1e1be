import os

import pytest
from hypothesis import HealthCheck, settings

# A loaded machine is slow for reasons that are not ours: time is for benchmarks, not for properties. Every run tries
# other examples; HYPOTHESIS_PROFILE=thorough tries many of them at once.
COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("default", max_examples=40, **COMMON)
settings.register_profile("thorough", max_examples=1000, **COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


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
