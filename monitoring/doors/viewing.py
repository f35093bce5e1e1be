"""`/ws/live/`: the newest snapshot, then each that follows. Anybody who reaches the site may look.

A raw ASGI coroutine: a viewer takes what is newest when it is ready for it, so that a slow one costs the others nothing
and its own queue never grows. `docs/live.md` says what goes over the wire.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from monitoring.live import service
from monitoring.live.board import Board
from monitoring.running import NotRunning

SEND_WITHIN_S = 5.0
"""Whoever does not receive is disconnected."""
CLOSE_WITHIN_S = 1.0
MOST_HEARD_BYTES = 4096
HEARD_EVERY_S = 0.1
"""Nothing that a viewer says matters: it is read no faster than this."""
TOO_SLOW, TOO_LARGE, AGAIN_LATER = 4408, 4413, 1013

type Scope = dict[str, Any]
type Receive = Callable[[], Awaitable[dict[str, Any]]]
type Send = Callable[[dict[str, Any]], Awaitable[None]]


class Closing(Exception):
    """The connection ends with this code and reason."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


async def live(scope: Scope, receive: Receive, send: Send) -> None:
    """The ASGI application of the address."""
    await receive()  # websocket.connect
    await send({"type": "websocket.accept"})  # only what was accepted can be closed with a code of ours
    try:
        await _show(_board(), receive, send)
    except Closing as end:
        closing = send({"type": "websocket.close", "code": end.code, "reason": end.reason})
        with contextlib.suppress(OSError, TimeoutError):
            # whoever does not read does not read this either
            await asyncio.wait_for(closing, CLOSE_WITHIN_S)
    except OSError:  # it is gone
        pass


def _board() -> Board:
    """Raises Closing."""
    try:
        return service.board()
    except NotRunning:
        raise Closing(AGAIN_LATER, "nothing can be shown just now: try again") from None


async def _show(board: Board, receive: Receive, send: Send) -> None:
    """Until the viewer has gone. Raises Closing, and OSError where sending fails."""
    with board.watching():
        tasks = [asyncio.ensure_future(_send_all(board, send)), asyncio.ensure_future(_hear_all(receive))]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _send_all(board: Board, send: Send) -> None:
    seq = 0
    while True:
        shown = await board.after(seq)
        try:
            await asyncio.wait_for(send({"type": "websocket.send", "text": shown.text}), SEND_WITHIN_S)
        except TimeoutError:
            raise Closing(TOO_SLOW, f"nothing was received within {SEND_WITHIN_S:g} s") from None
        seq = shown.seq


async def _hear_all(receive: Receive) -> None:
    """Returns when the viewer has gone."""
    while True:
        message = await receive()
        if message["type"] == "websocket.disconnect":
            return
        if len(message.get("bytes") or message.get("text") or "") > MOST_HEARD_BYTES:
            raise Closing(TOO_LARGE, f"a message may have {MOST_HEARD_BYTES} characters; none is needed")
        await asyncio.sleep(HEARD_EVERY_S)
