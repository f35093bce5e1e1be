"""The tests that use a database, again: on PostgreSQL, with Redis between the processes."""

import subprocess
import sys

from tests.stack.installation import ROOT, environment

AGAIN = [
    "tests/stack/test_jobs.py",
    "tests/stack/test_shards.py",
    # of the planner what stores, lists and takes in; what computes asks the database nothing of its own
    "tests/api/test_accuracy.py",
    "tests/api/test_catalogue.py",
    "tests/api/test_compare.py",
    "tests/api/test_imports.py",
    "tests/api/test_live_recommendations.py",
    "tests/api/test_live_sources.py",
    "tests/api/test_simulations.py",
    "tests/api/test_studies.py",
    "tests/planner/test_accuracy.py",
    "tests/planner/test_seeds.py",
    "tests/planner/test_side_by_side.py",
    "tests/planner/test_store.py",
    "tests/planner/test_uploads.py",
    "tests/planner/test_watched.py",
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
    "tests/monitoring/test_recommender.py",
    "tests/monitoring/test_recommend_drift.py",
    "tests/monitoring/test_metrics_door.py",
    "tests/alerts/test_annotations.py",
    "tests/alerts/test_api_alerts.py",
    "tests/alerts/test_burning.py",
    "tests/alerts/test_evaluation.py",
    "tests/alerts/test_outbox.py",
    "tests/alerts/test_sending.py",
    # of the pages those that ask the database in words of their own, for lists, states and histories
    "tests/frontend/test_catalogue_pages.py",
    "tests/frontend/test_jobs.py",
    "tests/frontend/test_scenarios.py",
    "tests/frontend/test_compare.py",
    "tests/frontend/test_live_sources.py",
    "tests/frontend/test_live_targets.py",
    "tests/frontend/test_live_alerts.py",
]


def test_the_suite_passes_on_postgresql_and_redis(production_services, tmp_path):
    there = [path for path in AGAIN if (ROOT / path).exists()]
    variables = environment(tmp_path, **production_services, DJANGO_SETTINGS_MODULE="tests.settings")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "django_db and not once", *there]
    ended = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
