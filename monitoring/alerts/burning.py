"""How fast an SLO's error budget burns, from the stored histograms of TTFT: nobody's restart makes it forget.

Over a window, `bad` is the share of requests whose TTFT was more than the SLO; the budget is 1 − target; the burn rate
is bad / (1 − target): 1 spends exactly what the target allows. Each pair of windows (1 h and 5 min, 6 h and 30 min)
has a rate that fires, and holds where both windows burn at least so fast. The value of a rule is, over the pairs, the
greatest min(long, short) / rate that fires: from 1 on it fires.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitoring.alerts.kinds import WINDOWS_S
from monitoring.live.selection import described, plan
from monitoring.live.watched import named
from monitoring.models import Series
from monitoring.storage import query

TTFT = "ttft_s"
FRESH_S = 15.0
"""So long an answer of the store counts."""
FINE_S = 1800
"""Up to so long a window is read from rollups of ten seconds, a longer one from those of a minute."""

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
        self._found: dict[tuple[str, float], tuple[float, dict[int, float | None]]] = {}

    def burn(self, watch: str, spec: Mapping[str, Any], now_ms: int) -> Burn | None:
        """Of a watch's TTFT. Raises DatabaseError."""
        key = watch, float(spec["slo_s"])
        asked, shares = self._found.get(key, (-FRESH_S, {}))
        if time.monotonic() - asked >= FRESH_S:
            shares = shares_of(watch, float(spec["slo_s"]), now_ms)
            self._found[key] = time.monotonic(), shares
        return combined(spec, shares)


def shares_of(watch: str, slo_s: float, now_ms: int) -> dict[int, float | None]:
    """By window in seconds, as stored."""
    series = of_watch(watch)
    windows = {seconds for _, *pair in WINDOWS_S for seconds in pair}
    return {seconds: _share(series, slo_s, now_ms, seconds) for seconds in sorted(windows)}


def of_watch(name: str) -> list[Series]:
    """The histograms of a watch's TTFT, no request twice, as the screen shows them; none of a watch that is not."""
    watch = named(name)
    if watch is None:
        return []
    told = Series.objects.filter(signal__in=(TTFT, "requests"))  # by those of requests routers are known
    found = plan(watch, [described(each) for each in told]).ttft
    return list(Series.objects.filter(pk__in=[each.id for each in found]).select_related("source"))


def _share(series: Sequence[Series], slo_s: float, now_ms: int, seconds: int) -> float | None:
    resolution_s = 10 if seconds <= FINE_S else 60
    asked = query.Window(now_ms - seconds * 1000, now_ms + 1, resolution_s * 1000, resolution_s)
    bad = total = 0.0
    for line in query.lines(series, asked):
        counts = np.array(line.counts, float)
        share = bad_share(np.array(line.series.bounds or [], float), counts, slo_s)
        if share is not None:
            bad, total = bad + share * float(counts.sum()), total + float(counts.sum())
    return bad / total if total else None
