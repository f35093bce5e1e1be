"""The websocket of agents: acknowledged after the commit, in order, once; refused with a code that says why."""

import asyncio
import json

import pytest
from django.db import OperationalError

from monitoring import directory, inbox, pipeline, tokens
from monitoring.doors import websocket
from monitoring.models import Frame, Sample, Source, Token
from tests.monitoring import senders
from tests.monitoring.senders import Socket, asked, frame, now_ms, taking

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def secret():
    return senders.source()[1]


def points_stored():
    """Counted in the transaction that stores them."""
    return Source.objects.get().accepted


# --- acknowledgements --------------------------------------------------------------------------------------------


async def test_the_server_says_first_how_far_the_source_has_come(secret):
    await asked(lambda: Source.objects.update(last_seq=41))
    async with taking(), Socket(secret) as socket:
        assert await socket.answer() == {
            "hello": 1, "source": "gateway", "last_seq": 41, "most_in_flight": 64, "most_frame_bytes": 2**20,
        }  # fmt: skip


async def test_a_frame_is_acknowledged_once_it_is_committed(secret):
    async with taking(), Socket(secret) as socket:
        await socket.answer()
        await socket.send(frame(1, 0.01, 0.02))
        assert await socket.answer() == {"ack": 1, "accepted": 2, "rejected": []}
        assert await asked(points_stored) == 2


async def test_nothing_is_acknowledged_before_the_commit(secret, monkeypatch):
    working, may = inbox.commit, asyncio.Event()
    loop = asyncio.get_running_loop()

    def commit(offers):
        asyncio.run_coroutine_threadsafe(may.wait(), loop).result(10)
        return working(offers)

    monkeypatch.setattr(inbox, "commit", commit)
    async with taking(), Socket(secret) as socket:
        await socket.answer()
        await socket.send(frame(1, 0.01))
        await asyncio.sleep(0.2)
        assert socket.said.empty()
        may.set()
        assert (await socket.answer())["ack"] == 1


async def test_many_frames_are_in_flight_and_their_acknowledgements_are_in_order(secret):
    async with taking(), Socket(secret) as socket:
        await socket.answer()
        for seq in range(1, 201):
            await socket.send(frame(seq, 0.01, at=seq))
        assert [(await socket.answer())["ack"] for _ in range(200)] == list(range(1, 201))
        await senders.until(lambda: not Frame.objects.exists())
        assert await asked(Sample.objects.count) == 200


async def test_while_nothing_is_committed_no_more_is_received_than_the_bound(secret, monkeypatch):
    def commit(offers):
        raise OperationalError("the database is away")

    working = inbox.commit
    monkeypatch.setattr(inbox, "commit", commit)
    monkeypatch.setattr(pipeline, "LONGEST_PAUSE_S", 0.2)
    async with taking(), Socket(secret) as socket:
        await socket.answer()
        for seq in range(1, 301):
            await socket.send(frame(seq, 0.01, at=seq))
        await asyncio.sleep(0.5)
        assert socket.said.empty()
        # one more waits for its place, and one was taken from the queue to be answered
        assert 300 - socket.given.qsize() <= websocket.MOST_IN_FLIGHT + 2
        monkeypatch.setattr(inbox, "commit", working)
        assert [(await socket.answer())["ack"] for _ in range(300)] == list(range(1, 301))
        assert await asked(points_stored) == 300


async def test_a_frame_that_comes_again_is_acknowledged_and_not_stored_again(secret):
    async with taking(), Socket(secret) as socket:
        await socket.answer()
        await socket.send(frame(1, 0.01))
        await socket.send(frame(1, 0.05, 0.06))
        await socket.answer()
        assert await socket.answer() == {"ack": 1, "accepted": 0, "rejected": [], "duplicate": True}
    assert await asked(points_stored) == 1


async def test_a_sender_that_lost_its_connection_goes_on_from_where_it_was(secret):
    async with taking():
        async with Socket(secret) as socket:
            await socket.answer()
            await socket.send(frame(1, 0.01))
            await socket.answer()
        async with Socket(secret) as socket:
            assert (await socket.answer())["last_seq"] == 1


async def test_an_envelope_without_readings_says_that_its_sender_is_alive(secret):
    async with taking(), Socket(secret) as socket:
        await socket.answer()
        await socket.send(frame(1))
        assert await socket.answer() == {"ack": 1, "accepted": 0, "rejected": []}
    found = await asked(Source.objects.get)
    assert (found.last_seq, abs(found.last_seen_ms - now_ms()) < 60_000) == (1, True)


