"""Imports over REST: what cannot be stored is refused at once, and a file is stored once."""

import json

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from planner.catalog.traces.generate import completions
from planner.models import Job

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(settings, tmp_path):
    settings.DATA_DIR = tmp_path
    client = Client()
    client.force_login(User.objects.create_user("ada"))
    return client


def bring(client, kind="trace", name="hour.csv", content=None):
    """The address of an upload."""
    file = SimpleUploadedFile(name, (content or completions()).encode())
    answer = client.post("/api/v1/imports/", {"kind": kind, "file": file})
    assert answer.status_code == 201, answer.content
    return answer["Location"]


def store(client, address, **choices):
    return client.post(address, json.dumps(choices), content_type="application/json")


@pytest.mark.parametrize(
    ("choices", "field"),
    [
        ({"name": "two words"}, "name"),
        ({"name": "n" * 101}, "name"),
        ({"name": "a\x00b"}, "name"),
        ({"name": "new"}, "name"),
        ({"name": "fine", "title": "t" * 2001}, "title"),
    ],
)
def test_a_trace_that_cannot_be_called_so_is_refused_before_it_is_a_job(client, choices, field):
    answer = store(client, bring(client), **choices)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, field)
    assert not Job.objects.exists()


@pytest.mark.parametrize("choices", [{}, {"name": ""}, {"name": "busy_hour", "title": "Busy"}])
def test_a_trace_is_stored_under_the_files_name_or_a_chosen_one(client, choices):
    answer = store(client, bring(client), **choices)
    assert answer.status_code == 202
    assert Job.objects.get().input["choices"]["name"] == (choices.get("name") or "hour")
