"""`manage.py serve`: everything that the product needs, in one command."""

import asyncio
import contextlib
import errno
import http.client
import os
import secrets
import signal
import socket
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import BaseCommand, CommandError, call_command
from django.db import connection

from planner.management.demonstration import SCENARIO, Demonstration
from planner.seeding import seed

BACKLOG = 2048
GRACE_S = 1
UNREAD_MS = 60_000
"""After which a peer that reads nothing of what waits for it is cut off: nobody else could end its connection."""
MOST_FRAME_BYTES = 2**20
"""Of a websocket: a larger frame ends its connection with 1009."""


class Command(BaseCommand):
    help = "Migrates the database, starts the web server (and, without REDIS_URL, the worker) and prints the address."
    requires_system_checks: list[str] = []  # noqa: RUF012 - as Django declares it

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument(
            "--demo",
            nargs="?",
            const=SCENARIO,
            metavar="SCENARIO",
            help="sends simulated telemetry to itself, for ever",
        )

    def handle(self, *, host: str, port: int, demo: str | None = None, **_: Any) -> None:
        # First of all, so that a second start with the port taken changes nothing.
        with listen(host, port) as listener:
            call_command("migrate", verbosity=0, interactive=False)
            write_ahead()
            seed()
            self._create_admin()
            with Demonstration(demo) as demonstration:
                server = Server(listener, on_ready=self._then(demonstration.start, demo is not None))
                server.run(sockets=[listener])
        if not server.started:
            raise CommandError("The server did not start; the reason is above.")

    def _create_admin(self) -> None:
        """The first account, once. A generated password is shown now and never again."""
        users = get_user_model().objects
        if users.exists():
            return
        given = os.environ.get("ADMIN_PASSWORD", "")
        password = given or secrets.token_urlsafe(12)
        users.create_superuser(username="admin", password=password)
        shown = "as set by ADMIN_PASSWORD" if given else f"{password} (shown only this once)"
        self.stdout.write(f"Account for changes: admin, password {shown}")

    def _then(self, start: Callable[[str, int], None], has_demo: bool) -> Callable[[str, int], None]:
        """Says where it is, and goes on."""

        def ready(host: str, port: int) -> None:
            self._say_where(host, port, has_demo)
            start(host, port)

        return ready

    def _say_where(self, host: str, port: int, has_demo: bool) -> None:
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{port}{settings.FORCE_SCRIPT_NAME or ''}/"
        self.stdout.write(f"PrfaaS Planner is at {address}")
        if has_demo:
            self.stdout.write(f"The demo is at {address}live/ once its day is simulated, in up to a minute.")
        self.stdout.write("Ctrl-C ends it.")
        self.stdout.flush()


class Server(uvicorn.Server):
    """Uvicorn, which tells when it is ready and ends with status 0 when it is asked to end."""

    def __init__(self, listener: socket.socket, on_ready: Callable[[str, int], None]) -> None:
        super().__init__(
            uvicorn.Config(
                "config.asgi:application",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=GRACE_S,
                ws_max_size=MOST_FRAME_BYTES,
            )
        )
        self._address: tuple[str, int] = listener.getsockname()[:2]
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        await asyncio.to_thread(warm_up, *self._address)
        self._on_ready(*self._address)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As Uvicorn does it, but without raising the signal again at the end: ending was no accident."""
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: Any) -> None:
        from planner import jobs

        # Running jobs are handed back while connections close, not after.
        jobs.stopping.set()
        super().handle_exit(sig, frame)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; from now on a browser waits for us instead of being refused."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise CommandError(_why_not(error, host, port), returncode=2) from error
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux; every connection takes it over
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREAD_MS)
    return listener


def _why_not(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} is taken by another program. Choose another one: make serve PORT={port + 1}"
    return f"Cannot listen on {host} port {port}: {error.strerror}."


def write_ahead() -> None:
    """SQLite: readers do not wait for the writer. The mode is kept in the file."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA journal_mode=WAL")


def warm_up(host: str, port: int) -> None:
    """Ask for the first page, so that its templates and NumPy are loaded before anybody waits for them."""
    local = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - a comparison
    client = http.client.HTTPConnection(local, port, timeout=20)
    headers = {"Host": settings.ALLOWED_HOSTS[0].lstrip("*.") or "localhost", "X-Forwarded-Proto": "https"}
    with contextlib.closing(client), contextlib.suppress(OSError, http.client.HTTPException):
        client.request("GET", f"{settings.FORCE_SCRIPT_NAME or ''}/case-study/", headers=headers)
        client.getresponse().read()
