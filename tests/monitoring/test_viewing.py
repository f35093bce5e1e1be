"""The websocket of viewers: the newest snapshot and each that follows; one that does not read harms nobody."""

import asyncio
import contextlib

import pytest

from monitoring.doors import viewing
from monitoring.live import service
from monitoring.live.board import Board
from monitoring.running import NotRunning


class Viewer:
    """One that reads what is sent as long as `reads` is set."""

    def __init__(self):
        self.given, self.seen = asyncio.Queue(), []
        self.reads, self.news = asyncio.Event(), asyncio.Event()
        self.reads.set()
        self.code = None

    async def send(self, message):
        if message["type"] == "websocket.accept":
            return
        await self.reads.wait()
        if message["type"] == "websocket.close":
            self.code = message["code"]
        else:
            self.seen.append(message["text"])
            self.news.set()

    async def has(self, *texts):
        """Waits until it has seen these, and nothing else."""
        async with asyncio.timeout(5):
            while len(self.seen) < len(texts):
                self.news.clear()
                await self.news.wait()
        assert self.seen == list(texts)

    def say(self, text):
        self.given.put_nowait({"type": "websocket.receive", "text": text})

    def leave(self):
        self.given.put_nowait({"type": "websocket.disconnect", "code": 1001})


@pytest.fixture
def board(monkeypatch):
    found = Board()
    monkeypatch.setattr(service, "board", lambda: found)
    return found


@contextlib.asynccontextmanager
async def looking():
    viewer = Viewer()
    viewer.given.put_nowait({"type": "websocket.connect"})
    task = asyncio.create_task(viewing.live({}, viewer.given.get, viewer.send))
    viewer.ended = task
    try:
        yield viewer
    finally:
        viewer.reads.set()
        viewer.leave()
        async with asyncio.timeout(5):
            await task


async def settled():
    """All that can go on without anybody else has."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_viewer_gets_the_newest_snapshot_at_once_and_each_that_follows(board):
    board.publish(7, b"seven")
    async with looking() as viewer:
        await viewer.has("seven")
        board.publish(8, b"eight")
        await viewer.has("seven", "eight")


async def test_before_there_is_one_it_waits(board):
    async with looking() as viewer:
        await settled()
        assert viewer.seen == []
        board.publish(1, b"one")
        await viewer.has("one")


async def test_one_that_is_slow_skips_to_the_newest_and_the_others_have_all(board):
    async with looking() as slow, looking() as quick:
        board.publish(1, b"1")
        await quick.has("1")
        await slow.has("1")
        slow.reads.clear()
        for seq in range(2, 50):
            board.publish(seq, str(seq).encode())
            await quick.has(*map(str, range(1, seq + 1)))
        assert slow.seen == ["1"]
        slow.reads.set()
        # the one that was on its way, then the newest: nothing is kept for it in between
        await slow.has("1", "2", "49")


async def test_one_that_does_not_read_at_all_is_let_go_and_told_why(board, monkeypatch):
    monkeypatch.setattr(viewing, "SEND_WITHIN_S", 0.05)
    async with looking() as stalled:
        stalled.reads.clear()
        board.publish(1, b"1")
        await settled()
        assert board.viewers == 1
        while board.viewers:
            await asyncio.sleep(0.01)
        stalled.reads.set()
        await stalled.ended
        assert stalled.code == viewing.TOO_SLOW


async def test_of_two_that_publish_the_later_number_is_shown(board):
    board.publish(5, b"5")
    board.publish(4, b"4")
    async with looking() as viewer:
        await viewer.has("5")


async def test_whoever_leaves_is_no_longer_counted(board):
    assert not board.looked_at.is_set()
    async with looking():
        await settled()
        assert (board.viewers, board.looked_at.is_set()) == (1, True)
    assert (board.viewers, board.looked_at.is_set()) == (0, False)


async def test_what_a_viewer_says_is_left_unless_it_is_very_long(board):
    async with looking() as viewer:
        viewer.say("hello")
        board.publish(1, b"1")
        await viewer.has("1")
        viewer.say("x" * (viewing.MOST_HEARD_BYTES + 1))
        await viewer.ended
        assert viewer.code == viewing.TOO_LARGE


async def test_while_nothing_runs_a_viewer_is_told_to_come_again(monkeypatch):
    def board():
        raise NotRunning("not yet")

    monkeypatch.setattr(service, "board", board)
    async with looking() as viewer:
        await viewer.ended
        assert viewer.code == viewing.AGAIN_LATER


async def test_a_relay_forgets_what_is_old_and_shows_nothing_until_there_is_something_new(board):
    board.publish(7, b"old")
    board.clear()
    async with looking() as viewer:
        await settled()
        assert viewer.seen == []
        board.publish(9, b"new")
        await viewer.has("new")
