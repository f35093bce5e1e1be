"""What we ask ourselves, by the process that holds the writer's lease: each source in a loop of its own.

A slow source delays nobody else, and is not asked again before it has answered or its time is up. What has changed in
the database is taken up within LOOK_EVERY_S. While nothing can be committed nothing more is asked.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from django.conf import settings
from django.db import DatabaseError, connection, transaction

from monitoring import asking
from monitoring.asking import Asked, Found
from monitoring.intake import LATE_MS, Intake, Taken
from monitoring.models import Fetched, Pull, Target
from monitoring.pipeline import Refused
from monitoring.readings import Point, Reading
from monitoring.sources.fetching import Fetcher
from monitoring.sources.promql import Window, windows

logger = logging.getLogger(__name__)

LOOK_EVERY_S = 2.0
SPREAD_S = 5.0
"""Over so long, or its interval, the first askings of all sources are spread."""
GAP_MS = 15_000
"""Without values for longer, and for three intervals, a server of queries is asked for what was in between."""
MOST_BACK_MS = 3_600_000
"""How far back it is asked."""
WINDOW_MS = 600_000
"""How much of that at once."""

KINDS: tuple[type[Fetched], ...] = (Target, Pull)
type Key = tuple[type[Fetched], int]


@dataclass(frozen=True, slots=True)
class State:
    """How the last asking went, as it is stored."""

    up: bool
    last_fetched_ms: int
    last_duration_ms: int
    last_series: int
    last_error: str


class Scraping:
    """One a process, beside its intake."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._watching: asyncio.Task[None] | None = None
        self._loops: dict[Key, tuple[Asked, asyncio.Task[None]]] = {}
        self._states: dict[Key, State] = {}
        self._thread = ThreadPoolExecutor(1, "telemetry-targets")

    @property
    def is_leading(self) -> bool:
        """Whether this process is the one that asks."""
        return self._intake.pipeline.is_leading

    def start(self) -> None:
        """Begins to ask as soon as this process leads."""
        self._watching = asyncio.create_task(self._watch_forever())

    async def stop(self) -> None:
        """Ends; an asking that is under way is given up."""
        if self._watching is not None:
            await _ended([self._watching])
        await self._keep({})
        self._thread.shutdown(wait=True)

    # --- which ---------------------------------------------------------------------------------------------------

    async def _watch_forever(self) -> None:
        while True:
            try:
                await self._keep(await self._wanted() if self.is_leading else {})
            except DatabaseError as problem:
                logger.warning("Targets cannot be read: %s", problem)
            await asyncio.sleep(LOOK_EVERY_S)

    async def _wanted(self) -> dict[Key, Asked]:
        """What is to be asked; notes how the last askings went. Raises DatabaseError."""
        states, self._states = self._states, {}
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._thread, _with_own_connection, lambda: look(states)
            )
        except Exception:
            self._states = states | self._states
            raise

    async def _keep(self, wanted: dict[Key, Asked]) -> None:
        """Loops for these, and no others."""
        ended = [key for key, (asked, _) in self._loops.items() if wanted.get(key) != asked]
        await _ended([self._loops.pop(key)[1] for key in ended])
        for key in wanted.keys() - self._loops.keys():
            asked = wanted[key]
            self._loops[key] = asked, asyncio.create_task(_Loop(self, key, asked).run())

    # --- for the loops -------------------------------------------------------------------------------------------

    @property
    def intake(self) -> Intake:
        """To which what was found is given."""
        return self._intake

    def note(self, key: Key, state: State) -> None:
        """Keeps how an asking went until it is stored."""
        self._states[key] = state


