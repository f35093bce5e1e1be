"""What was offered at a door becomes durable here: frames and their numbers, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db import transaction
from django.db.models import F

from monitoring.models import Frame, Source
from monitoring.wire import Columns, Mapped, Parts, packed, packed_parts

SMOOTHING = 0.1
"""Of a source's clock: how much of each new difference is taken over."""


@dataclass(slots=True)
class Offer:
    """A decoded and mapped message of a source; `seq` where its protocol numbers them."""

    source_id: int
    received_ms: int
    series: Sequence[Mapped]
    seq: int | None = None
    rejected: int = 0
    skew_ms: int | None = None
    is_seen: bool = True
    """False where it is not of the source, but what we say of it: that it did not answer."""
    parts: Sequence[Parts] = ()
    """Of histograms that may come in several messages."""
    columns: Columns | None = None
    """More series of it, as columns."""
    points: int = field(init=False)
    payload: bytes = field(init=False)

    def __post_init__(self) -> None:
        self.points = sum(len(each.points) for each in self.series) + (self.columns.points if self.columns else 0)
        self.payload = packed(list(self.series), self.columns)

    @property
    def count(self) -> int:
        """Of series."""
        return len(self.series) + (self.columns.count if self.columns else 0)

    @property
    def accepted(self) -> int:
        """Points: a histogram is counted with the message that has its count."""
        return self.points + sum("_count" in each.values for each in self.parts)


def commit(offers: Sequence[Offer]) -> list[bool]:
    """Stores them all, or none; of each whether it is new. A number that was committed before is not stored again."""
    with transaction.atomic():
        ids = sorted({offer.source_id for offer in offers})
        sources = {source.pk: source for source in Source.objects.select_for_update().filter(pk__in=ids).order_by("pk")}
        is_new = [_is_new(sources.get(offer.source_id), offer) for offer in offers]
        taken = [offer for offer, new in zip(offers, is_new, strict=True) if new]
        Frame.objects.bulk_create(
            [
                Frame(source_id=each.source_id, received_ms=each.received_ms, points=each.points, payload=each.payload)
                for each in taken
                if each.points
            ]
            + [_of_parts(each) for each in taken if each.parts]
        )
        for source in sources.values():
            _note(source, [offer for offer in taken if offer.source_id == source.pk])
    return is_new


def _of_parts(offer: Offer) -> Frame:
    points = sum(len(each.values) for each in offer.parts)
    payload = packed_parts(list(offer.parts))
    return Frame(
        source_id=offer.source_id, received_ms=offer.received_ms, points=points, payload=payload, is_parts=True
    )


def _is_new(source: Source | None, offer: Offer) -> bool:
    """Also notes its number, against which the next one of the same batch is held. Of a source that is gone: no."""
    if source is None:
        return False
    if offer.seq is None:
        return True
    if source.last_seq is not None and offer.seq <= source.last_seq:
        return False
    source.last_seq = offer.seq
    return True


def _note(source: Source, taken: Sequence[Offer]) -> None:
    if not taken:
        return
    skew = source.skew_ms
    for offer in taken:
        if offer.skew_ms is not None:
            skew = offer.skew_ms if skew is None else round(skew + SMOOTHING * (offer.skew_ms - skew))
    Source.objects.filter(pk=source.pk).update(
        last_seq=source.last_seq,
        last_seen_ms=max((each.received_ms for each in taken if each.is_seen), default=source.last_seen_ms),
        skew_ms=skew,
        accepted=F("accepted") + sum(offer.accepted for offer in taken),
        rejected=F("rejected") + sum(offer.rejected for offer in taken),
    )


def waiting() -> int:
    """Frames that are not sorted in yet."""
    return Frame.objects.count()
