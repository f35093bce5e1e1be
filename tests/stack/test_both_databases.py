"""The tests that use a database, again: on PostgreSQL, with Redis between the processes."""

import subprocess
import sys

from tests.stack.installation import ROOT, environment

AGAIN = [
    "tests/stack/test_jobs.py",
    "tests/stack/test_shards.py",
    "tests/api",
    "tests/planner",
    "tests/monitoring/test_rollups.py",
    "tests/monitoring/test_pipeline.py",
    "tests/monitoring/test_quarantine.py",
    "tests/monitoring/test_query.py",
    "tests/monitoring/test_api_query.py",
    "tests/monitoring/test_own_mappings.py",
    "tests/monitoring/test_websocket_door.py",
    "tests/monitoring/test_recording.py",
    "tests/monitoring/test_snapshot.py",
    "tests/monitoring/test_history.py",
    "tests/monitoring/test_api_watches.py",
    # of the pages those that ask the database in words of their own, for lists, states and histories
    "tests/frontend/test_catalogue_pages.py",
    "tests/frontend/test_jobs.py",
    "tests/frontend/test_scenarios.py",
    "tests/frontend/test_compare.py",
    "tests/frontend/test_live_sources.py",
    "tests/frontend/test_live_targets.py",
]


def test_the_suite_passes_on_postgresql_and_redis(production_services, tmp_path):
    there = [path for path in AGAIN if (ROOT / path).exists()]
    variables = environment(tmp_path, **production_services, DJANGO_SETTINGS_MODULE="config.settings")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "django_db and not once", *there]
    ended = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
