"""Senders for tests: a websocket to the real application in this process, and threads that leave nothing behind."""

import asyncio
import contextlib
import json
import time

from django.db import connection

from config.asgi import application
from monitoring import running, tokens
from monitoring.models import Source
from tests.patience import UNTIL_ANSWER_S


def now_ms():
    return round(time.time() * 1000)


def frame(seq, *values, at=0, **changes):
    """An envelope with a reading of link_rtt_s for each value, one millisecond apart."""
    points = [[now_ms() + at + step, value] for step, value in enumerate(values)]
    reading = {"name": "link_rtt_s", "kind": "gauge", "labels": {"link": "wan"}, "points": points}
    return json.dumps({"v": 1, "seq": seq, "readings": [reading] if values else [], **changes})


def source(name="gateway", **fields):
    """A stored source and the secret of its token."""
    found = Source.objects.create(name=name, **fields)
    return found, tokens.create(found)[1]


def closing(function):
    """Calls it, and ends the connection of the thread that it was called in."""
    try:
        return function()
    finally:
        connection.close()


def asked(function):
    """In a thread of its own."""
    return asyncio.to_thread(closing, function)


async def until(condition):
    end = asyncio.get_running_loop().time() + UNTIL_ANSWER_S
    while not await asked(condition):
        assert asyncio.get_running_loop().time() < end
        await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def taking():
    """The intake, as it runs in a web process."""
    try:
        yield await running.start()
    finally:
        await running.stop()


class Socket:
    """A websocket at the address of the door."""

    def __init__(self, secret=None, query=b"", headers=()):
        sent = [(b"authorization", f"Bearer {secret}".encode())] if secret else []
        self.scope = {
            "type": "websocket", "path": "/ws/ingest/", "query_string": query, "headers": [*sent, *headers],
        }  # fmt: skip
        self.given, self.said = asyncio.Queue(), asyncio.Queue()
        self.is_read = True

    async def __aenter__(self):
        self.task = asyncio.create_task(application(self.scope, self.given.get, self._send))
        await self.given.put({"type": "websocket.connect"})
        assert (await self.event())["type"] == "websocket.accept"
        return self

    async def __aexit__(self, *_):
        await self.given.put({"type": "websocket.disconnect"})
        await asyncio.wait_for(self.task, UNTIL_ANSWER_S)

    async def _send(self, event):
        await self.said.put(event)

    async def send(self, text):
        key = "bytes" if isinstance(text, bytes) else "text"
        await self.given.put({"type": "websocket.receive", key: text})

    async def event(self):
        return await asyncio.wait_for(self.said.get(), UNTIL_ANSWER_S)

    async def answer(self):
        event = await self.event()
        assert event["type"] == "websocket.send", event
        return json.loads(event["text"])

    async def closed(self):
        """The code and the reason of its end."""
        while (event := await self.event())["type"] != "websocket.close":
            pass
        return event["code"], event["reason"]
