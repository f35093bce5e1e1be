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
from typing import Protocol

from django.db import DatabaseError, close_old_connections, connection, transaction

from monitoring import inbox
from monitoring.inbox import Offer
from monitoring.lease import ASKED_EVERY_S, RENEWED_EVERY_S, Holder, Lost
from monitoring.storage import retention
from monitoring.storage.told import Told
from monitoring.storage.writer import Writer

logger = logging.getLogger(__name__)

MOST_BYTES = 32 * 2**20
"""Of offers that wait in a process."""
MOST_FRAMES = 20_000
"""Committed and not sorted in yet: beyond that nothing more is committed until the writer has caught up."""
BATCH_BYTES = 4 * 2**20
GATHER_S = 0.05
"""How long a commit waits for more to commit with it."""
DRAIN_EVERY_S = 0.5
EXPIRE_EVERY_S = 60.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 5.0


class Full(Exception):
    """No room for more just now; `retry_after_s` is when to try again."""

    retry_after_s = 2


class Refused(Exception):
    """The offer cannot be stored, and trying again at once would not help. The text says why."""


class Follower(Protocol):
    """Whoever keeps what was sorted in, while this process is the one that writes. Called in the writer's thread."""

    def begin(self) -> None:
        """Reads what is stored: from now on this process writes, or something of what it wrote was not told."""

    def follow(self, told: Told) -> None:
        """Takes what was committed."""

    def end(self) -> None:
        """Forgets: another process writes. Called in the event loop."""


@dataclass(slots=True)
class _Waiting:
    offer: Offer
    committed: asyncio.Future[bool]


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
        self._holder, self._writer = Holder(), Writer()
        self._is_leading = False
        self._epoch: int | None = None
        self._follower, self._followed = follower, False

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

    async def admit(self, offer: Offer) -> asyncio.Future[bool]:
        """Waits for room; then the promise of its commit. Who awaits one after the other keeps their order."""
        async with self._room:
            await self._room.wait_for(lambda: self._has_room(offer))
            return self.enqueue(offer)

    def enqueue(self, offer: Offer) -> asyncio.Future[bool]:
        """The promise of its commit, at once. Raises Full where there is no room."""
        if not self._has_room(offer):
            raise Full
        waiting = _Waiting(offer, asyncio.get_running_loop().create_future())
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
            except DatabaseError as problem:
                if is_full(problem):
                    await self._done(batch, Refused("the disk of the database is full"))
                logger.warning("Nothing can be committed: %s", problem)
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)
            except Exception as problem:  # one offer that cannot be stored must not stop all that follow
                logger.exception("An offer could not be committed")
                await self._done(batch, Refused(f"could not be stored: {problem}"))
            else:
                pause = FIRST_PAUSE_S
                await self._done(batch, is_new)

    def _batch(self) -> list[_Waiting]:
        """The oldest offers, up to a commit's worth; they stay in the queue until they are done."""
        found: list[_Waiting] = []
        size = 0
        for waiting in self._waiting:
            size += len(waiting.offer.payload)
            if found and size > BATCH_BYTES:
                break
            found.append(waiting)
        return found

    async def _done(self, batch: list[_Waiting], outcome: list[bool] | Refused) -> None:
        for at, waiting in enumerate(batch):
            self._waiting.popleft()
            self._bytes -= len(waiting.offer.payload)
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
                more = self._is_leading and await self._in(self._drains, self._drain)
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

    def _drain(self) -> bool:
        """Whether there may be more."""
        if self._follower is None:
            return self._required(self._writer.drain).frames > 0
        if not self._followed:
            self._follower.begin()
        self._followed = False  # until it was told of what follows
        stored = self._required(self._writer.drain)
        self._follower.follow(stored.told)
        self._followed = True
        return stored.frames > 0

    def _required[Result](self, function: Callable[[], Result]) -> Result:
        with transaction.atomic():
            self._holder.require()
            return function()

    def _lead(self, leads: bool) -> None:
        if leads and self._holder.epoch != self._epoch:
            self._writer.forget()  # another one may have written since
            self._epoch = self._holder.epoch
            self._followed = False
        if self._follower is not None and self._is_leading and not leads:
            self._followed = False
            self._follower.end()
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
