"""Senders: each speaks to one door, holds back when the door does, and sends again what was not acknowledged."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Sequence
from typing import Protocol

import httpx
import msgspec
import websockets
from websockets.asyncio.client import ClientConnection, connect

from monitoring.readings import Reading
from monitoring.replaying import encoding

logger = logging.getLogger(__name__)

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 10.0
ANSWERED_WITHIN_S = 30.0
IN_FLIGHT = 8
"""Frames that wait for their acknowledgement; more unread ones than 16 would stop the reading of pings too."""
RETRIED = (401, 403, 408, 429, 500, 502, 503, 504)
"""A token that was made just now may not be known yet."""
TRIED_WITH_TOKEN_S = 20.0
FORBIDDEN, FORBIDDEN_CODES = (401, 403), (4401, 4403)
"""Of HTTP, and of a websocket's end."""


class Rejected(Exception):
    """The server does not take it, and would not if it were sent again. The text says why."""


class Sender(Protocol):
    """What a source sends by."""

    async def send(self, readings: Sequence[Reading], sent_ms: int) -> None:
        """Returns once there is room for more. Raises Rejected."""

    async def close(self) -> None:
        """Returns when all is acknowledged. Raises Rejected."""


class Pause:
    """Waits that become longer, until something succeeds."""

    def __init__(self) -> None:
        self._next_s = FIRST_PAUSE_S

    async def wait(self, at_least_s: float = 0.0) -> None:
        """Longer each time."""
        await asyncio.sleep(max(self._next_s, at_least_s))
        self._next_s = min(2 * self._next_s, LONGEST_PAUSE_S)

    def reset(self) -> None:
        """It goes well again."""
        self._next_s = FIRST_PAUSE_S


class Patience:
    """With a token that is refused: for a moment it may only not be known yet."""

    def __init__(self) -> None:
        self._until_s: float | None = None

    @property
    def is_over(self) -> bool:
        """Whether it was refused for too long; the first time it is asked its time begins."""
        now_s = asyncio.get_running_loop().time()
        self._until_s = self._until_s or now_s + TRIED_WITH_TOKEN_S
        return now_s >= self._until_s

    def reset(self) -> None:
        """The token is known."""
        self._until_s = None


# --- doors of HTTP -----------------------------------------------------------------------------------------------


