"""Who is known by which token, in memory: read anew every few seconds, so that no message costs a query."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db import connection

from monitoring import mappings
from monitoring.models import Source, Token
from monitoring.tokens import digest

FRESH_S = 5.0
"""So long a token that was revoked may still be taken."""
AT_LEAST_S = 0.5
"""Unknown tokens have it read anew no more often than this."""
NOTED_EVERY_S = 60.0
"""When a token was used last is written no more often than this."""


@dataclass(frozen=True, slots=True)
class Known:
    """A source that may send, and the token by which it does."""

    source_id: int
    token_id: int
    name: str
    labels: tuple[tuple[str, str], ...]
    systems: tuple[str, ...]


class Directory:
    """One a process. While the database does not answer, what was read last goes on to count."""

    def __init__(self) -> None:
        self._known: dict[str, Known] | None = None
        self._used: set[int] = set()
        self._read_at = self._noted_at = 0.0
        self._reading = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, "telemetry-tokens")

    async def find(self, secret: str) -> Known | None:
        """The source of a token; None if it is not known, revoked, or its source disabled. Raises DatabaseError where
        nothing was ever read."""
        key = digest(secret)
        now = time.monotonic()
        if self._known is None or now - self._read_at > FRESH_S:
            await self._refresh(now - FRESH_S)
        elif key not in self._known:
            await self._refresh(now - AT_LEAST_S)
        found = (self._known or {}).get(key)
        if found is not None:
            self._used.add(found.token_id)
        return found

    async def last_seq(self, known: Known) -> int | None:
        """Of the frames with a number that a source has sent: the last one committed. Raises DatabaseError."""
        return await asyncio.get_running_loop().run_in_executor(
            self._thread, _with_own_connection, lambda: _last_seq(known.source_id)
        )

    async def _refresh(self, read_before: float) -> None:
        """Reads, unless it was read since: all who wait at the same time are served by one query."""
        async with self._reading:
            if self._known is not None and self._read_at > read_before:
                return
            used = self._to_note()
            try:
                known = await asyncio.get_running_loop().run_in_executor(
                    self._thread, _with_own_connection, lambda: read(used)
                )
            except Exception:
                self._used |= used
                if self._known is None:
                    raise
            else:
                self._known = known
            self._read_at = time.monotonic()

    def _to_note(self) -> set[int]:
        now = time.monotonic()
        if not self._used or now - self._noted_at < NOTED_EVERY_S:
            return set()
        self._noted_at = now
        used, self._used = self._used, set()
        return used

    def close(self) -> None:
        """Ends its thread."""
        self._thread.shutdown(wait=True)


def _with_own_connection[Result](function: Callable[[], Result]) -> Result:
    try:
        return function()
    finally:
        connection.close()


def _last_seq(source_id: int) -> int | None:
    return Source.objects.filter(pk=source_id).values_list("last_seq", flat=True).first()


def read(used: set[int]) -> dict[str, Known]:
    """All tokens of sources that may send, by digest; notes the use of these, and has the mappings read anew."""
    mappings.refresh()
    if used:
        Token.objects.filter(pk__in=used).update(last_used_at=datetime.now(UTC))
    tokens = Token.objects.filter(source__enabled=True).select_related("source")
    return {
        token.digest: Known(
            token.source.pk,
            token.pk,
            token.source.name,
            tuple(sorted(token.source.labels.items())),
            tuple(token.source.systems),
        )
        for token in tokens
    }
