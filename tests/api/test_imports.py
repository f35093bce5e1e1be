"""Imports over REST: what cannot be stored is refused at once, and a file is stored once."""

import json

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from planner import store as catalogue
from planner import uploads
from planner.catalog.traces.generate import completions
from planner.models import Entry, Job, Upload

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


def test_a_file_that_is_being_stored_is_not_stored_again(client):
    address = bring(client)
    assert store(client, address).status_code == 202
    for choices in ({}, {"name": "another"}):
        late = store(client, address, **choices)
        assert late.status_code == 409
        assert "hour.csv is being stored already" in late.json()["errors"][0]["message"]
    assert Job.objects.count() == 1


def test_of_many_who_have_read_the_same_row_one_stores_it(client):
    bring(client)
    read = [Upload.objects.get() for _ in range(6)]
    uploads.submit_trace(read[0], {})
    for late in read[1:]:
        with pytest.raises(catalogue.Conflict):
            uploads.submit_trace(late, {"name": "another"})
    assert Upload.objects.get().job == Job.objects.get()


@pytest.mark.parametrize(
    ("state", "status"), [("running", 409), ("succeeded", 409), ("failed", 202), ("cancelled", 202), ("lost", 202)]
)
def test_a_file_is_free_again_when_the_job_that_had_it_stored_nothing(client, state, status):
    address = bring(client)
    store(client, address)
    Job.objects.update(state=state)
    assert store(client, address, name="again").status_code == status
    assert Job.objects.count() == (2 if status == 202 else 1)


def test_entries_are_stored_by_the_one_who_takes_the_file_away(client):
    bring(client, "catalogue", "chips.yaml", "schema_version: 1\nhardware: [{name: x1}]")
    read = Upload.objects.get()
    Upload.objects.all().delete()  # as another request does in the same moment
    with pytest.raises(catalogue.Conflict):
        uploads.keep(read, {})
    assert not Entry.objects.exists()


def test_a_file_whose_entries_are_refused_stays(client):
    address = bring(client, "catalogue", "chips.yaml", "schema_version: 1\nhardware: [{name: x1, tdp_w: hot}]")
    assert store(client, address).status_code == 400
    assert Upload.objects.get().path.exists()
    assert client.get(address).status_code == 200


def test_who_presses_store_twice_is_led_to_the_jobs(client):
    page = f"/catalogue/import/{bring(client).rstrip('/').rpartition('/')[2]}/"
    first, second = client.post(page), client.post(page)
    assert (first.status_code, second.status_code) == (302, 302)
    assert second["Location"] == "/jobs/"
    assert "being stored already" in client.get("/jobs/").content.decode()