async def test_behind_a_frame_that_was_refused_none_is_stored_and_all_may_be_sent_again_as_they_were(
    secret, monkeypatch
):
    """Otherwise the last number would cover the refused one, for a sender that never heard of the refusal."""
    working, tried = inbox.commit, []

    def commit(offers):
        tried.extend(each.seq for each in offers)
        if 2 in tried and len(tried) <= 3:
            raise OperationalError("database or disk is full")
        return working(offers)

    monkeypatch.setattr(inbox, "commit", commit)
    async with taking():
        async with Socket(secret) as socket:
            await socket.answer()
            await socket.send(frame(1, 0.01))
            assert (await socket.answer())["accepted"] == 1
            for seq in (2, 3):
                await socket.send(frame(seq, 0.01, at=10 * seq))
            assert await socket.answer() == {
                "ack": 2, "accepted": 0, "rejected": [], "refused": "the disk of the database is full",
            }  # fmt: skip
            await socket.send(frame(4, 0.01, at=40))
            assert await socket.closed() == (1013, "the disk of the database is full")
        async with Socket(secret) as socket:
            assert (await socket.answer())["last_seq"] == 1
            for seq in (2, 3, 4):
                await socket.send(frame(seq, 0.01, at=10 * seq))
            assert [(await socket.answer())["accepted"] for _ in range(3)] == [1, 1, 1]


# --- what is not taken -------------------------------------------------------------------------------------------


def reading(ts_ms, **changes):
    return {"name": "link_rtt_s", "kind": "gauge", "labels": {"link": "wan"}, "points": [[ts_ms, 0.01]], **changes}


async def test_readings_are_rejected_by_their_place_and_all_others_stored(secret):
    now = now_ms()
    readings = [
        reading(now),
        reading(now, points=[]),
        reading(now - 11 * 60_000, labels={"link": "b"}),
        reading(now + 120_000, labels={"link": "c"}),
        reading(now, name="nobody_knows_it"),
        reading(now, labels={"link": "d\0"}),
        reading(now, kind="counter", labels={"link": "e"}),
        reading(now, name="requests", kind="counter", points=[[now, -5]]),
        reading(now, name="queued_requests", labels={"stage": "kitchen"}),
    ]
    async with taking() as intake, Socket(secret) as socket:
        await socket.answer()
        await socket.send(json.dumps({"v": 1, "seq": 1, "readings": readings}))
        answer = await socket.answer()
        noted = intake.reasons(await asked(lambda: Source.objects.get().pk))
    assert (answer["accepted"], answer["ignored"]) == (1, 1)
    assert [each["index"] for each in answer["rejected"]] == [1, 2, 3, 5, 6, 7, 8]
    said = [each["reason"] for each in answer["rejected"]]
    assert said == [
        "has no points",
        "link_rtt_s: is older than 10 min",
        "link_rtt_s: is more than 60 s ahead of our clock",
        "link_rtt_s: label link has a character that cannot be stored",
        "link_rtt_s: is a counter, and the mapping does not say (kind) that it is a gauge",
        "requests: -5 is less than nothing",
        "queued_requests: stage is kitchen, of which the mapping knows no stage; it knows prefill, transfer, decode",
    ]
    assert {reason for reason, _ in noted} == set(said)
    assert (await asked(Source.objects.get)).rejected == 7


async def test_frames_of_many_series_are_stored_as_they_were_sent_whatever_else_is_in_them(secret):
    now = now_ms()
    histogram = {"le": [0.1], "n": [1, 2], "sum": 0.5}
    others = [
        reading(now, name="ttft_s", kind="histogram", points=[[now, histogram]]),
        reading(now, name="nobody_knows_it"),
        reading(now - 11 * 60_000, labels={"link": "late"}),
    ]
    async with taking(), Socket(secret) as socket:
        await socket.answer()
        for seq in (1, 2):
            plain = [reading(now, labels={"link": f"l{at}"}, points=[[now + seq, seq + at / 8]]) for at in range(6)]
            await socket.send(json.dumps({"v": 1, "seq": seq, "readings": [*plain, *(others if seq == 2 else ())]}))
        assert await socket.answer() == {"ack": 1, "accepted": 6, "rejected": []}
        answer = await socket.answer()
        assert (answer["accepted"], answer["ignored"], [each["index"] for each in answer["rejected"]]) == (7, 1, [8])
        await senders.until(lambda: not Frame.objects.exists())
    found = await asked(lambda: list(Sample.objects.values_list("series__labels__link", "ts_ms", "value")))
    plain = {(f"l{at}", now + seq, seq + at / 8) for seq in (1, 2) for at in range(6)}
    assert set(found) == {*plain, (None, now, 0.5)}  # a time to first token is of no link


