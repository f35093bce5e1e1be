"""Snapshots as rows, by which every process shows the same: numbered by the one that writes, kept for a while."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from django.db.models import Max, Min

from monitoring.live.messages import Snapshot
from monitoring.models import Tick

KEPT_MS = 10 * 60_000
EXPIRED_EVERY = 10
"""Ticks."""
MOST = 600
"""That are told at once."""

_encoder = msgspec.json.Encoder()


def store(snapshot: Snapshot) -> bytes:
    """Numbers a snapshot and keeps it; as JSON. Call it within a transaction of the one that writes."""
    last = Tick.objects.aggregate(last=Max("seq"))["last"]
    snapshot.seq = (last or 0) + 1
    payload = _encoder.encode(snapshot)
    Tick.objects.create(seq=snapshot.seq, ts_ms=snapshot.ts_ms, payload=payload)
    if snapshot.seq % EXPIRED_EVERY == 0:
        Tick.objects.filter(ts_ms__lt=snapshot.ts_ms - KEPT_MS).delete()
    return payload


def newest(after: int = 0) -> tuple[int, bytes] | None:
    """The last one's number and JSON; None if none came after."""
    found = Tick.objects.filter(seq__gt=after).order_by("-seq").values_list("seq", "payload").first()
    return None if found is None else (found[0], bytes(found[1]))


@dataclass(frozen=True, slots=True)
class Since:
    """Snapshots after a number, oldest first."""

    ticks: list[bytes]
    has_more: bool
    """Later ones that were not told."""
    has_gap: bool
    """Earlier ones that are no longer kept."""


def since(seq: int, most: int = MOST) -> Since:
    """Those after a number, at most so many."""
    found = list(Tick.objects.filter(seq__gt=seq).order_by("seq").values_list("seq", "payload")[: most + 1])
    first = Tick.objects.aggregate(first=Min("seq"))["first"]
    has_gap = first is not None and first > seq + 1
    return Since([bytes(payload) for _, payload in found[:most]], len(found) > most, has_gap)
