"""From an offer to samples: acknowledged after the commit, once, by one writer; and when the disk is full."""

import asyncio
import contextlib

import pytest
from django.db import OperationalError, transaction

from monitoring import inbox, pipeline
from monitoring.inbox import Offer
from monitoring.lease import Holder, Lost
from monitoring.models import Frame, Lease, Sample, Series, Source
from monitoring.pipeline import Full, Lane, Pipeline, Refused, Unstorable
from monitoring.readings import Point
from monitoring.wire import Mapped
from tests.monitoring.senders import asked, until

pytestmark = pytest.mark.django_db(transaction=True)
NOW_MS = 1_790_000_000_000


@pytest.fixture
def source():
    return Source.objects.create(name="router")


def offer(source, seq=None, at=0, points=1, **more):
    found = tuple(Point(NOW_MS + at + step, float(step)) for step in range(points))
    return Offer(source.pk, NOW_MS + at, [Mapped("link_rtt_s", "gauge", (("link", "wan"),), found)], seq, **more)


@contextlib.asynccontextmanager
async def running():
    found = Pipeline()
    found.start()
    try:
        yield found
    finally:
        await found.stop()


# --- the inbox ---------------------------------------------------------------------------------------------------


def test_a_number_is_committed_once(source):
    assert inbox.commit([offer(source, 1), offer(source, 2), offer(source, 2), offer(source, 1)]) == [
        True, True, False, False,
    ]  # fmt: skip
    assert inbox.commit([offer(source, 2), offer(source, 3)]) == [False, True]
    assert Frame.objects.count() == 3
    source.refresh_from_db()
    assert (source.last_seq, source.accepted) == (3, 3)


def test_what_has_no_number_is_always_taken(source):
    assert inbox.commit([offer(source), offer(source)]) == [True, True]


def test_a_source_that_is_gone_takes_nothing(source):
    given = offer(source, 1)
    source.delete()
    assert inbox.commit([given]) == [False]
    assert not Frame.objects.exists()


def test_a_clock_that_differs_is_noted_and_smoothed(source):
    inbox.commit([offer(source, 1, skew_ms=1000)])
    inbox.commit([offer(source, 2, skew_ms=2000)])
    source.refresh_from_db()
    assert source.skew_ms == 1100


# --- the pipeline ------------------------------------------------------------------------------------------------


async def test_an_offer_is_told_of_after_its_commit_and_then_sorted_in(source):
    async with running() as found:
        assert await found.offer(offer(source, 1, points=5)) is True
        await until(lambda: Sample.objects.count() == 5)
        assert await found.offer(offer(source, 1, points=5)) is False
        assert found.is_leading
        assert found.waiting_bytes == 0
    assert await asked(Sample.objects.count) == 5


async def test_while_the_database_does_not_answer_nothing_is_acknowledged_and_nothing_lost(source, monkeypatch):
    working, tried = inbox.commit, []

    def commit(offers):
        tried.append(len(offers))
        if len(tried) < 3:
            raise OperationalError("the database is away")
        return working(offers)

    monkeypatch.setattr(inbox, "commit", commit)
    monkeypatch.setattr(pipeline, "FIRST_PAUSE_S", 0.01)
    async with running() as found:
        assert await found.offer(offer(source, 1)) is True
    assert len(tried) == 3
    assert await asked(Source.objects.values_list("last_seq", flat=True).get) == 1


async def test_a_full_disk_is_a_reason(source, monkeypatch):
    def commit(offers):
        raise OperationalError("database or disk is full")

    monkeypatch.setattr(inbox, "commit", commit)
    async with running() as found:
        with pytest.raises(Refused, match="disk of the database is full"):
            await found.offer(offer(source, 1))


async def test_one_offer_that_cannot_be_stored_does_not_stop_the_next(source, monkeypatch):
    working = inbox.commit

    def commit(offers):
        if any(each.seq == 1 for each in offers):
            raise ValueError("no such thing")
        return working(offers)

    monkeypatch.setattr(inbox, "commit", commit)
    async with running() as found:
        with pytest.raises(Refused, match="no such thing"):
            await found.offer(offer(source, 1))
        assert await found.offer(offer(source, 2)) is True