async def test_a_frame_that_cannot_be_read_is_told_and_the_connection_lives(secret):
    async with taking(), Socket(secret) as socket:
        await socket.answer()
        await socket.send("no json")
        await socket.send(frame(1, 0.01, source="another"))
        await socket.send(frame(2, 0.01))
        assert (await socket.answer())["error"].startswith("frame 1 is no JSON object")
        assert "the token is that of gateway" in (await socket.answer())["error"]
        assert (await socket.answer())["ack"] == 2


async def test_who_sends_nothing_but_garbage_is_disconnected(secret):
    async with taking(), Socket(secret) as socket:
        for _ in range(websocket.MOST_ERRORS):
            await socket.send(b"\xff\xfe")
        code, reason = await socket.closed()
    assert code == 4400
    assert "10 frames in a row" in reason


async def test_a_frame_that_is_too_large_ends_the_connection(secret):
    async with taking(), Socket(secret) as socket:
        await socket.send(b"x" * (2**20 + 1))
        assert (await socket.closed())[0] == 4413


# --- who may send ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({}, 4401),
        ({"query": b"token=x", "secret": "x"}, 4401),
        ({"headers": [(b"authorization", b"Digest x")]}, 4401),
        ({"secret": "of nobody"}, 4403),
        ({"secret": "x" * 300}, 4401),
    ],
)
async def test_without_a_token_of_ours_the_connection_ends_with_a_code_that_says_why(given, code):
    async with taking(), Socket(**given) as socket:
        assert (await socket.closed())[0] == code


async def test_a_disabled_source_is_sent_away(secret):
    await asked(lambda: Source.objects.update(enabled=False))
    async with taking(), Socket(secret) as socket:
        assert (await socket.closed())[0] == 4403


async def test_a_token_that_is_revoked_ends_the_connections_that_it_opened(secret, monkeypatch):
    monkeypatch.setattr(directory, "FRESH_S", 0.0)
    async with taking(), Socket(secret) as socket:
        await socket.answer()
        await asked(Token.objects.all().delete)
        await socket.send(frame(1, 0.01))
        assert (await socket.closed())[0] == 4403
    assert await asked(points_stored) == 0


async def test_a_new_token_is_known_at_once_and_both_work(secret, monkeypatch):
    monkeypatch.setattr(directory, "AT_LEAST_S", 0.0)
    async with taking(), Socket(secret) as socket:
        await socket.answer()
        other = await asked(lambda: tokens.create(Source.objects.get())[1])
        async with Socket(other) as second:
            assert (await second.answer())["hello"] == 1


async def test_before_telemetry_is_taken_senders_are_asked_to_try_again(secret):
    async with Socket(secret) as socket:
        assert (await socket.closed())[0] == 1013


async def test_browsers_sockets_are_still_held_to_their_origin():
    socket = Socket()
    socket.scope["path"] = "/ws/jobs/00000000-0000-0000-0000-000000000000/"
    socket.scope["headers"] = [(b"origin", b"http://elsewhere.example"), (b"host", b"localhost")]
    socket.task = asyncio.create_task(senders.application(socket.scope, socket.given.get, socket._send))
    await socket.given.put({"type": "websocket.connect"})
    assert (await socket.event())["type"] == "websocket.close"
    await socket.given.put({"type": "websocket.disconnect", "code": 1006})
    await asyncio.wait_for(socket.task, 10)


# --- agents that are there already -------------------------------------------------------------------------------


async def test_frames_without_a_number_are_numbered_by_the_connection(secret):
    metric = {"name": "link_rtt_s", "tags": {"link": "wan"}, "fields": {"gauge": 0.01}, "timestamp": now_ms()}
    event = {"name": "link_rtt_s", "tags": {"link": "wan2"}, "kind": "absolute", "gauge": {"value": 0.01}}
    async with taking(), Socket(secret) as socket:
        await socket.answer()
        await socket.send(json.dumps({"metrics": [metric]}).encode())
        await socket.send(json.dumps(event))
        assert [await socket.answer() for _ in range(2)] == [
            {"ack": 1, "accepted": 1, "rejected": []}, {"ack": 2, "accepted": 1, "rejected": []},
        ]  # fmt: skip
