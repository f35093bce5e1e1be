"""Senders of a replay against servers that fail: what is not acknowledged is sent again, and a day keeps its pace."""

import asyncio
import contextlib
import json

import httpx
import pytest
from websockets.asyncio.server import serve

from monitoring.readings import Point, Reading
from monitoring.replaying import playing, sending
from monitoring.replaying.day import Day, Restart, Silence
from monitoring.replaying.emulated import Emulated, Metric
from monitoring.replaying.pace import Pace
from monitoring.replaying.sending import Framed, Paged, Pushed, Rejected, serve_pages

T0 = 1_790_000_000_000
LIVE = Pace(T0, 1.0)


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch):
    monkeypatch.setattr(sending, "FIRST_PAUSE_S", 0.01)


def reading(value=1.0):
    return [Reading("link_rtt_s", {"link": "wan"}, "gauge", (Point(T0, value),))]


# --- the websocket -----------------------------------------------------------------------------------------------


class Door:
    """A websocket that takes frames; it goes away before it acknowledges those of `lost`, once each."""

    def __init__(self, last_seq=None, lost=()):
        self.last_seq, self.lost, self.taken = last_seq, set(lost), []

    async def __call__(self, socket):
        await socket.send(json.dumps({"hello": 1, "source": "demo", "last_seq": self.last_seq, "most_in_flight": 64}))
        async for frame in socket:
            seq = json.loads(frame)["seq"]
            if seq in self.lost:
                self.lost.remove(seq)
                return
            is_new = self.last_seq is None or seq > self.last_seq
            if is_new:
                self.last_seq = seq
                self.taken.append(seq)
            await socket.send(json.dumps({"ack": seq, "accepted": int(is_new), "rejected": []}))

    @contextlib.asynccontextmanager
    async def opened(self):
        async with serve(self, "127.0.0.1", 0) as server:
            yield Framed(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", "a token")


async def test_frames_that_were_not_acknowledged_are_sent_again_and_in_order():
    door = Door(lost=(2, 5))
    async with door.opened() as sender:
        for _ in range(20):
            await sender.send(reading(), T0)
        await sender.close()
    assert door.taken == list(range(1, 21))


async def test_a_sender_goes_on_after_the_last_number_that_the_server_has():
    door = Door(last_seq=41)
    async with door.opened() as sender:
        await sender.send(reading(), T0)
        await sender.close()
    assert door.taken == [42]


async def test_a_frame_that_cannot_be_read_ends_the_replay():
    async def refusing(socket):
        await socket.send('{"hello": 1, "last_seq": null}')
        await socket.recv()
        await socket.send('{"error": "frame 1 is no envelope"}')

    async with serve(refusing, "127.0.0.1", 0) as server:
        sender = Framed(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", "a token")
        await sender.send(reading(), T0)
        with pytest.raises(Rejected, match="frame 1 is no envelope"):
            await sender.close()


async def test_a_websocket_that_stays_closed_to_a_token_is_told(monkeypatch):
    monkeypatch.setattr(sending, "TRIED_WITH_TOKEN_S", 0.05)

    async def closed(socket):
        await socket.close(4403, "the token is not known")

    async with serve(closed, "127.0.0.1", 0) as server:
        sender = Framed(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", "a token")
        with pytest.raises(Rejected, match="closes with 4403: the token is not known"):
            await asyncio.wait_for(sender.send(reading(), T0), 10)


# --- doors of HTTP -----------------------------------------------------------------------------------------------


def pushed(monkeypatch, *answers, kind="otlp"):
    """A sender whose requests are answered by these, in turn, and the bodies that it has sent."""
    bodies, left = [], list(answers)

    def answer(request):
        bodies.append(request.content)
        found = left.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    sender = Pushed(kind, "http://planner", "a token")
    sender._client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    return sender, bodies


@pytest.mark.parametrize(
    "first", [httpx.Response(503, headers={"Retry-After": "0"}), httpx.ConnectError("gone"), httpx.Response(403)]
)
async def test_what_was_not_taken_is_sent_again_as_it_was(monkeypatch, first):
    sender, bodies = pushed(monkeypatch, first, httpx.Response(200))
    await sender.send(reading(), T0)
    await sender.close()
    assert len(bodies) == 2
    assert bodies[0] == bodies[1]


async def test_what_the_server_will_never_take_is_told(monkeypatch):
    sender, _ = pushed(monkeypatch, httpx.Response(415, text="speak 1.0"), kind="remote_write")
    with pytest.raises(Rejected, match=r"/api/v1/write answers 415: speak 1\.0"):
        await sender.send(reading(), T0)


async def test_a_token_that_stays_unknown_is_told(monkeypatch):
    monkeypatch.setattr(sending, "TRIED_WITH_TOKEN_S", 0.0)
    sender, _ = pushed(monkeypatch, httpx.Response(403, text="the token is not known"))
    with pytest.raises(Rejected, match="the token is not known"):
        await sender.send(reading(), T0)


# --- pages -------------------------------------------------------------------------------------------------------


async def test_pages_are_served_while_there_is_one():
    page = Paged()
    server = await serve_pages({"pd-decode": page}, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with httpx.AsyncClient(trust_env=False) as client:
        assert (await client.get(f"{address}/pd-decode/metrics")).status_code == 503
        await page.send(reading(0.5), T0)
        found = await client.get(f"{address}/pd-decode/metrics")
        assert (found.status_code, found.text.splitlines()[-1]) == (200, 'link_rtt_s{link="wan"} 0.5')
        assert (await client.get(f"{address}/elsewhere")).status_code == 404
        await page.close()
        assert (await client.get(f"{address}/pd-decode/metrics")).status_code == 503
    server.close()


# --- a day -------------------------------------------------------------------------------------------------------


def cut(steps, day=None, passed_s=1e9, pace=LIVE):
    return list(playing.batches("router", steps, day or Day(1000), pace, passed_s))


def test_a_message_has_what_is_due_and_no_more():
    assert cut([0.0, 1.0, 2.0, 3.0], passed_s=1.5) == [[0.0, 1.0], [2.0], [3.0]]


def test_a_message_does_not_grow_without_end():
    assert [len(batch) for batch in cut([float(at) for at in range(130)])] == [60, 60, 10]


def test_a_message_is_of_one_life_of_its_source_and_not_of_its_silence():
    day = Day(100, silences=(Silence("router", 2, 4),), restarts=(Restart("router", 5),))
    assert cut([float(at) for at in range(7)], day) == [[0, 1], [2, 3], [4], [5, 6]]


def test_who_has_a_page_writes_where_nobody_comes_for_it():
    assert playing.door("pd-decode", playing.Pages("127.0.0.1", 1)) == "page"
    assert playing.door("pd-decode", None) == "remote_write"
    assert playing.door("router", None) == "envelope"


async def test_a_day_is_sent_whole_but_for_its_silence(monkeypatch):
    counted = Metric("requests", "counter", {}, lambda since_s, at_s: at_s - since_s)
    source = Emulated("router", {}, ("prfaas",), (counted,))
    sent = []

    class Noting(Paged):
        async def send(self, readings, sent_ms):
            sent.extend(point.value for point in readings[0].points)

    monkeypatch.setattr(playing, "_sender", lambda *_: Noting())
    day = Day(6, silences=(Silence("router", 2, 4),), restarts=(Restart("router", 5),))
    pace = Pace(T0, 1000.0, as_recorded=True)
    assert await asyncio.wait_for(playing.play([source], day, pace, "", {}, None), 10) == {}
    assert sent == [0, 1, 4, 0, 1]
