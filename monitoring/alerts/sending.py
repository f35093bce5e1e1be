"""The sender: takes what is due from the outbox and sends it, beside the tick and never in its way."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from django.conf import settings
from django.db import DatabaseError, connection

from monitoring.alerts import outbox, receivers
from monitoring.alerts.outbox import Batch, Message
from monitoring.sources.fetching import Failed, Fetcher

logger = logging.getLogger(__name__)

LOOK_EVERY_S = 0.5
TIDIED_EVERY_S = 3600.0


class Sending:
    """One a process; sends while this process leads. A receiver that is slow delays no other."""

    def __init__(self, is_leading: Callable[[], bool]) -> None:
        self._is_leading = is_leading
        self._watching: asyncio.Task[None] | None = None
        self._busy: dict[int, asyncio.Task[None]] = {}
        self._thread = ThreadPoolExecutor(1, "alerts-outbox")
        self._tidied_at = 0.0

    def start(self) -> None:
        """Begins."""
        self._watching = asyncio.create_task(self._watch_forever())

    async def stop(self) -> None:
        """Ends; what is under way is given up, and sent again by who leads next."""
        tasks = [*self._busy.values(), *([self._watching] if self._watching else [])]
        for task in tasks:
            task.cancel()
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        self._thread.shutdown(wait=True)

    async def _watch_forever(self) -> None:
        while True:
            try:
                if self._is_leading():
                    await self.look()
            except DatabaseError as problem:
                logger.warning("The outbox cannot be read: %s", problem)
            except Exception:
                logger.exception("The outbox cannot be read")
            await asyncio.sleep(LOOK_EVERY_S)

    async def look(self) -> None:
        """Begins to send what is due; to whom something is being sent nothing more is. Raises DatabaseError."""
        self._busy = {key: task for key, task in self._busy.items() if not task.done()}
        busy = frozenset(self._busy)
        for batch in await self._ask(lambda: self._due(busy)):
            self._busy[batch.receiver.pk] = asyncio.create_task(self._send(batch))

    async def settled(self) -> None:
        """Waits until all that was begun has ended."""
        await asyncio.gather(*self._busy.values())

    def _due(self, busy: frozenset[int]) -> list[Batch]:
        if time.monotonic() - self._tidied_at > TIDIED_EVERY_S:
            self._tidied_at = time.monotonic()
            outbox.tidy(now_ms())
        return outbox.due(now_ms(), busy)

    async def _send(self, batch: Batch) -> None:
        fetcher = Fetcher(settings.SCRAPE_LINK_LOCAL)
        try:
            for at, message in enumerate(batch.messages):
                if not await self._sent(batch, message, at, fetcher):
                    return
        except DatabaseError as problem:
            logger.warning("What was sent to %s cannot be noted: %s", batch.receiver, problem)
        except Exception:
            logger.exception("Nothing could be sent to %s", batch.receiver)
        finally:
            await fetcher.close()

    async def _sent(self, batch: Batch, message: Message, at: int, fetcher: Fetcher) -> bool:
        """Whether the next one is to be sent."""
        receiver = batch.receiver
        try:
            await receivers.send(receiver, fetcher, message.body, message.name)
        except receivers.Refused as problem:
            said = str(problem)
            await self._ask(lambda: outbox.refused(receiver, message, said, now_ms()))
        except Failed as problem:
            said = str(problem)
            await self._ask(lambda: outbox.failed(receiver, batch.messages[at:], said, now_ms()))
            return False
        else:
            await self._ask(lambda: outbox.sent(receiver, message, now_ms()))
        return True

    async def _ask[Result](self, function: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, _with_own_connection, function)


def now_ms() -> int:
    """Our clock."""
    return round(time.time() * 1000)


def _with_own_connection[Result](function: Callable[[], Result]) -> Result:
    try:
        return function()
    finally:
        connection.close()
