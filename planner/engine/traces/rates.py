"""How arrivals vary: gaps, counts in windows, and the rate over time; in bounded memory for any duration."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.engine.traces.chunk import Int64

WINDOWS_S = (1, 10, 60)
FINE = 2**16
"""Bins that are kept while the duration is not known."""
MOST_BINS = 600
FEWEST_A_BIN = 10
"""Requests that a bin should have: with fewer it shows chance, not the rate."""
LULL, PART = 100, 0.5
"""A gap is a lull where it is so many times the mean of the others, and more than this part of the trace."""
_FINEST_NS = 10**6


class Gaps:
    """Times between arrivals."""

    def __init__(self) -> None:
        self.first_ns: int | None = None
        self.last_ns = 0
        self.longest_ns = 0
        self.count = 0
        self._sum = self._squares = 0.0

    def add(self, arrival_ns: Int64) -> None:
        """Counts arrivals that rise and follow those before. Raises ValueError where they do not."""
        if not arrival_ns.size:
            return
        if self.first_ns is None:
            self.first_ns = self.last_ns = int(arrival_ns[0])
            gaps = np.diff(arrival_ns)
        else:
            gaps = np.diff(arrival_ns, prepend=self.last_ns)
        if gaps.size:
            if gaps.min() < 0:
                raise ValueError("arrivals must rise from chunk to chunk")
            seconds = gaps / 1e9
            self.count += gaps.size
            self.longest_ns = max(self.longest_ns, int(gaps.max()))
            self._sum += float(seconds.sum())
            self._squares += float(seconds @ seconds)
        self.last_ns = int(arrival_ns[-1])

    @property
    def span_s(self) -> float:
        """From the first arrival to the last."""
        return 0.0 if self.first_ns is None else (self.last_ns - self.first_ns) / 1e9

    @property
    def cv(self) -> float | None:
        """Coefficient of variation of the gaps; None where all are zero."""
        if self.count < 1 or self._sum == 0:
            return None
        mean = self._sum / self.count
        return math.sqrt(max(0.0, self._squares / self.count - mean**2)) / mean

    @property
    def lull_s(self) -> float | None:
        """The longest gap, where the trace is rather two traces far apart: a rate over all of it would be absurd."""
        longest, span = self.longest_ns / 1e9, self.span_s
        if self.count < 2 or longest <= PART * span:
            return None
        return longest if longest > LULL * (span - longest) / (self.count - 1) else None


class Windows:
    """Arrivals in each of the whole windows of some duration, from the first arrival on."""

    def __init__(self, seconds: int) -> None:
        self._ns = seconds * 10**9
        self._open = self._open_count = 0
        self._sum = self._squares = self.most = 0

    def add(self, since_first_ns: Int64) -> None:
        """Counts arrivals that rise, in time since the first of the trace."""
        if not since_first_ns.size:
            return
        windows, counts = np.unique(since_first_ns // self._ns, return_counts=True)
        if windows[0] == self._open:
            counts[0] += self._open_count
        else:
            self._close(np.array([self._open_count]))
        self._close(counts[:-1])
        self._open, self._open_count = int(windows[-1]), int(counts[-1])

    def _close(self, counts: Int64) -> None:
        self._sum += int(counts.sum())
        self._squares += int(counts @ counts)
        self.most = max(self.most, int(counts.max(initial=0)))

    @property
    def whole(self) -> int:
        """Whole windows, empty ones too; the last one, which the trace may have left early, is none."""
        return self._open

    def summary(self) -> dict[str, float | None]:
        """Mean and greatest count, and variance over mean: 1 for a Poisson process."""
        if not self.whole or not self._sum:
            return {"mean": None, "max": None, "index_of_dispersion": None}
        mean = self._sum / self.whole
        variance = self._squares / self.whole - mean**2
        return {"mean": mean, "max": self.most, "index_of_dispersion": max(0.0, variance) / mean}


@dataclass(frozen=True, slots=True)
class RateOverTime:
    """Mean rates of intervals of equal length; the last may be half as long, or half as long again."""

    interval_s: float
    rate_rps: NDArray[np.float64]


class Bins:
    """Counts in fine bins that double in width whenever there are too many."""

    def __init__(self) -> None:
        self._width = _FINEST_NS
        self._counts = np.zeros(FINE, dtype=np.int64)
        self._last_ns = 0

    def add(self, since_first_ns: Int64) -> None:
        """Counts arrivals that rise, in time since the first of the trace."""
        if not since_first_ns.size:
            return
        self._last_ns = int(since_first_ns[-1])
        while self._last_ns // self._width >= FINE:
            halved = self._counts.reshape(-1, 2).sum(axis=1)
            self._counts = np.concatenate([halved, np.zeros_like(halved)])
            self._width *= 2
        found = np.bincount(since_first_ns // self._width, minlength=FINE)
        self._counts += found

    def rate(self) -> RateOverTime | None:
        """The rate over time, in at most MOST_BINS intervals; None of a trace without duration."""
        if not self._last_ns:
            return None
        used = self._last_ns // self._width + 1
        wanted = min(MOST_BINS, max(1, int(self._counts.sum()) // FEWEST_A_BIN))
        group = math.ceil(used / wanted)
        bins = math.ceil(used / group)
        counts = np.resize(self._counts[:used], bins * group)
        counts[used:] = 0
        counts, interval = counts.reshape(bins, group).sum(axis=1), group * self._width
        covered = np.full(bins, float(interval))
        covered[-1] = self._last_ns - (bins - 1) * interval
        if bins > 1 and covered[-1] < interval / 2:  # too little to tell a rate by
            counts[-2] += counts[-1]
            covered[-2] += covered[-1]
            counts, covered = counts[:-1], covered[:-1]
        return RateOverTime(interval / 1e9, counts / covered * 1e9)
