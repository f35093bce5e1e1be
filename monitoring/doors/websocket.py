"""`/ws/ingest/`: frames in, acknowledgements out, each after its commit and in the order of the frames.

A raw ASGI coroutine, not a consumer of Channels: the dispatch of each message would take longer than reading it.
`docs/telemetry-ingest.md` and `docs/asyncapi.yaml` say what goes over the wire.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs

import msgspec
from django.db import DatabaseError

from monitoring import running
from monitoring.credentials import of_headers
from monitoring.directory import Known
from monitoring.intake import Intake, Taken
from monitoring.pipeline import Lane, Refused, Unstorable
from monitoring.readings import Malformed, Rejected
from monitoring.sources import frames
from monitoring.sources.envelope import Message

logger = logging.getLogger(__name__)

MOST_FRAME_BYTES = 2**20
MOST_IN_FLIGHT = 64
"""Frames of a connection that wait for their commit; then no more is received, and TCP holds the sender back."""
MOST_ERRORS = 10
"""Frames in a row that cannot be read."""
MOST_REJECTED = 100
"""That are told one by one."""
SEND_WITHIN_S = 30.0
"""Whoever does not receive its acknowledgements is disconnected."""

NO_TOKEN, NOT_KNOWN, TOO_LARGE, GARBAGE, AGAIN_LATER = 4401, 4403, 4413, 4400, 1013

type Scope = dict[str, Any]
type Receive = Callable[[], Awaitable[dict[str, Any]]]
type Send = Callable[[dict[str, Any]], Awaitable[None]]


class Hello(msgspec.Struct, omit_defaults=True):
    """The first that is said; a sender goes on after `last_seq`. For those without numbers it is left away."""

    hello: int
    source: str
    last_seq: int | None
    most_in_flight: int
    most_frame_bytes: int


class Ack(msgspec.Struct, omit_defaults=True):
    """Of one frame: that it is stored, with how many points; or, in `refused`, why nothing of it is."""

    ack: int
    accepted: int
    """Points."""
    rejected: list[Rejected]
    more_rejected: int = 0
    ignored: int = 0
    """Readings that no mapping takes."""
    duplicate: bool = False
    refused: str = ""


class Failure(msgspec.Struct):
    """Of a frame that could not be read, in its place among the acknowledgements."""

    error: str


class Closing(Exception):
    """The connection ends with this code and reason."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


type Answer = Failure | tuple[int, Message, Taken, asyncio.Future[bool]]

_encoder = msgspec.json.Encoder()


async def ingest(scope: Scope, receive: Receive, send: Send) -> None:
    """The ASGI application of the address."""
    await receive()  # websocket.connect
    await send({"type": "websocket.accept"})  # only what was accepted can be closed with a code of ours
    try:
        connection = await _opened(scope, receive, send)
        await connection.run()
    except Closing as end:
        with contextlib.suppress(OSError):
            await send({"type": "websocket.close", "code": end.code, "reason": end.reason})
    except OSError:  # it is gone
        pass


async def _opened(scope: Scope, receive: Receive, send: Send) -> Connection:
    """Raises Closing."""
    if parse_qs(scope.get("query_string", b"").decode("latin-1")).keys() & {"token", "access_token"}:
        raise Closing(NO_TOKEN, "a token in the address is written to logs: send it as Authorization: Bearer")
    secret = of_headers(dict(scope["headers"]).get(b"authorization", b"").decode("latin-1"))
    if secret is None:
        raise Closing(NO_TOKEN, "send Authorization: Bearer TOKEN")
    try:
        intake = running.intake()
        known = await intake.directory.find(secret)
        if known is None:
            raise Closing(NOT_KNOWN, "the token is not known, was revoked, or its source is disabled")
        last_seq = await intake.directory.last_seq(known)
    except (running.NotRunning, DatabaseError):
        raise Closing(AGAIN_LATER, "telemetry cannot be taken just now: try again") from None
    return Connection(intake, known, secret, receive, send, last_seq)


