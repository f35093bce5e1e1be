"""Once a second, in the process that writes: from the latest of every series to a numbered snapshot for all viewers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from django.db import DatabaseError, close_old_connections, connection

from monitoring import registry
from monitoring.lease import Lost
from monitoring.live import lines, ticks
from monitoring.live.board import Board
from monitoring.live.measuring import measured
from monitoring.live.messages import Snapshot, SourceNow
from monitoring.live.selection import Plans, described
from monitoring.live.snapshot import watch_now
from monitoring.live.watched import all_watched
from monitoring.models import Series, Source
from monitoring.pipeline import Pipeline
from monitoring.state import State

logger = logging.getLogger(__name__)

EVERY_S = 1.0
LOOKED_EVERY_S = 0.5
"""How often a process that does not write looks for the snapshot of the one that does, while it has viewers."""
CHUNK = 500

type Step = Callable[[Snapshot], None]
"""Fills its part of a snapshot in place: in the ticker's thread, with a connection to the database."""


class Builder:
    """Makes snapshots, in one thread."""

    def __init__(self, state: State, steps: Sequence[Step] = ()) -> None:
        self._state, self._steps, self._plans = state, steps, Plans()

    def build(self, now_ms: int) -> Snapshot:
        """What there is now; not numbered yet. A step that fails leaves its part empty."""
        self._state.prune(now_ms)
        _describe(self._state)
        sources = list(Source.objects.select_related("target", "pull"))
        self._state.keep(source.pk for source in sources)
        skews_ms = {source.pk: source.skew_ms for source in sources if source.skew_ms}
        watched = all_watched()
        with self._state.reading() as reading:
            now = measured(reading, now_ms, skews_ms)
            plans = self._plans.of(watched, reading.described, reading.version)
            found = [watch_now(plan, now) for plan in plans]
        snapshot = Snapshot(0, now_ms, found, [source_now(source, now_ms) for source in sources])
        for step in self._steps:
            try:
                step(snapshot)
            except Exception:
                logger.exception("A part of the snapshot could not be made")
        for watch in snapshot.watches:
            watch.points = lines.points(watch)
        return snapshot


def _describe(state: State) -> None:
    asked = state.undescribed()
    for at in range(0, len(asked), CHUNK):
        some = asked[at : at + CHUNK]
        state.describe([described(each) for each in Series.objects.filter(pk__in=some)], some)


def source_now(source: Source, now_ms: int) -> SourceNow:
    """How a source does."""
    fetched = getattr(source, "target", None) or getattr(source, "pull", None)
    reasons = registry.reasons(source)
    return SourceNow(
        name=source.name,
        state=registry.state(source, now_ms),
        age_ms=registry.age_ms(source, now_ms),
        labels=source.labels,
        skew_ms=source.skew_ms,
        problem=(fetched.last_error if fetched else "") or (reasons[0][0] if reasons else ""),
    )


class Ticker:
    """One a process: builds and numbers where this process writes, and else passes on what another one has made."""

    def __init__(self, state: State, pipeline: Pipeline, board: Board, steps: Sequence[Step] = ()) -> None:
        self._state, self._pipeline, self._board = state, pipeline, board
        self._builder = Builder(state, steps)
        self._thread = ThreadPoolExecutor(1, "live-ticker")
        self._relay = ThreadPoolExecutor(1, "live-relay")
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begins to tick, and to pass on."""
        self._tasks = [asyncio.create_task(each()) for each in (self._tick_forever, self._relay_forever)]

    async def stop(self) -> None:
        """Ends."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        for threads in (self._thread, self._relay):
            await asyncio.get_running_loop().run_in_executor(threads, lambda: connection.close())
            threads.shutdown(wait=True)

    async def _tick_forever(self) -> None:
        due_s = time.monotonic()
        while True:
            # a tick that took too long is followed by the next one that is due, not by all that were
            due_s += max(1, -(-(time.monotonic() - due_s) // EVERY_S)) * EVERY_S
            await asyncio.sleep(due_s - time.monotonic())
            if not (self._pipeline.is_leading and self._state.is_ready):
                continue
            try:
                await self._tick()
            except Lost:
                logger.info("Another process makes the snapshots now")
            except DatabaseError as problem:
                logger.warning("No snapshot can be made: %s", problem)
            except Exception:
                logger.exception("A snapshot could not be made")

    async def _tick(self) -> None:
        snapshot = await self._in(self._thread, lambda: self._builder.build(round(time.time() * 1000)))
        payload = await self._pipeline.as_leader(lambda: ticks.store(snapshot))
        self._board.publish(snapshot.seq, payload)

    async def _relay_forever(self) -> None:
        while True:
            await self._board.looked_at.wait()
            if not self._pipeline.is_leading:
                await self._pass_on()
            await asyncio.sleep(LOOKED_EVERY_S)
            if not (self._board.viewers or self._pipeline.is_leading):
                self._board.clear()

    async def _pass_on(self) -> None:
        try:
            found = await self._in(self._relay, lambda: ticks.newest(self._board.seq))
        except DatabaseError as problem:
            logger.warning("No snapshot can be read: %s", problem)
        else:
            if found is not None:
                self._board.publish(*found)

    async def _in[Result](self, threads: ThreadPoolExecutor, function: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(threads, _with_fresh_connection, function)


def _with_fresh_connection[Result](function: Callable[[], Result]) -> Result:
    close_old_connections()
    try:
        return function()
    except DatabaseError:
        connection.close()
        raise
