"""The pages of annotations, as the server sends them."""

import re

import pytest
from django.contrib.auth.models import User

from monitoring.models import Note, Watch

pytestmark = pytest.mark.django_db
LIST = "/live/alerts/annotations/"
NOON_MS = 1_790_000_000_000
"""2026-09-21 14:13:20 UTC."""


@pytest.fixture
def planner(client):
    client.force_login(User.objects.create_user("ada"))
    return client


def said(answer):
    """Its words, without its tags."""
    return " ".join(re.sub(r"<[^>]*>", " ", answer.content.decode()).split())


def rows(client, asked=""):
    """The numbers of those that are listed."""
    return [int(each) for each in re.findall(r'<th scope="row">(\d+)</th>', client.get(LIST + asked).content.decode())]


def typed(**changes):
    return {"text": "router 1.4", "kind": "deploy", "ts_ms": "", "end_ms": "", "watch": "", "tags": ""} | changes


def test_without_any_it_says_how_to_get_some(client, planner):
    assert "None yet. Make one , or let a deployment's script" in said(planner.get(LIST))
    client.logout()
    assert "Sign in to make one" in said(client.get(LIST))


def test_what_is_typed_is_stored_and_what_is_wrong_stands_beside_its_field(planner):
    answer = planner.post(f"{LIST}new/", typed(ts_ms="yesterday", tags="1.4", text=""))
    for part in ("must be UTC as 2026-11-29 10:00, or ago as", "&#x27;yesterday&#x27;", "must be name=value"):
        assert part in answer.content.decode()
    answer = planner.post(f"{LIST}new/", typed(ts_ms="2026-09-21 14:13:20", end_ms="2026-09-21 14:00"))
    assert "must not be before ts_ms" in said(answer)
    assert not Note.objects.exists()

    assert (
        planner.post(f"{LIST}new/", typed(ts_ms="2026-09-21 14:13:20", tags="version=1.4")).headers["Location"] == LIST
    )
    note = Note.objects.get()
    assert (note.text, note.kind, note.ts_ms, note.end_ms) == ("router 1.4", "deploy", NOON_MS, None)
    assert (note.by, note.tags, note.watch) == ("ada", {"version": "1.4"}, "")
    planner.post(f"{LIST}{note.pk}/", typed(text="router 1.5", ts_ms="2026-09-21 14:13:20", end_ms="2026-09-21 14:20"))
    note.refresh_from_db()
    assert (note.text, note.end_ms, note.tags) == ("router 1.5", NOON_MS + 400_000, {})


def test_what_is_not_changed_stays_to_the_millisecond_and_of_its_kind(planner):
    note = Note.objects.create(ts_ms=NOON_MS + 123, is_open=True, kind="alertmanager", text="down", fingerprint="x")
    page = planner.get(f"{LIST}{note.pk}/").content.decode()
    assert 'value="2026-09-21 14:13:20"' in page
    assert "from an Alertmanager" in page
    planner.post(f"{LIST}{note.pk}/", typed(text="was down", kind="alertmanager", ts_ms="2026-09-21 14:13:20"))
    note.refresh_from_db()
    assert (note.ts_ms, note.kind, note.text, note.is_open) == (NOON_MS + 123, "alertmanager", "was down", True)


def test_what_goes_on_is_ended_and_what_is_removed_is_asked_for_first(planner):
    note = Note.objects.create(ts_ms=NOON_MS, is_open=True, kind="grafana", text="queue", fingerprint="x")
    assert "goes on" in said(planner.get(LIST))
    assert planner.get(f"{LIST}{note.pk}/end/").status_code == 405
    planner.post(f"{LIST}{note.pk}/end/")
    note.refresh_from_db()
    assert not note.is_open
    assert note.end_ms > NOON_MS
    assert f"Remove annotation {note.pk}? queue" in said(planner.get(f"{LIST}{note.pk}/remove/"))
    assert Note.objects.exists()
    planner.post(f"{LIST}{note.pk}/remove/")
    assert not Note.objects.exists()


def test_alerts_of_ours_tell_of_themselves(planner):
    note = Note.objects.create(ts_ms=NOON_MS, is_open=True, kind="alert", text="full", fingerprint="alert:1")
    page = planner.get(LIST).content.decode()
    assert f"annotations/{note.pk}/" not in page
    assert '<a href="/live/alerts/1/">full</a>' in page
    for end in ("", "end/", "remove/"):
        assert planner.post(f"{LIST}{note.pk}/{end}").status_code == 404


def test_the_list_is_narrowed_and_comes_in_pages(client):
    Watch.objects.create(name="east")
    deploy = Note.objects.create(ts_ms=NOON_MS, kind="deploy", text="Router 1.4")
    east = Note.objects.create(ts_ms=NOON_MS + 60_000, kind="note", text="on call", watch="east")
    goes_on = Note.objects.create(ts_ms=NOON_MS - 60_000, kind="grafana", text="queue", is_open=True, watch="west")
    assert rows(client) == [east.pk, deploy.pk, goes_on.pk]
    assert rows(client, "?kind=deploy") == rows(client, "?text=router") == [deploy.pk]
    assert rows(client, "?watch=east") == [east.pk, deploy.pk]  # those of all are of east, too
    assert rows(client, "?start=2026-09-21T14:14:00Z") == [east.pk, goes_on.pk]
    assert rows(client, "?end=2026-09-21+14:13") == [goes_on.pk]
    assert rows(client, "?open=on") == [goes_on.pk]
    answer = client.get(f"{LIST}?start=soon&kind=party")
    assert answer.status_code == 400
    assert "must be UTC as 2026-11-29 10:00" in said(answer)
    Note.objects.bulk_create(Note(ts_ms=1, text=f"old {at}") for at in range(50))
    assert len(rows(client)) == 50
    assert len(rows(client, "?page=2")) == 3
    assert "?text=old&amp;page" not in client.get(f"{LIST}?text=old").content.decode()  # all of them are on one page


@pytest.mark.parametrize("end", ["new/", "1/", "1/end/", "1/remove/"])
def test_who_has_not_signed_in_changes_nothing(client, end):
    Note.objects.create(pk=1, ts_ms=NOON_MS, text="x", is_open=True)
    assert client.post(LIST + end, typed()).headers["Location"].startswith("/login/")
    assert Note.objects.get().is_open
