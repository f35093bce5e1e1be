"""What the site is configured to be, and what `manage.py check` thinks of it."""

import io
import subprocess
import sys

import pytest
from django.core.management import call_command

from tests.stack.installation import ROOT, environment


def test_the_schema_is_generated_without_a_warning_and_is_valid():
    written = io.StringIO()
    call_command("spectacular", "--validate", "--fail-on-warn", stdout=written)
    assert "/api/v1/jobs/{id}/cancel/:" in written.getvalue()


def check_for_deployment(directory, **variables):
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    variables = environment(directory, DJANGO_SETTINGS_MODULE="config.settings", **variables)
    return subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True)


def test_behind_tls_django_finds_nothing_to_criticise(tmp_path):
    checked = check_for_deployment(tmp_path, BEHIND_TLS="1", ALLOWED_HOSTS="planner.example")
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("name", ["DEBUG", "BEHIND_TLS"])
def test_switches_are_off_by_default(name, settings):
    assert not getattr(settings, name)