class Connection:
    """A sender that is connected: one task receives, another one answers."""

    def __init__(
        self, intake: Intake, known: Known, secret: str, receive: Receive, send: Send, last_seq: int | None
    ) -> None:
        self._intake, self._known, self._secret = intake, known, secret
        self._receive, self._send = receive, send
        self._last_seq = last_seq
        self._answers: asyncio.Queue[Answer] = asyncio.Queue(MOST_IN_FLIGHT)
        self._frames = self._errors = 0
        self._lane = Lane()

    async def run(self) -> None:
        """Until one of both ends. Raises Closing, and OSError where the sender is gone."""
        await self._say(Hello(1, self._known.name, self._last_seq, MOST_IN_FLIGHT, MOST_FRAME_BYTES))
        tasks = [asyncio.create_task(each()) for each in (self._receive_all, self._answer_all)]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._let_go()

    def _let_go(self) -> None:
        """Nobody awaits what is in flight any more; it is committed all the same."""
        while not self._answers.empty():
            answer = self._answers.get_nowait()
            if not isinstance(answer, Failure):
                answer[3].cancel()

    async def _say(self, message: msgspec.Struct) -> None:
        try:
            async with asyncio.timeout(SEND_WITHIN_S):
                await self._send({"type": "websocket.send", "text": _encoder.encode(message).decode()})
        except TimeoutError:
            raise Closing(AGAIN_LATER, "acknowledgements are not received") from None

    # --- receiving ----------------------------------------------------------------------------------------------

    async def _receive_all(self) -> None:
        while (event := await self._receive())["type"] != "websocket.disconnect":
            text = event.get("text")
            body: bytes | str = event["bytes"] if text is None else text
            if len(body) > MOST_FRAME_BYTES:
                raise Closing(TOO_LARGE, f"a frame has more than {MOST_FRAME_BYTES} bytes: send smaller ones")
            await self._check()
            await self._answers.put(await self._answer(body))

    async def _check(self) -> None:
        """That the token still counts; while the database is away, what was known goes on to count."""
        known = await self._intake.directory.find(self._secret)
        if known is None:
            raise Closing(NOT_KNOWN, "the token was revoked, or its source disabled")
        self._known = known

    async def _answer(self, body: bytes | str) -> Answer:
        self._frames += 1
        try:
            message, taken = await self._intake.read(len(body), lambda: self._take(body))
        except Malformed as problem:
            self._errors += 1
            self._intake.note(self._known, [f"a frame {problem}"])
            if self._errors >= MOST_ERRORS:
                raise Closing(GARBAGE, f"{MOST_ERRORS} frames in a row could not be read: {problem}"[:120]) from None
            return Failure(f"frame {self._frames} {problem}")
        self._errors = 0
        number = self._frames if message.seq is None else message.seq
        return number, message, taken, await self._intake.pipeline.admit(taken.offer, self._lane)

    def _take(self, body: bytes | str) -> tuple[Message, Taken]:
        """Raises Malformed."""
        message = frames.decode(body, round(time.time() * 1000))
        if message.source not in (None, self._known.name):
            raise Malformed(f"is of source {message.source!r:.100}; the token is that of {self._known.name}")
        self._intake.note(self._known, (each.reason for each in message.rejected))
        return message, self._intake.take(
            self._known, message.readings, seq=message.seq, sent_ms=message.sent_ms, rejected=len(message.rejected)
        )

    # --- answering ----------------------------------------------------------------------------------------------

    async def _answer_all(self) -> None:
        while True:
            answer = await self._answers.get()
            if isinstance(answer, Failure):
                await self._say(answer)
                continue
            number, message, taken, committed = answer
            try:
                is_new = await committed
            except Refused as problem:
                await self._say(Ack(number, 0, [], refused=str(problem)))
                if not isinstance(problem, Unstorable):
                    raise Closing(AGAIN_LATER, str(problem)) from None
            else:
                await self._say(_ack(number, message, taken) if is_new else Ack(number, 0, [], duplicate=True))


def _ack(number: int, message: Message, taken: Taken) -> Ack:
    rejected = [*message.rejected, *(_placed(each, message) for each in (*taken.rejected, *taken.untaken))]
    rejected.sort(key=lambda each: each.index)
    more = max(0, len(rejected) - MOST_REJECTED)
    return Ack(number, taken.offer.points, rejected[:MOST_REJECTED], more, taken.ignored)


def _placed(rejected: Rejected, message: Message) -> Rejected:
    """By its place in the frame; what is of no single reading keeps a place behind all of them."""
    return (
        Rejected(message.places[rejected.index], rejected.reason) if rejected.index < len(message.places) else rejected
    )
