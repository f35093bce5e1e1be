"""What is stored of the last minutes, for a process that begins to write: read from rollups, which are few."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.db import connection

from monitoring.liveness import ABSENT_AFTER_MS
from monitoring.models import Series
from monitoring.state.histograms import HALF_LIFE_S, RECENT_S
from monitoring.state.scalars import WINDOW_S, Loaded
from monitoring.storage import tables
from monitoring.storage.histograms import DOUBLE, Increase, Observed, observed
from monitoring.storage.rollups import MS
from monitoring.storage.told import GAUGE, KINDS

FINE_S, COARSE_S = 10, 60
HALF_LIVES = 4
"""So far back decayed counts are read: what is older would be a sixteenth."""
LONG_SIGNALS = ("uncached_tokens",)
"""Histograms that are looked at over longer than the last minute."""
CHUNK = 500


@dataclass(frozen=True, slots=True)
class StoredHistogram:
    """Its last sample, and what was observed up to some times before it."""

    series: int
    kind: str
    last: Observed
    increases: list[tuple[int, Increase]]


@dataclass(frozen=True, slots=True)
class Stored:
    """All series that had a sample lately."""

    scalars: list[Loaded] = field(default_factory=list)
    histograms: list[StoredHistogram] = field(default_factory=list)


def now_ms() -> int:
    """Our clock."""
    return round(time.time() * MS)


def stored(at_ms: int) -> Stored:
    """What there is. Within no transaction: two processes may see a row more or less, and the next sample mends it."""
    lately = _lately(at_ms)
    kinds = dict(_by_chunks(lately, lambda ids: Series.objects.filter(pk__in=ids).values_list("pk", "kind")))
    fine = _fine(at_ms)
    scalars = [
        _loaded(series, KINDS[kind], lately[series], fine.get(series))
        for series, kind in kinds.items()
        if kind in KINDS and lately[series][1] is not None
    ]
    return Stored(scalars, _histograms(at_ms, {series: kind for series, kind in kinds.items() if kind not in KINDS}))


type Coarse = tuple[int, float | None, float, int]
"""Time of the last sample, the sample, the number of samples or intervals, and what they cover."""


def _lately(at_ms: int) -> dict[int, Coarse]:
    """By series, of the last bucket that it has."""
    begin_ms = at_ms - ABSENT_AFTER_MS - COARSE_S * MS
    rows = _rows("series_id, last_ms, last, count, span_ms", COARSE_S, begin_ms)
    return {series: (last_ms, last, count, span_ms) for series, last_ms, last, count, span_ms in rows}


type Fine = tuple[float, float, int]
"""The increase of the last seconds, the milliseconds that it covers, and the time of its last sample."""


def _fine(at_ms: int) -> dict[int, Fine]:
    """By series, of the last bucket that covers any time, and so much of the one before it as the window is longer."""
    found: dict[int, Fine] = {}
    for series, total, span_ms, last_ms in _rows("series_id, sum, span_ms, last_ms", FINE_S, at_ms - 2 * COARSE_S * MS):
        if not span_ms:
            continue
        before, before_ms, before_last_ms = found.get(series, (0.0, 0.0, 0))
        is_next = before_last_ms // (FINE_S * MS) == last_ms // (FINE_S * MS) - 1
        room_ms = max(0.0, WINDOW_S * MS - span_ms)
        share = min(1.0, room_ms / before_ms) if is_next and before_ms else 0.0
        found[series] = (total + share * before, span_ms + share * before_ms, last_ms)
    return found


def _rows(columns: str, resolution_s: int, begin_ms: int) -> list[tuple[Any, ...]]:
    """Rollups from a time on, oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {columns} FROM monitoring_rollup WHERE resolution_s = %s AND bucket_ms >= %s "  # noqa: S608
            "ORDER BY bucket_ms",
            [resolution_s, begin_ms],
        )
        found: list[tuple[Any, ...]] = cursor.fetchall()
    return found


def _loaded(series: int, kind: int, coarse: Coarse, fine: Fine | None) -> Loaded:
    last_ms, last, count, span_ms = coarse
    covered_ms = span_ms if kind != GAUGE else last_ms % (COARSE_S * MS)
    usual_ms = covered_ms / count if count > 1 and covered_ms else float(FINE_S * MS)
    # an increase from before a gap is no rate of now
    counts = kind != GAUGE and fine is not None and last_ms - fine[2] <= WINDOW_S * MS
    increase, ms = fine[:2] if counts and fine else (0.0, 0.0)
    return Loaded(series, kind, last_ms, np.nan if last is None else last, usual_ms, increase, ms)


def _histograms(at_ms: int, kinds: dict[int, str]) -> list[StoredHistogram]:
    long = set(
        _by_chunks(
            kinds,
            lambda ids: Series.objects.filter(pk__in=ids, signal__in=LONG_SIGNALS).values_list("pk", flat=True),
        )
    )
    found = []
    for series, *sample in tables.newest(sorted(kinds)):
        if sample[-1] is None:
            continue
        back_s = HALF_LIVES * HALF_LIFE_S if series in long else RECENT_S + FINE_S
        increases = _increases(series, at_ms - int(back_s * MS))
        found.append(StoredHistogram(series, kinds[series], observed(sample), increases))
    return found


def _increases(series: int, begin_ms: int) -> list[tuple[int, Increase]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT last_ms, counts, sum, span_ms FROM monitoring_rollup WHERE series_id = %s AND resolution_s = %s "
            "AND bucket_ms >= %s AND counts IS NOT NULL ORDER BY bucket_ms",
            [series, FINE_S, begin_ms],
        )
        rows = cursor.fetchall()
    return [
        (last_ms, Increase(np.frombuffer(bytes(counts), DOUBLE), total, span_ms))
        for last_ms, counts, total, span_ms in rows
        if span_ms
    ]


def _by_chunks(ids: Iterable[int], ask: Any) -> Iterator[Any]:
    """What is answered for so many at a time: databases take so many parameters."""
    every: Sequence[int] = sorted(ids)
    for at in range(0, len(every), CHUNK):
        yield from ask(every[at : at + CHUNK])
