"""One process makes the snapshots and numbers them, the others pass on what it has stored."""

import asyncio
import contextlib
import json

import pytest
from django.db import OperationalError, transaction

from monitoring import lease, pipeline
from monitoring.lease import Lost
from monitoring.live import ticker, ticks
from monitoring.live.board import Board
from monitoring.live.messages import Snapshot
from monitoring.live.ticker import Ticker
from monitoring.models import Tick
from monitoring.state import State
from tests.monitoring import senders

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(ticker, "EVERY_S", 0.02)
    monkeypatch.setattr(ticker, "LOOKED_EVERY_S", 0.02)


class Process:
    """What a ticker asks of the pipeline beside it."""

    def __init__(self, leads):
        self.is_leading, self.problems = leads, []

    async def as_leader(self, function):
        if self.problems:
            raise self.problems.pop(0)
        return await senders.asked(lambda: self._committed(function))

    @staticmethod
    def _committed(function):
        with transaction.atomic():
            return function()


@contextlib.asynccontextmanager
async def running(process):
    board, state = Board(), State()
    state.is_ready = True
    found = Ticker(state, process, board)
    found.start()
    try:
        yield board
    finally:
        await found.stop()


async def after(board, seq):
    async with asyncio.timeout(10):
        return await board.after(seq)


def stored():
    return ticks.store(Snapshot(0, 1_790_000_000_000, [], [])).decode()


async def test_who_leads_shows_what_it_has_stored_under_the_next_number():
    await senders.asked(stored)
    async with running(Process(leads=True)) as board:
        shown = await after(board, 0)
        assert shown.seq == 2
        kept = await senders.asked(lambda: bytes(Tick.objects.get(seq=2).payload).decode())
        assert shown.text == kept
        assert json.loads(shown.text)["watches"][0]["name"] == "all"
        assert (await after(board, 2)).seq == 3


async def test_who_does_not_lead_shows_what_is_stored_while_somebody_looks():
    async with running(Process(leads=False)) as board:
        first = await senders.asked(stored)
        with board.watching():
            assert (await after(board, 0)).text == first
            second = await senders.asked(stored)
            assert (await after(board, 1)).text == second
        async with asyncio.timeout(10):
            while board.newest is not None:  # what the next viewer would see first would be old
                await asyncio.sleep(0.01)
    assert await senders.asked(Tick.objects.count) == 2


@pytest.mark.parametrize("problem", [Lost("another one leads"), OperationalError("the database is away"), ValueError()])
async def test_a_snapshot_that_could_not_be_stored_is_shown_to_nobody_and_the_next_one_is(problem):
    process = Process(leads=True)
    process.problems.append(problem)
    async with running(process) as board:
        assert (await after(board, 0)).seq == 1
        assert not process.problems


async def test_whoever_takes_over_goes_on_with_the_numbers():
    second = Process(leads=False)
    async with running(Process(leads=True)) as first_board:
        last = (await after(first_board, 0)).seq
    async with running(second) as board:
        with board.watching():
            seq = (await after(board, 0)).seq
            assert seq >= last
            second.is_leading = True
            assert (await after(board, seq)).seq == seq + 1


def test_another_process_has_taken_over_within_ten_seconds():
    """At worst: renewed just before it was killed, asked for just before it ran out."""
    worst_s = lease.HELD_FOR.total_seconds() + lease.ASKED_EVERY_S + pipeline.DRAIN_EVERY_S
    assert worst_s + 1.0 + 0.5 < 10  # a tick, and a look of who passes it on