class Pushed:
    """POST, again until it is answered: by `kind` otlp or remote_write."""

    PATHS = {"otlp": "/v1/metrics", "remote_write": "/api/v1/write"}  # noqa: RUF012 - never changed
    HEADERS = {  # noqa: RUF012 - never changed
        "otlp": {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"},
        "remote_write": {
            "Content-Type": "application/x-protobuf",
            "Content-Encoding": "snappy",
            "X-Prometheus-Remote-Write-Version": "0.1.0",
        },
    }

    def __init__(self, kind: str, url: str, token: str) -> None:
        headers = self.HEADERS[kind] | {"Authorization": f"Bearer {token}"}
        self._encode = encoding.otlp if kind == "otlp" else encoding.remote_write
        self._url = url + self.PATHS[kind]
        self._client = httpx.AsyncClient(headers=headers, timeout=ANSWERED_WITHIN_S, trust_env=False)
        self._pause, self._patience = Pause(), Patience()

    async def send(self, readings: Sequence[Reading], sent_ms: int) -> None:
        """See `Sender`."""
        body = self._encode(readings)
        while not await self._tried(body):
            pass
        self._pause.reset()

    async def _tried(self, body: bytes) -> bool:
        try:
            answer = await self._client.post(self._url, content=body)
        except httpx.TransportError as problem:
            logger.info("%s: %s; it is sent again", self._url, problem or type(problem).__name__)
            await self._pause.wait()
            return False
        if answer.is_success:
            self._patience.reset()
            return True
        is_forbidden = answer.status_code in FORBIDDEN
        if answer.status_code not in RETRIED or (is_forbidden and self._patience.is_over):
            raise Rejected(f"{self._url} answers {answer.status_code}: {answer.text[:300]}")
        after = answer.headers.get("Retry-After", "0")
        await self._pause.wait(float(after) if after.isdigit() else 0.0)
        return False

    async def close(self) -> None:
        """See `Sender`."""
        await self._client.aclose()


# --- the websocket -----------------------------------------------------------------------------------------------


class _Said(msgspec.Struct):
    """What the server says: hello, an acknowledgement, or an error."""

    hello: int | None = None
    last_seq: int | None = None
    most_in_flight: int = IN_FLIGHT
    ack: int | None = None
    rejected: list[tuple[int, str]] = []
    refused: str = ""
    error: str = ""


_said = msgspec.json.Decoder(_Said)


class Framed:
    """Our envelope over one websocket: frames in flight are kept until they are acknowledged, and sent again after it
    was lost, from the last one that the server has."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url.replace("http", "ws", 1) + "/ws/ingest/"
        self._headers = {"Authorization": f"Bearer {token}"}
        self._socket: ClientConnection | None = None
        self._unacknowledged: deque[tuple[int, bytes]] = deque()
        self._seq: int | None = None
        self._most = IN_FLIGHT
        self._pause, self._patience = Pause(), Patience()

    async def send(self, readings: Sequence[Reading], sent_ms: int) -> None:
        """See `Sender`."""
        await self._connected()
        self._seq = (self._seq or 0) + 1
        frame = encoding.envelope(readings, self._seq, sent_ms)
        self._unacknowledged.append((self._seq, frame))
        try:
            await (await self._connected()).send(frame.decode())
            while len(self._unacknowledged) >= self._most:
                await self._hear()
        except (websockets.ConnectionClosed, TimeoutError, OSError) as problem:
            await self._lost(problem)

    async def close(self) -> None:
        """See `Sender`."""
        while self._unacknowledged:
            try:
                await self._connected()
                while self._unacknowledged:
                    await self._hear()
            except (websockets.ConnectionClosed, TimeoutError, OSError) as problem:
                await self._lost(problem)
        if self._socket is not None:
            await self._socket.close()

    async def _hear(self) -> None:
        """One acknowledgement. They come in the order of the frames."""
        if self._socket is None:
            raise TimeoutError("the connection was lost")
        said = _said.decode(await asyncio.wait_for(self._socket.recv(), ANSWERED_WITHIN_S))
        if said.error:
            raise Rejected(f"{self._url}: {said.error}")
        if said.refused:
            raise TimeoutError(said.refused)
        if said.rejected:
            logger.warning("%s: %d readings are rejected: %s", self._url, len(said.rejected), said.rejected[0][1])
        self._forget(said.ack)
        self._pause.reset()

    def _forget(self, upto: int | None) -> None:
        while upto is not None and self._unacknowledged and self._unacknowledged[0][0] <= upto:
            self._unacknowledged.popleft()

    async def _connected(self) -> ClientConnection:
        while self._socket is None:
            try:
                socket = await connect(self._url, additional_headers=self._headers, proxy=None)
                hello = _said.decode(await asyncio.wait_for(socket.recv(), ANSWERED_WITHIN_S))
                await self._resume(socket, hello)
            except (websockets.WebSocketException, TimeoutError, OSError) as problem:
                await self._lost(problem)
        return self._socket

    async def _resume(self, socket: ClientConnection, hello: _Said) -> None:
        """Sends again what the server does not have."""
        self._patience.reset()
        self._most = max(1, min(IN_FLIGHT, hello.most_in_flight))
        self._forget(hello.last_seq)
        if self._seq is None:
            self._seq = hello.last_seq or 0
        for _, frame in self._unacknowledged:
            await socket.send(frame.decode())
        self._socket = socket

    async def _lost(self, problem: Exception) -> None:
        """Waits before the next attempt. Raises Rejected where the token is not known, and stays so."""
        end = problem.rcvd if isinstance(problem, websockets.ConnectionClosed) else None
        if end is not None and end.code in FORBIDDEN_CODES and self._patience.is_over:
            raise Rejected(f"{self._url} closes with {end.code}: {end.reason}")
        logger.info("%s: %s; what is not acknowledged is sent again", self._url, problem or type(problem).__name__)
        if self._socket is not None:
            with contextlib.suppress(websockets.WebSocketException, OSError):
                await self._socket.close()
        self._socket = None
        await self._pause.wait()


# --- pages that are scraped --------------------------------------------------------------------------------------


class Paged:
    """The newest readings as a page; nothing is sent, somebody comes for it."""

    def __init__(self) -> None:
        self.text: str | None = None

    async def send(self, readings: Sequence[Reading], sent_ms: int) -> None:
        """See `Sender`."""
        self.text = encoding.page(readings)

    async def close(self) -> None:
        """From now on there is no page."""
        self.text = None


async def serve_pages(pages: dict[str, Paged], host: str, port: int) -> asyncio.Server:
    """Serves each at `/NAME/metrics`; 503 while there is none."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            request = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), ANSWERED_WITHIN_S)
            writer.write(_response(pages, request.split(b" ", 2)[1].decode("latin-1")))
            await writer.drain()
        writer.close()

    return await asyncio.start_server(answer, host, port)


def _response(pages: dict[str, Paged], path: str) -> bytes:
    page = pages.get(path.removeprefix("/").removesuffix("/metrics"))
    status, text = ("404 Not Found", "") if page is None else ("200 OK", page.text)
    if text is None:
        status, text = "503 Service Unavailable", ""
    body = text.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + body
