"""From door to store: one bounded queue a process, and one writer among all processes.

An offer waits in memory until it is committed, and only then is its sender told so. Whoever offers more than there is
room for waits, or is sent away for a while; nothing is ever dropped. While the database does not answer, nothing is
acknowledged and no more is taken.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from django.db import DatabaseError, close_old_connections, connection, transaction

from monitoring import inbox, quarantine
from monitoring.inbox import Offer
from monitoring.lease import ASKED_EVERY_S, RENEWED_EVERY_S, Holder, Lost
from monitoring.models import Source
from monitoring.quarantine import Sorter
from monitoring.storage import retention
from monitoring.storage.pending import Assembling, Mapping
from monitoring.storage.told import Follower
from monitoring.storage.writer import Writer

logger = logging.getLogger(__name__)

MOST_BYTES = 32 * 2**20
"""Of offers that wait in a process."""
MOST_FRAMES = 20_000
"""Committed and not sorted in yet: beyond that nothing more is committed until the writer has caught up."""
BATCH_BYTES = 4 * 2**20
MOST_OFFERS = 2**16
"""Of one commit; fewer after one that failed, until the offer is alone that cannot be stored."""
GATHER_S = 0.05
"""How long a commit waits for more to commit with it."""
DRAIN_EVERY_S = 0.5
EXPIRE_EVERY_S = 60.0
FULL_DISK = "the disk of the database is full"
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 5.0


class Full(Exception):
    """No room for more just now; `retry_after_s` is when to try again."""

    retry_after_s = 2


class Refused(Exception):
    """The offer cannot be stored now; later it may. The text says why."""


class Unstorable(Refused):
    """The offer itself cannot be stored: to send it again is of no use."""


@dataclass(slots=True)
class Lane:
    """Offers that follow one another, as the frames of a connection. Once one is refused none behind it is stored:
    a sender that hears nothing of the refusal can tell by the last number what to send again."""

    is_broken: bool = False


@dataclass(slots=True)
class _Waiting:
    offer: Offer
    committed: asyncio.Future[bool]
    lane: Lane | None


class Pipeline:
    """One a process: doors offer, a committer commits, and where this process holds the lease a writer sorts in."""

    def __init__(self, follower: Follower | None = None) -> None:
        self._waiting: deque[_Waiting] = deque()
        self._bytes = 0
        self._offered = asyncio.Event()
        self._room = asyncio.Condition()
        self._committed = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._commits = ThreadPoolExecutor(1, "telemetry-commit")
        self._drains = ThreadPoolExecutor(1, "telemetry-writer")
        self._besides = ThreadPoolExecutor(1, "telemetry-beside")
        self._most_offers = MOST_OFFERS
        self._holder, self._writer = Holder(), Writer()
        self._sorter = Sorter(self._writer, self._holder, follower)
        self._is_leading = False
        self._epoch: int | None = None

    def assembles_with(self, mapped: Mapping, note: Callable[[Source, list[str]], None]) -> None:
        """How the writer reads histograms that come in parts, and where it says what is wrong with them."""
        self._writer.assembling = Assembling(mapped, note)

    # --- for doors ----------------------------------------------------------------------------------------------

    @property
    def waiting_bytes(self) -> int:
        """Of offers that are not committed."""
        return self._bytes

    @property
    def is_leading(self) -> bool:
        """Whether this process is the one that writes."""
        return self._is_leading

    async def as_leader[Result](self, function: Callable[[], Result]) -> Result:
        """The function's result, in a transaction that ends only while this process is the one that writes. Raises
        Lost where it is not."""
        # SQLite has one transaction at a time: there it stands in line with the writer's own, which would keep it out
        threads = self._besides if connection.features.has_select_for_update else self._drains
        return await self._in(threads, lambda: self._required(function))

    async def offer(self, offer: Offer) -> bool:
        """Waits for room, then until it is committed; whether it was new. Raises Refused."""
        return await (await self.admit(offer))

    async def admit(self, offer: Offer, lane: Lane | None = None) -> asyncio.Future[bool]:
        """Waits for room; then the promise of its commit. Who awaits one after the other keeps their order."""
        async with self._room:
            await self._room.wait_for(lambda: self._has_room(offer))
            return self.enqueue(offer, lane)

    def enqueue(self, offer: Offer, lane: Lane | None = None) -> asyncio.Future[bool]:
        """The promise of its commit, at once. Raises Full where there is no room."""
        if not self._has_room(offer):
            raise Full
        waiting = _Waiting(offer, asyncio.get_running_loop().create_future(), lane)
        if lane is not None and lane.is_broken:
            waiting.committed.set_exception(Refused("one before it was refused"))
            return waiting.committed
        self._waiting.append(waiting)
        self._bytes += len(offer.payload)
        self._offered.set()
        return waiting.committed

    def _has_room(self, offer: Offer) -> bool:
        return not self._bytes or self._bytes + len(offer.payload) <= MOST_BYTES

    # --- life ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begins to commit, and to ask for the lease."""
        lives = (self._commit_forever, self._write_forever, self._expire_forever)
        self._tasks = [asyncio.create_task(each()) for each in lives]

    async def stop(self) -> None:
        """Ends; offers that are not committed are told to nobody, so that their senders send them again."""
        tasks, self._tasks = self._tasks, []
        if not tasks:  # ended before
            return
        for task in tasks:
            task.cancel()
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        with contextlib.suppress(DatabaseError):
            await self._in(self._drains, self._holder.give_up)
        for threads in (self._commits, self._drains, self._besides):
            # A connection is its thread's own: not `connection.close`, which would be that of this one.
            await asyncio.get_running_loop().run_in_executor(threads, lambda: connection.close())
            threads.shutdown(wait=True)

    async def _in[Result](self, threads: ThreadPoolExecutor, function: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(threads, _with_fresh_connection, function)

    # --- committing ---------------------------------------------------------------------------------------------

    async def _commit_forever(self) -> None:
        pause = FIRST_PAUSE_S
        while True:
            await self._offered.wait()
            await asyncio.sleep(GATHER_S)
            batch = self._batch()
            try:
                is_new = await self._in(self._commits, lambda batch=batch: _commit([each.offer for each in batch]))  # type: ignore[misc]
            except _TooMany:
                await asyncio.sleep(DRAIN_EVERY_S)
            except Exception as problem:
                if quarantine.is_of_a_frame(problem):
                    await self._narrow(batch, problem)
                    continue
                if isinstance(problem, DatabaseError) and is_full(problem):
                    await self._done(list(self._waiting), Refused(FULL_DISK))
                logger.warning("Nothing can be committed: %s", problem)
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)
            else:
                pause = FIRST_PAUSE_S
                self._most_offers = min(MOST_OFFERS, 2 * self._most_offers)
                await self._done(batch, is_new)

    async def _narrow(self, batch: list[_Waiting], problem: Exception) -> None:
        """One offer that cannot be stored must not stop the others: fewer are tried, until it is alone."""
        logger.error("Of %d offers one could not be committed", len(batch), exc_info=problem)
        self._most_offers = max(1, len(batch) // 2)
        if len(batch) == 1:
            await self._done(batch, Unstorable(f"could not be stored: {problem}"))

    def _batch(self) -> list[_Waiting]:
        """The oldest offers, up to a commit's worth; they stay in the queue until they are done."""
        found: list[_Waiting] = []
        size = 0
        for waiting in self._waiting:
            size += len(waiting.offer.payload)
            if found and (size > BATCH_BYTES or len(found) >= self._most_offers):
                break
            found.append(waiting)
        return found

    async def _done(self, batch: list[_Waiting], outcome: list[bool] | Refused) -> None:
        for at, waiting in enumerate(batch):
            self._waiting.popleft()
            self._bytes -= len(waiting.offer.payload)
            if waiting.lane is not None and isinstance(outcome, Refused) and not isinstance(outcome, Unstorable):
                waiting.lane.is_broken = True
            if waiting.committed.done():  # nobody waits for it any more
                continue
            if isinstance(outcome, Refused):
                waiting.committed.set_exception(outcome)
            else:
                waiting.committed.set_result(outcome[at])
        if not self._waiting:
            self._offered.clear()
        self._committed.set()
        async with self._room:
            self._room.notify_all()

    # --- writing ------------------------------------------------------------------------------------------------

    async def _write_forever(self) -> None:
        renewed = 0.0
        loop = asyncio.get_running_loop()
        while True:
            try:
                if loop.time() - renewed >= (RENEWED_EVERY_S if self._is_leading else ASKED_EVERY_S):
                    self._lead(await self._in(self._drains, self._holder.take))
                    renewed = loop.time()
                more = self._is_leading and await self._in(self._drains, self._sorter.drain)
            except Lost:
                self._lead(False)
                more = False
            except DatabaseError as problem:
                self._lead(False)
                more, renewed = False, 0.0
                logger.warning("Nothing can be sorted in: %s", problem)
            except Exception:
                more = False
                logger.exception("Frames could not be sorted in")
            if not more:
                await self._rest()

    async def _expire_forever(self) -> None:
        """What is kept no longer is deleted a chunk at a time, between what is sorted in."""
        while True:
            await asyncio.sleep(EXPIRE_EVERY_S)
            try:
                while self._is_leading and await self._in(self._drains, _expire):
                    pass
            except DatabaseError as problem:
                logger.warning("Nothing can be deleted: %s", problem)

    def _required[Result](self, function: Callable[[], Result]) -> Result:
        with transaction.atomic():
            self._holder.require()
            return function()

    def _lead(self, leads: bool) -> None:
        if leads and self._holder.epoch != self._epoch:
            self._writer.forget()  # another one may have written since
            self._epoch = self._holder.epoch
            self._sorter.begins_anew()
        if self._is_leading and not leads:
            self._sorter.end()
        self._is_leading = leads

    async def _rest(self) -> None:
        """Until something was committed here, or a moment has passed."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._committed.wait(), DRAIN_EVERY_S)
        self._committed.clear()


class _TooMany(Exception):
    """The writer is behind."""


def _commit(offers: list[Offer]) -> list[bool]:
    if inbox.waiting() > MOST_FRAMES:
        raise _TooMany
    return inbox.commit(offers)


def _expire() -> bool:
    """Whether there may be more."""
    return retention.expire(int(time.time() * 1000)) > 0


def is_full(problem: DatabaseError) -> bool:
    """Whether the database has no room on its disk."""
    said = str(problem).lower()
    return "disk is full" in said or "no space left" in said or "diskfull" in type(problem.__cause__).__name__.lower()


def _with_fresh_connection[Result](function: Callable[[], Result]) -> Result:
    """A thread keeps its connection while it works, and lets go of one that is broken."""
    close_old_connections()
    try:
        return function()
    except DatabaseError:
        connection.close()
        raise