async def test_of_many_in_one_commit_only_the_one_that_cannot_be_stored_is_refused_for_good(source, monkeypatch):
    working = inbox.commit

    def commit(offers):
        if any(each.seq == 5 for each in offers):
            raise ValueError("no such thing")
        return working(offers)

    monkeypatch.setattr(inbox, "commit", commit)
    found, lane = Pipeline(), Lane()
    given = [found.enqueue(offer(source, seq, at=seq), lane) for seq in range(1, 10)]
    found.start()
    outcomes = await asyncio.wait_for(asyncio.gather(*given, return_exceptions=True), 10)
    await found.stop()
    assert isinstance(outcomes.pop(4), Unstorable)
    assert outcomes == [True] * 8


async def test_what_follows_a_refused_offer_in_its_lane_is_refused_with_it_and_other_lanes_are_not(source):
    found, broken, whole = Pipeline(), Lane(is_broken=True), Lane()
    with pytest.raises(Refused):
        await found.enqueue(offer(source, 1), broken)
    found.start()
    assert await asyncio.wait_for(found.enqueue(offer(source, 1), whole), 10) is True
    await found.stop()


async def test_no_more_is_taken_than_there_is_room_for(source, monkeypatch):
    found = Pipeline()
    waits = [found.enqueue(offer(source, 1))]
    size = found.waiting_bytes
    monkeypatch.setattr(pipeline, "MOST_BYTES", 3 * size)
    waits += [found.enqueue(offer(source, seq)) for seq in (2, 3)]
    with pytest.raises(Full):
        found.enqueue(offer(source, 4))
    assert found.waiting_bytes == 3 * size
    late = asyncio.create_task(found.offer(offer(source, 50)))
    await asyncio.sleep(0.05)
    assert not late.done()
    found.start()
    assert await asyncio.wait_for(late, 10) is True
    assert all(await asyncio.gather(*waits))
    await found.stop()


async def test_when_the_writer_is_behind_nothing_is_committed_until_it_has_caught_up(source, monkeypatch):
    monkeypatch.setattr(pipeline, "MOST_FRAMES", 0)
    async with running() as found:
        await asyncio.gather(*[found.offer(offer(source, seq, at=seq)) for seq in range(1, 5)])
        await until(lambda: Sample.objects.count() == 4)


async def test_what_is_kept_no_longer_is_deleted_by_the_one_who_writes(source, monkeypatch):
    monkeypatch.setattr(pipeline, "EXPIRE_EVERY_S", 0.05)
    async with running() as found:
        # The samples are of a day long past.
        await found.offer(offer(source, 1, points=3))
        await until(lambda: Series.objects.exists() and not Sample.objects.exists())


# --- who writes --------------------------------------------------------------------------------------------------


def test_one_of_two_holds_the_lease():
    first, second = Holder(), Holder()
    assert first.take()
    assert not second.take()
    assert first.take()
    with transaction.atomic():
        first.require()
    with pytest.raises(Lost), transaction.atomic():
        second.require()


def test_a_lease_that_ran_out_is_taken_and_the_former_holder_may_no_longer_write():
    first, second = Holder(), Holder()
    first.take()
    Lease.objects.update(expires_at="2020-01-01T00:00:00Z")
    assert second.take()
    with pytest.raises(Lost), transaction.atomic():
        first.require()
    assert not first.take()


def test_a_lease_that_was_given_up_is_taken_at_once():
    first, second = Holder(), Holder()
    first.take()
    first.give_up()
    assert second.take()
    assert Lease.objects.get().epoch == 2


async def test_when_the_leader_ends_another_one_goes_on(source):
    async with running() as first:
        await until(lambda: Lease.objects.exists())
        async with running() as second:
            await second.offer(offer(source, 1))
            await until(lambda: Sample.objects.count() == 1)
            assert first.is_leading
            assert not second.is_leading
            await first.stop()
            await second.offer(offer(source, 2, at=10))
            await until(lambda: Sample.objects.count() == 2)
            assert second.is_leading
