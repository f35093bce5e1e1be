"""How fast an SLO's error budget burns, from the stored histograms of TTFT: nobody's restart makes it forget.

Over a window, `bad` is the share of requests whose TTFT was more than the SLO; the budget is 1 − target; the burn rate
is bad / (1 − target): 1 spends exactly what the target allows. Each pair of windows (1 h and 5 min, 6 h and 30 min)
has a rate that fires, and holds where both windows burn at least so fast. The value of a rule is, over the pairs, the
greatest min(long, short) / rate that fires: from 1 on it fires.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitoring.alerts.kinds import WINDOWS_S
from monitoring.live.selection import described, plan
from monitoring.live.watched import named
from monitoring.models import Rollup, Series
from monitoring.storage.histograms import DOUBLE

TTFT = "ttft_s"
RESOLUTIONS_S = {300: 10, 1800: 60, 3600: 60, 21_600: 600}
"""By window: from which rollups it is read. Its beginning is exact to that much."""
FRESH_S = {300: 10.0, 1800: 30.0, 3600: 60.0, 21_600: 240.0}
"""By window: so long an answer of the store counts."""

type Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Burn:
    """The value of a rule, and of the pair that it is of: its name and both burn rates."""

    value: float
    pair: str
    long: float
    short: float


def bad_share(bounds: Array, counts: Array, slo: float) -> float | None:
    """Share of observations above the SLO, linear within its bucket, all beyond the last bound counted as above.

    None of nothing."""
    total = float(counts.sum())
    if not total > 0 or not bounds.size:
        return None
    at = int(np.searchsorted(bounds, slo))
    if at >= bounds.size:
        return float(counts[-1]) / total
    low = float(bounds[at - 1]) if at else min(0.0, float(bounds[0]))
    inside = (float(bounds[at]) - slo) / (float(bounds[at]) - low)
    return float(counts[at + 1 :].sum() + inside * counts[at]) / total


def combined(spec: Mapping[str, Any], shares: Mapping[int, float | None]) -> Burn | None:
    """Of the shares by window in seconds; None where no pair has both."""
    found = []
    for name, long_s, short_s in WINDOWS_S:
        long, short = shares.get(long_s), shares.get(short_s)
        if long is not None and short is not None:
            rates = long / (1 - spec["target"]), short / (1 - spec["target"])
            found.append(Burn(min(rates) / spec[name], name, *rates))
    return max(found, key=lambda each: each.value, default=None)


class Burning:
    """Asks the store, no more often than it must."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, float, int], tuple[float, float | None]] = {}

    def burn(self, watch: str, spec: Mapping[str, Any], now_ms: int) -> Burn | None:
        """Of a watch's TTFT. Raises DatabaseError."""
        slo_s, now_s = float(spec["slo_s"]), time.monotonic()
        found = {seconds: self._found.get((watch, slo_s, seconds)) for seconds in RESOLUTIONS_S}
        old = [seconds for seconds, kept in found.items() if kept is None or now_s - kept[0] >= FRESH_S[seconds]]
        shares = {seconds: kept[1] for seconds, kept in found.items() if kept is not None}
        for seconds, share in shares_of(watch, slo_s, now_ms, old).items():
            self._found[watch, slo_s, seconds] = now_s, share
            shares[seconds] = share
        return combined(spec, shares)


def shares_of(
    watch: str, slo_s: float, now_ms: int, windows_s: Collection[int] = tuple(RESOLUTIONS_S)
) -> dict[int, float | None]:
    """By window in seconds, as stored."""
    if not windows_s:
        return {}
    series = of_watch(watch)
    return {seconds: _share(series, slo_s, now_ms, seconds) for seconds in windows_s}


def of_watch(name: str) -> list[Series]:
    """The histograms of a watch's TTFT, no request twice, as the screen shows them; none of a watch that is not."""
    watch = named(name)
    if watch is None:
        return []
    told = Series.objects.filter(signal__in=(TTFT, "requests"))  # by those of requests routers are known
    found = plan(watch, [described(each) for each in told]).ttft
    return list(Series.objects.filter(pk__in=[each.id for each in found]))


def _share(series: Sequence[Series], slo_s: float, now_ms: int, seconds: int) -> float | None:
    stored = _stored([each.pk for each in series], now_ms, seconds)
    bad = total = 0.0
    for each in series:
        bounds = np.array(each.bounds or [], float)
        size = 8 * (bounds.size + 1)
        rows = b"".join(row for row in stored.get(each.pk, ()) if len(row) == size)
        counts = np.frombuffer(rows, DOUBLE).reshape(-1, bounds.size + 1).sum(axis=0)
        share = bad_share(bounds, counts, slo_s)
        if share is not None:
            bad, total = bad + share * float(counts.sum()), total + float(counts.sum())
    return bad / total if total else None


def _stored(series: Sequence[int], now_ms: int, seconds: int) -> dict[int, list[bytes]]:
    """Counts by series, a row for each step of the window: in one query, and added up without looking at each."""
    found: dict[int, list[bytes]] = {}
    rows = Rollup.objects.filter(
        series_id__in=series,
        resolution_s=RESOLUTIONS_S[seconds],
        bucket_ms__gte=now_ms - seconds * 1000,
        bucket_ms__lte=now_ms,
        counts__isnull=False,
    )
    for series_id, counts in rows.values_list("series_id", "counts"):
        found.setdefault(series_id, []).append(bytes(counts or b""))
    return found
