"""Frames that were acknowledged and cannot be sorted in: found, set aside with the reason, kept, and tried again.

What goes wrong in a transaction of many frames is of one of them, as a rule. Half as many are tried again and again
until the one is alone; then it is put where it stops nobody. What is wrong with the database is waited for instead.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from django.db import DatabaseError, DataError, IntegrityError, transaction
from django.db.models import QuerySet

from monitoring.lease import Holder, Lost
from monitoring.models import Frame, Pending, Quarantined
from monitoring.storage.told import Follower, Told
from monitoring.storage.writer import MOST_FRAMES, Writer

logger = logging.getLogger(__name__)

LONGEST_REASON = 500
SETTLED_EVERY_S = 1.0


class Sorter:
    """Sorts in what waits, as long as it holds the lease."""

    def __init__(self, writer: Writer, holder: Holder, follower: Follower | None = None) -> None:
        self._writer, self._holder, self._follower = writer, holder, follower
        self._is_followed = False
        self._most = MOST_FRAMES
        self._settled_at = 0.0

    def drain(self) -> bool:
        """One transaction of frames, and now and then one of what has waited for the rest of its histogram; whether
        there may be more. Raises Lost, and DatabaseError where no frame is the cause."""
        if self._follower is not None and not self._is_followed:
            self._follower.begin()
        self._is_followed = False  # until it was told of what follows
        stored = self._tried(lambda: self._writer.drain(self._most), self._narrow)
        if stored is not None:
            self._most = min(MOST_FRAMES, 2 * self._most)
            self._tell(stored.told)
        if time.monotonic() - self._settled_at >= SETTLED_EVERY_S:
            self._tell(self._tried(self._writer.settle, _set_pending_aside))
            self._settled_at = time.monotonic()
        self._is_followed = True
        return stored is None or stored.frames > 0

    def begins_anew(self) -> None:
        """Another process may have written since."""
        self._is_followed = False

    def end(self) -> None:
        """Another process writes."""
        self.begins_anew()
        if self._follower is not None:
            self._follower.end()

    def _tell(self, told: Told | None) -> None:
        if self._follower is not None and told is not None:
            self._follower.follow(told)

    def _tried[Result](self, work: Callable[[], Result], otherwise: Callable[[Exception], None]) -> Result | None:
        """What the work gives in a transaction; where it fails by what it stores, the other is done instead."""
        try:
            with transaction.atomic():
                self._holder.require()
                return work()
        except Exception as problem:
            self._writer.forget()
            if not is_of_a_frame(problem):
                raise
            failed = problem
        with transaction.atomic():
            self._holder.require()
            otherwise(failed)
        return None

    def _narrow(self, problem: Exception) -> None:
        tried = min(self._most, Frame.objects.count())
        self._most = max(1, tried // 2)
        if tried == 1:
            _set_aside(problem)


def is_of_a_frame(problem: Exception) -> bool:
    """Whether what went wrong is of what was to be stored, and not of the database or the lease."""
    return isinstance(problem, DataError | IntegrityError) or not isinstance(problem, DatabaseError | Lost)


def _set_aside(problem: Exception) -> None:
    """The oldest frame; and, of one of parts, those that were waiting for it."""
    frame = Frame.objects.order_by("pk").first()
    if frame is None:
        return
    _keep(problem, **_of(frame))
    if frame.is_parts:
        for row in Pending.objects.filter(source_id=frame.source_id):
            _keep_pending(problem, row)
    frame.delete()


def _set_pending_aside(problem: Exception) -> None:
    for row in Pending.objects.filter(due_ms__lte=round(time.time() * 1000)):
        _keep_pending(problem, row)


def _keep_pending(problem: Exception, row: Pending) -> None:
    _keep(problem, source_id=row.source_id, received_ms=row.due_ms, points=0, payload=row.payload, is_parts=True)
    row.delete()


def _keep(problem: Exception, **fields: Any) -> None:
    reason = f"{type(problem).__name__}: {problem}".replace("\0", "")[:LONGEST_REASON]
    Quarantined.objects.create(**fields, reason=reason, set_aside_ms=round(time.time() * 1000))
    logger.error("A frame of source %s could not be sorted in and is set aside: %s", fields["source_id"], reason)


def retry(chosen: QuerySet[Quarantined]) -> int:
    """Puts them among the frames that wait, behind all that do; how many they were."""
    with transaction.atomic():
        rows = list(chosen.select_for_update())
        Frame.objects.bulk_create([Frame(**_of(row)) for row in rows])
        Quarantined.objects.filter(pk__in=[row.pk for row in rows]).delete()
    return len(rows)


def _of(row: Frame | Quarantined) -> dict[str, Any]:
    return {name: getattr(row, name) for name in ("source_id", "received_ms", "points", "payload", "is_parts")}
