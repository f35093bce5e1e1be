"""What runs in a web process beside answering requests: the reaper, telemetry, and without Redis the worker."""

import asyncio
import contextlib
import gc
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import DatabaseError, close_old_connections

from config.celery import EmbeddedWorker
from monitoring.alerts import service as alerts
from monitoring.live import service
from monitoring.live.ticker import Step
from monitoring.recommending.recommender import Recommender
from planner import jobs, tasks
from planner.simulating import under_load

logger = logging.getLogger(__name__)

Message = dict[str, Any]
STEPS: tuple[Step, ...] = (Recommender(), *alerts.steps())
"""What fills parts of every snapshot of the live view, in this order."""


class Background:
    """Started and stopped with the web process."""

    def __init__(self) -> None:
        self._worker = None if settings.REDIS_URL else EmbeddedWorker(settings.WORKER_CONCURRENCY)
        self._reaper: asyncio.Task[None] | None = None

    async def start(self) -> None:
        if self._worker is not None:
            await asyncio.to_thread(self._worker.start)
        await sync_to_async(jobs.recover)()
        if settings.SIMULATE_AT_START:
            await sync_to_async(under_load.submit_first)()
        self._reaper = asyncio.create_task(_reap_forever())
        await service.start(STEPS)
        await alerts.start()
        # Telemetry makes many objects: each sweep would look through all that is loaded, which halves its rate.
        gc.freeze()

    async def stop(self) -> None:
        jobs.stopping.set()
        await alerts.stop()
        await service.stop()
        if self._reaper is not None:
            self._reaper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._reaper
        if self._worker is not None:
            await asyncio.to_thread(self._worker.stop)


async def _reap_forever() -> None:
    while True:
        try:
            await sync_to_async(_reap)()
        except DatabaseError:
            logger.exception("The database does not answer; the reaper tries again.")
        await asyncio.sleep(settings.JOB_HEARTBEAT_TIMEOUT_S / 4)


def _reap() -> None:
    close_old_connections()
    jobs.reap()
    tasks.settle()


async def lifespan(
    scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    """The ASGI lifespan protocol."""
    background = Background()
    await receive()  # lifespan.startup
    await background.start()
    await send({"type": "lifespan.startup.complete"})
    await receive()  # lifespan.shutdown
    await background.stop()
    await send({"type": "lifespan.shutdown.complete"})
