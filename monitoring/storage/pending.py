"""Parts of histograms, kept until all of each have come: what was acknowledged waits in the database, not in memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from django.db.models import F

from monitoring.assembling import Assembler, due_ms
from monitoring.models import Frame, Pending, Source
from monitoring.readings import Reading
from monitoring.wire import Mapped, Parts, packed_parts, unpacked_parts

type Mapping = Callable[[Source, list[Reading]], tuple[list[Mapped], list[str]]]
"""Series of ours of a source's readings, and why some are none."""
AGAIN_MS = 1_000
"""What is due and still waits for its rest is looked at again after so long."""


class Assembling:
    """Of all sources. Call it within the transaction that stores what it gives."""

    def __init__(self, mapped: Mapping, note: Callable[[Source, list[str]], None]) -> None:
        """`note` keeps reasons where the source's page shows them."""
        self._mapped, self._note = mapped, note
        self._assemblers: dict[int, Assembler] = {}

    def arrived(self, frames: Sequence[Frame]) -> list[tuple[int, Mapped]]:
        """Takes up these frames; what is whole now, by its source."""
        given: dict[int, list[Parts]] = {}
        for frame in frames:
            for parts in unpacked_parts(bytes(frame.payload)):
                parts.first_ms = parts.first_ms or frame.received_ms
                given.setdefault(frame.source_id, []).append(parts)
        return self._put_together(Pending.objects.filter(source_id__in=given), given) if given else []

    def due(self) -> list[tuple[int, Mapped]]:
        """What has waited long enough and is whole now, by its source."""
        return self._put_together(Pending.objects.filter(due_ms__lte=_now_ms()), {})

    def _put_together(self, rows: Iterable[Pending], given: dict[int, list[Parts]]) -> list[tuple[int, Mapped]]:
        waiting = {row.source_id: unpacked_parts(bytes(row.payload)) for row in rows}
        found = []
        for source in Source.objects.filter(pk__in=waiting.keys() | given.keys()).order_by("pk"):
            before = waiting.get(source.pk, [])
            outcome = self._assembler(source.pk).put_together([*before, *given.get(source.pk, [])], _now_ms())
            _keep(source.pk, outcome.pending, source.pk in waiting)
            series, reasons = self._mapped(source, outcome.readings) if outcome.readings else ([], [])
            self._tell(source, [*reasons, *outcome.given_up])
            found += [(source.pk, each) for each in series]
        return found

    def _assembler(self, source_id: int) -> Assembler:
        return self._assemblers.setdefault(source_id, Assembler())

    def _tell(self, source: Source, reasons: list[str]) -> None:
        if reasons:
            Source.objects.filter(pk=source.pk).update(rejected=F("rejected") + len(reasons))
            self._note(source, reasons)

    def forget(self) -> None:
        """What a failed transaction has finished is not finished: all is learnt again."""
        self._assemblers.clear()


def _keep(source_id: int, pending: list[Parts], was_there: bool) -> None:
    if pending:
        kept = {"due_ms": max(due_ms(pending), _now_ms() + AGAIN_MS), "payload": packed_parts(pending)}
        Pending.objects.update_or_create(source_id=source_id, defaults=kept)
    elif was_there:
        Pending.objects.filter(source_id=source_id).delete()


def _now_ms() -> int:
    return round(time.time() * 1000)
