"""A frame that was acknowledged and cannot be sorted in: those behind it are; it is kept, tried again or deleted."""

import asyncio

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection

from monitoring import pipeline, quarantine
from monitoring.lease import Holder
from monitoring.models import Frame, Quarantined, Sample, Source
from monitoring.pipeline import Pipeline
from monitoring.quarantine import Sorter
from monitoring.readings import Point
from monitoring.storage import writer
from monitoring.storage.writer import Writer
from monitoring.wire import Mapped, packed
from tests.monitoring.senders import asked, closing, until

pytestmark = pytest.mark.django_db(transaction=True)
NOW_MS = 1_790_000_000_000


@pytest.fixture
def source():
    return Source.objects.create(name="gateway-a")


@pytest.fixture
def sorter():
    holder = Holder()
    assert holder.take()
    return Sorter(Writer(), holder)


def payload(ts_ms, value=1.0, labels=(("link", "wan"),)):
    return packed([Mapped("link_rtt_s", "gauge", labels, (Point(ts_ms, value),))])


UNSORTABLE = {
    "no payload at all": b"",
    "a payload that was cut": payload(NOW_MS)[:-3],
    "a payload of another shape": b"\x93\x01\x02\x03",
    "a time that no column takes": payload(2**63),
    "a gauge without a number": payload(NOW_MS, float("nan")).replace(b"\xcb\x7f\xf8" + bytes(6), b"\xa1x"),
}


def waiting(source, *payloads):
    Frame.objects.bulk_create([Frame(source=source, received_ms=NOW_MS, points=1, payload=each) for each in payloads])


def drained(sorter):
    while sorter.drain():
        pass


@pytest.mark.parametrize("bad", UNSORTABLE.values(), ids=UNSORTABLE)
@pytest.mark.parametrize("before", [0, 1, 6])
def test_the_frames_before_and_behind_it_are_sorted_in_and_it_is_kept(source, sorter, bad, before):
    good = [payload(NOW_MS + step) for step in range(9)]
    waiting(source, *good[:before], bad, *good[before:])
    drained(sorter)
    assert sorted(Sample.objects.values_list("ts_ms", flat=True)) == [NOW_MS + step for step in range(9)]
    kept = Quarantined.objects.get()
    assert (bytes(kept.payload), kept.source, kept.points, kept.received_ms) == (bad, source, 1, NOW_MS)
    assert kept.reason
    assert kept.set_aside_ms > NOW_MS
    assert not Frame.objects.exists()


def test_what_the_database_will_not_have_is_set_aside_too(source, sorter):
    """PostgreSQL takes no NUL in text; SQLite does."""
    waiting(source, payload(NOW_MS, labels=(("link", "w\0n"),)), payload(NOW_MS + 1))
    drained(sorter)
    on_postgresql = connection.vendor == "postgresql"
    assert Quarantined.objects.count() == (1 if on_postgresql else 0)
    assert Sample.objects.count() == (1 if on_postgresql else 2)


def test_several_of_many_are_found(source, sorter):
    bad = {3, 4, 40, 99}
    waiting(source, *(b"" if step in bad else payload(NOW_MS + step) for step in range(100)))
    drained(sorter)
    assert (Sample.objects.count(), Quarantined.objects.count()) == (96, 4)


def test_while_the_database_does_not_answer_nothing_is_set_aside(source, sorter, monkeypatch):
    waiting(source, payload(NOW_MS))

    def away(*_):
        raise OperationalError("the database is away")

    monkeypatch.setattr(writer, "_oldest", away)
    with pytest.raises(OperationalError):
        sorter.drain()
    monkeypatch.undo()
    drained(sorter)
    assert (Sample.objects.count(), Quarantined.objects.count()) == (1, 0)


