"""Histograms cut over remote writes, through the door: what was acknowledged waits in the database, and is whole."""

import numpy as np
import pytest

from monitoring import assembling, quarantine
from monitoring.models import Frame, Pending, Quarantined, Sample, Source
from monitoring.storage import pending
from tests.monitoring import senders
from tests.monitoring.senders import asked, now_ms, taking, until
from tests.monitoring.test_http_doors import write
from tests.monitoring.test_remote_write import histogram, packed_request

pytestmark = pytest.mark.django_db(transaction=True)
NAME = "vllm:request_prefill_kv_computed_tokens"
CUMULATIVE = {"100": 5.0, "1000": 7.0, "+Inf": 8.0}
ALONE = [5.0, 2.0, 1.0]


@pytest.fixture
def secret():
    return senders.source(labels={"role": "prefill"})[1]


@pytest.fixture
def hurried(monkeypatch):
    """What was never met is whole after a fifth of a second."""
    monkeypatch.setattr(assembling, "SETTLED_AFTER_MS", 200)
    monkeypatch.setattr(pending, "AGAIN_MS", 50)
    monkeypatch.setattr(quarantine, "SETTLED_EVERY_S", 0.05)


def series(ts_ms, times=1):
    """Of a histogram that has observed so many times as much."""
    labels = {"model_name": "m", "engine": "0"}
    return histogram(NAME, {le: times * value for le, value in CUMULATIVE.items()}, 3000.0, ts_ms, labels)


async def sent(secret, *given):
    answer = await write(packed_request(*given), secret)
    assert answer.status_code == 204, answer.text


def stored():
    return [np.frombuffer(bytes(row.counts)).tolist() for row in Sample.objects.filter(counts__isnull=False)]


async def test_two_messages_are_one_histogram(secret, monkeypatch, hurried):
    monkeypatch.setattr(assembling, "SETTLED_AFTER_MS", 3000)  # even a busy machine sends the second by then
    parts = series(now_ms())
    async with taking():
        await sent(secret, *parts[:2])
        await sent(secret, *parts[2:])
        await until(lambda: stored() == [ALONE])
    source = await asked(Source.objects.get)
    assert (source.accepted, source.rejected) == (1, 0)
    assert not await asked(Pending.objects.exists)


async def test_what_was_acknowledged_waits_through_the_end_of_the_server(secret, monkeypatch, hurried):
    parts = series(now_ms())
    with monkeypatch.context() as patched:
        patched.setattr(assembling, "SETTLED_AFTER_MS", 60_000)
        async with taking():
            await sent(secret, *parts[:2])
            await until(lambda: Pending.objects.exists() and not Frame.objects.exists())
    assert await asked(stored) == []
    async with taking():
        await sent(secret, *parts[2:])
        await until(lambda: stored() == [ALONE])


async def test_once_met_a_histogram_is_not_waited_for(secret, monkeypatch, hurried):
    first = now_ms()
    async with taking():
        await sent(secret, *series(first))
        await until(lambda: len(stored()) == 1)
        monkeypatch.setattr(assembling, "SETTLED_AFTER_MS", 60_000)
        parts = series(first + 1000, times=2)
        await sent(secret, *parts[:1])
        await sent(secret, *parts[1:])
        await until(lambda: [10.0, 4.0, 2.0] in stored())


async def test_what_never_becomes_whole_is_told_at_its_source(secret, monkeypatch, hurried):
    async with taking() as intake:
        await sent(secret, *series(now_ms()))
        await until(lambda: len(stored()) == 1)
        monkeypatch.setattr(assembling, "GIVEN_UP_AFTER_MS", 300)
        await sent(secret, *series(now_ms() + 1000)[:2])
        await until(lambda: Source.objects.get().rejected == 1)
        source = await asked(Source.objects.get)
        [(reason, count)] = intake.reasons(source.pk)
    assert (reason, count) == (f"{NAME}: 3 of the 5 series of a histogram did not come within 0 s", 1)
    assert not await asked(Pending.objects.exists)


async def test_what_waits_and_is_damaged_is_set_aside_and_stops_nothing(secret, hurried):
    def damage():
        Pending.objects.create(source=Source.objects.get(), due_ms=0, payload=b"damaged")

    await asked(damage)
    async with taking():
        await until(lambda: Quarantined.objects.filter(payload=b"damaged", is_parts=True).exists())
        await sent(secret, *series(now_ms()))
        await until(lambda: stored() == [ALONE])
    assert await asked(Quarantined.objects.count) == 1


async def test_parts_out_of_their_time_are_rejected_with_the_reason(secret):
    async with taking():
        answer = await write(packed_request(*series(now_ms() - 3_600_000)), secret)
    assert (answer.status_code, "older than 10 min" in answer.text) == (400, True)
    assert not await asked(Frame.objects.exists)
