"""The tests that use a database, again: on PostgreSQL, with Redis between the processes."""

import subprocess
import sys

from tests.stack.installation import ROOT, environment

AGAIN = [
    "tests/stack/test_jobs.py",
    "tests/stack/test_shards.py",
    "tests/api",
    "tests/planner",
    "tests/frontend",
    "tests/monitoring",
]


def test_the_suite_passes_on_postgresql_and_redis(production_services, tmp_path):
    there = [path for path in AGAIN if (ROOT / path).exists()]
    variables = environment(tmp_path, **production_services, DJANGO_SETTINGS_MODULE="config.settings")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "django_db and not once", *there]
    ended = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
