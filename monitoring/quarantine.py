"""Frames that were acknowledged and cannot be sorted in: found, set aside with the reason, kept, and tried again.

What goes wrong in a transaction of many frames is of one of them, as a rule. Half as many are tried again and again
until the one is alone; then it is put where it stops nobody. What is wrong with the database is waited for instead.
"""

from __future__ import annotations

import logging
import time

from django.db import DatabaseError, DataError, IntegrityError, transaction
from django.db.models import QuerySet

from monitoring.lease import Holder, Lost
from monitoring.models import Frame, Quarantined
from monitoring.storage.writer import MOST_FRAMES, Writer

logger = logging.getLogger(__name__)

LONGEST_REASON = 500


class Sorter:
    """Sorts in what waits, as long as it holds the lease."""

    def __init__(self, writer: Writer, holder: Holder) -> None:
        self._writer, self._holder = writer, holder
        self._most = MOST_FRAMES

    def drain(self) -> bool:
        """One transaction; whether there may be more. Raises Lost, and DatabaseError where no frame is the cause."""
        try:
            with transaction.atomic():
                self._holder.require()
                found = self._writer.drain(self._most).frames
        except Exception as problem:
            if not is_of_a_frame(problem):
                raise
            self._narrow(problem)
            return True
        self._most = min(MOST_FRAMES, 2 * self._most)
        return found > 0

    def _narrow(self, problem: Exception) -> None:
        with transaction.atomic():
            self._holder.require()
            tried = min(self._most, Frame.objects.count())
            self._most = max(1, tried // 2)
            if tried == 1:
                _set_aside(problem)


def is_of_a_frame(problem: Exception) -> bool:
    """Whether what went wrong is of what was to be stored, and not of the database or the lease."""
    return isinstance(problem, DataError | IntegrityError) or not isinstance(problem, DatabaseError | Lost)


def _set_aside(problem: Exception) -> None:
    """The oldest frame."""
    frame = Frame.objects.order_by("pk").first()
    if frame is None:
        return
    reason = f"{type(problem).__name__}: {problem}".replace("\0", "")[:LONGEST_REASON]
    Quarantined.objects.create(**_of(frame), reason=reason, set_aside_ms=round(time.time() * 1000))
    frame.delete()
    logger.error("A frame of source %s could not be sorted in and is set aside: %s", frame.source_id, reason)


def retry(chosen: QuerySet[Quarantined]) -> int:
    """Puts them among the frames that wait, behind all that do; how many they were."""
    with transaction.atomic():
        rows = list(chosen.select_for_update())
        Frame.objects.bulk_create([Frame(**_of(row)) for row in rows])
        Quarantined.objects.filter(pk__in=[row.pk for row in rows]).delete()
    return len(rows)


def _of(row: Frame | Quarantined) -> dict[str, object]:
    return {name: getattr(row, name) for name in ("source_id", "received_ms", "points", "payload", "is_parts")}