def test_what_is_tried_again_is_sorted_in_once_its_cause_is_gone(source, sorter, monkeypatch):
    waiting(source, payload(NOW_MS), payload(NOW_MS + 1))
    with monkeypatch.context() as patched:
        patched.setattr(writer, "unpacked", lambda _: 1 / 0)
        drained(sorter)
    assert [row.reason for row in Quarantined.objects.all()] == ["ZeroDivisionError: division by zero"] * 2
    assert quarantine.retry(source.quarantined.all()) == 2
    drained(sorter)
    assert (Sample.objects.count(), Quarantined.objects.count()) == (2, 0)


async def test_a_running_server_goes_on_over_it(source, monkeypatch):
    monkeypatch.setattr(pipeline, "_with_fresh_connection", closing)
    await asked(lambda: waiting(source, payload(NOW_MS), b"", payload(NOW_MS + 1)))
    found = Pipeline()
    found.start()
    try:
        await until(lambda: Sample.objects.count() == 2 and Quarantined.objects.count() == 1)
    finally:
        await asyncio.wait_for(found.stop(), 10)


# --- seen and dealt with -----------------------------------------------------------------------------------------

ADDRESS = "/api/v1/live/sources/gateway-a/quarantine/"


@pytest.fixture
def aside(source):
    fields = {"received_ms": NOW_MS, "points": 7, "payload": payload(NOW_MS), "set_aside_ms": NOW_MS + 5}
    return [Quarantined.objects.create(source=source, reason=f"reason {number}", **fields) for number in (1, 2)]


@pytest.fixture
def operator(client):
    client.force_login(User.objects.create_user("ada"))
    return client


def test_it_is_listed_with_reason_and_time_and_counted_at_its_source(client, aside):
    found = client.get(ADDRESS).json()
    assert found[0] == {
        "id": aside[0].pk, "received_ms": NOW_MS, "set_aside_ms": NOW_MS + 5, "points": 7, "reason": "reason 1",
    }  # fmt: skip
    assert client.get("/api/v1/live/sources/gateway-a/").json()["quarantined"] == 2


def test_one_or_all_are_tried_again_over_rest(operator, aside):
    assert operator.post(f"{ADDRESS}{aside[1].pk}/").json() == {"retried": 1}
    assert Quarantined.objects.get() == aside[0]
    assert operator.post(ADDRESS).json() == {"retried": 1}
    assert [bytes(frame.payload) for frame in Frame.objects.all()] == [payload(NOW_MS)] * 2


def test_one_is_deleted_over_rest(operator, aside):
    assert operator.delete(f"{ADDRESS}{aside[0].pk}/").status_code == 204
    assert Quarantined.objects.get() == aside[1]
    assert operator.delete(f"{ADDRESS}{aside[0].pk}/").status_code == 404


def test_who_is_not_signed_in_changes_nothing(client, aside):
    answers = [client.post(ADDRESS), client.delete(f"{ADDRESS}{aside[0].pk}/")]
    assert {each.status_code for each in answers} <= {401, 403}
    client.post("/live/sources/gateway-a/quarantine/", {"do": "retry"})
    assert Quarantined.objects.count() == 2


def test_the_page_of_the_source_shows_them_with_buttons(operator, aside):
    page = operator.get("/live/sources/gateway-a/").content.decode()
    for shown in ("2 frames that were acknowledged", "reason 1", "reason 2", "Try all again"):
        assert shown in page
    operator.post("/live/sources/gateway-a/quarantine/", {"do": f"delete {aside[0].pk}"})
    operator.post("/live/sources/gateway-a/quarantine/", {"do": "delete"})  # all at once: by no button
    assert Quarantined.objects.get() == aside[1]
    operator.post("/live/sources/gateway-a/quarantine/", {"do": "retry"})
    assert (Quarantined.objects.count(), Frame.objects.count()) == (0, 1)


def test_the_page_says_nothing_of_it_where_there_is_none(client, source):
    assert "Set aside" not in client.get("/live/sources/gateway-a/").content.decode()
