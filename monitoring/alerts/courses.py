"""How figures went lately: a value every ten seconds, in memory and as rows, so that who leads next is not blind."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from monitoring.alerts.kinds import LONGEST_COURSE_S
from monitoring.models import Remembered

EVERY_MS = 10_000
KEPT_MS = round(LONGEST_COURSE_S * 1000) + 60_000
NEAR_MS = 30_000
"""How far from a moment a value may be to count as that of the moment."""
TIDIED_EVERY_MS = 600_000

type Key = tuple[str, str]
"""Watch and figure."""
type Array = NDArray[np.float64]


class Courses:
    """Of the figures that rules look back at: means over ten seconds, at the mean of their times."""

    def __init__(self) -> None:
        self._kept: dict[Key, deque[tuple[int, float]]] = {}
        self._now: dict[Key, list[tuple[int, float]]] = defaultdict(list)
        self._bucket = 0
        self._tidied_ms = 0

    def note(self, now_ms: int, values: dict[Key, float | None]) -> None:
        """Takes the values of a moment; writes what ten seconds have come to. Raises DatabaseError."""
        bucket = now_ms // EVERY_MS
        if bucket != self._bucket:
            self._end(now_ms)
            self._bucket = bucket
        self._load([key for key in values if key not in self._kept], now_ms)
        for key, value in values.items():
            if value is not None:
                self._now[key].append((now_ms, value))

    def of(self, key: Key, now_ms: int, over_s: float) -> tuple[Array, Array]:
        """Times in seconds before `now_ms` (≤ 0) and values, the oldest first."""
        kept = [(at, value) for at, value in self._kept.get(key, ()) if now_ms - at <= over_s * 1000]
        if at_once := self._now.get(key):
            kept.append(_mean(at_once))
        found = np.array(kept, float).reshape(-1, 2)
        return (found[:, 0] - now_ms) / 1000, found[:, 1]

    def then(self, key: Key, at_ms: int) -> float | None:
        """The value of a moment that has passed; None where none is near."""
        near = [(abs(at - at_ms), value) for at, value in self._kept.get(key, ()) if abs(at - at_ms) <= NEAR_MS]
        return min(near)[1] if near else None

    def _end(self, now_ms: int) -> None:
        """What has come together in ten seconds."""
        ended = {key: _mean(values) for key, values in self._now.items() if values}
        self._now.clear()
        if not ended:
            return
        rows = [
            Remembered(watch=key[0], figure=key[1], ts_ms=at_ms, value=value) for key, (at_ms, value) in ended.items()
        ]
        for key, (at_ms, value) in ended.items():
            kept = self._kept.setdefault(key, deque())
            kept.append((at_ms, value))
            while kept[0][0] < now_ms - KEPT_MS:
                kept.popleft()
        Remembered.objects.bulk_create(rows, ignore_conflicts=True)
        self._tidy(now_ms)

    def _load(self, keys: Collection[Key], now_ms: int) -> None:
        if not keys:
            return
        figures = {figure for _, figure in keys}
        rows = Remembered.objects.filter(figure__in=figures, ts_ms__gt=now_ms - KEPT_MS, ts_ms__lte=now_ms)
        found: dict[Key, deque[tuple[int, float]]] = {key: deque() for key in keys}
        for watch, figure, ts_ms, value in rows.order_by("ts_ms").values_list("watch", "figure", "ts_ms", "value"):
            if (watch, figure) in found:
                found[watch, figure].append((ts_ms, value))
        self._kept |= found

    def _tidy(self, now_ms: int) -> None:
        if now_ms - self._tidied_ms > TIDIED_EVERY_MS:
            self._tidied_ms = now_ms
            Remembered.objects.filter(ts_ms__lt=now_ms - KEPT_MS).delete()


def _mean(values: list[tuple[int, float]]) -> tuple[int, float]:
    """Of times and of values."""
    times, found = zip(*values, strict=True)
    return round(sum(times) / len(times)), sum(found) / len(found)