class _Loop:
    """One source, asked again and again."""

    def __init__(self, scraping: Scraping, key: Key, asked: Asked) -> None:
        self._scraping, self._key, self._asked = scraping, key, asked
        self._intake = scraping.intake
        self._last_ms = asked.last_seen_ms
        self._fetcher = Fetcher(settings.SCRAPE_LINK_LOCAL)

    async def run(self) -> None:
        """Until it is cancelled. Times that have passed while it was busy are left out."""
        loop, interval_s = asyncio.get_running_loop(), self._asked.interval_s
        due = loop.time() + random.random() * min(interval_s, SPREAD_S)
        try:
            while True:
                await asyncio.sleep(due - loop.time())
                await self._once_safely()
                missed = max((loop.time() - due) // interval_s, 0)
                due += (missed + 1) * interval_s
        finally:
            await self._fetcher.close()

    async def _once_safely(self) -> None:
        try:
            await self._once()
        except Exception:
            logger.exception("%s could not be asked", self._asked.known.name)

    async def _once(self) -> None:
        begun, ts_ms = asyncio.get_running_loop().time(), asking.now_ms()
        found = await asking.ask(self._asked, self._fetcher, self._intake.read, ts_ms)
        duration_s = asyncio.get_running_loop().time() - begun
        is_up = not found.error
        behind = await self._catch_up(ts_ms) if is_up else ""
        if not self._scraping.is_leading:
            return
        ours = [_gauge("up", ts_ms, float(is_up)), _gauge("scrape_s", ts_ms, duration_s)]
        taken = await self._take(ours, found)
        error = await self._offered(taken, is_up or bool(found.readings)) or found.error or behind
        if is_up:
            self._last_ms = ts_ms
        series = max(taken.offer.count - len(ours), 0)
        self._scraping.note(self._key, State(is_up, ts_ms, round(duration_s * 1000), series, error))

    async def _take(self, ours: list[Reading], found: Found, late_ms: int = LATE_MS) -> Taken:
        known, rejected = self._asked.known, len(found.rejected)
        readings = [*ours, *found.readings]
        self._intake.note(known, (each.reason for each in found.rejected))
        taken = await self._intake.read(
            found.size, lambda: self._intake.take(known, readings, rejected=rejected, late_ms=late_ms)
        )
        taken.offer.skew_ms = None  # the times are ours, and tell nothing of its clock
        return taken

    async def _offered(self, taken: Taken, is_seen: bool) -> str:
        """Once it is committed; why it cannot be."""
        taken.offer.is_seen = is_seen
        try:
            await self._intake.pipeline.offer(taken.offer)
        except Refused as problem:
            return f"what it answered could not be stored: {problem}"[:500]
        return ""

    async def _catch_up(self, ts_ms: int) -> str:
        """Of queries: what was while nobody asked, a window after the other; the mistake at which it was given up."""
        step_ms = round(self._asked.interval_s * 1000)
        if not self._asked.queries or self._last_ms is None or ts_ms - self._last_ms <= max(GAP_MS, 3 * step_ms):
            return ""
        since_ms = max(self._last_ms + step_ms, ts_ms - MOST_BACK_MS)
        for window in windows(since_ms, ts_ms, step_ms, WINDOW_MS):
            if error := await self._window(window):
                return f"some of what was missed is lost: {error}"[:500]
        return ""

    async def _window(self, window: Window) -> str:
        found = await asking.ask_over(self._asked, self._fetcher, self._intake.read, window)
        if found.error:
            return found.error
        # It counts as seen only with what is of now, so that who goes on after us begins with the whole gap.
        return await self._offered(await self._take([], found, MOST_BACK_MS + LATE_MS), is_seen=False)


def _gauge(name: str, ts_ms: int, value: float) -> Reading:
    return Reading(name, {}, "gauge", (Point(ts_ms, value),))


async def _ended(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    for task in tasks:
        with contextlib.suppress(asyncio.CancelledError):
            await task


def look(states: dict[Key, State]) -> dict[Key, Asked]:
    """Stores how askings went, and reads what is to be asked."""
    if states:
        with transaction.atomic():
            for (kind, pk), state in states.items():
                kind._default_manager.filter(pk=pk).update(
                    up=state.up,
                    last_fetched_ms=state.last_fetched_ms,
                    last_duration_ms=state.last_duration_ms,
                    last_series=state.last_series,
                    last_error=state.last_error,
                )
    return {
        (kind, each.pk): asking.asked(each)
        for kind in KINDS
        for each in kind._default_manager.filter(source__enabled=True).select_related("source")
    }


def _with_own_connection[Result](function: Callable[[], Result]) -> Result:
    try:
        return function()
    finally:
        connection.close()
