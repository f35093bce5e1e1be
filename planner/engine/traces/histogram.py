"""Exact counts of whole numbers, however many requests there are."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from planner.engine.traces.chunk import Int64

DENSE = 2**20
"""Below it every value has its own counter: 8 MiB at most."""
MOST_ABOVE = 1_000_000
"""Distinct values from DENSE on."""


class Histogram:
    """How often each value occurred; everything about their distribution follows from it exactly."""

    def __init__(self) -> None:
        self._dense = np.zeros(1024, dtype=np.int64)
        self._values = np.zeros(0, dtype=np.int64)
        self._above = np.zeros(0, dtype=np.int64)

    def add(self, values: Int64) -> None:
        """Counts values. Raises ValueError on negative ones, and on too many different ones of a million and more."""
        small = values < DENSE
        low, high = (values, values[:0]) if small.all() else (values[small], values[~small])
        counts = np.bincount(low, minlength=self._dense.size)
        if counts.size > self._dense.size:
            grown = np.zeros(min(DENSE, 2 ** math.ceil(math.log2(counts.size))), dtype=np.int64)
            grown[: self._dense.size] = self._dense
            self._dense = grown
        self._dense[: counts.size] += counts
        if high.size:
            self._add_high(high)

    def _add_high(self, values: Int64) -> None:
        merged, where = np.unique(np.concatenate([self._values, values]), return_inverse=True)
        if merged.size > MOST_ABOVE:
            raise ValueError(f"more than {MOST_ABOVE:,} different values of {DENSE:,} and more")
        counts = np.zeros(merged.size, dtype=np.int64)
        counts[where[: self._values.size]] = self._above
        self._above = counts + np.bincount(where[self._values.size :], minlength=merged.size)
        self._values = merged

    @property
    def values(self) -> tuple[Int64, Int64]:
        """The different values, rising, and how often each occurred."""
        found = np.flatnonzero(self._dense)
        return np.concatenate([found, self._values]), np.concatenate([self._dense[found], self._above])

    @property
    def count(self) -> int:
        """Values counted."""
        return int(self._dense.sum() + self._above.sum())

    @property
    def total(self) -> int:
        """Their sum, exact."""
        values, counts = self.values
        if values.size and int(values[-1]) * self.count < 2**63:
            return int(values @ counts)
        return sum(value * count for value, count in zip(values.tolist(), counts.tolist(), strict=True))

    @property
    def mean(self) -> float:
        """Raises ZeroDivisionError where nothing was counted."""
        return self.total / self.count

    def percentiles(self, percents: Sequence[float]) -> NDArray[np.float64]:
        """Between the order statistics in a straight line, as NumPy's default. Raises IndexError of nothing."""
        values, counts = self.values
        last = np.cumsum(counts) - 1
        places = np.asarray(percents) / 100 * last[-1]
        below = np.floor(places).astype(np.int64)
        lower = values[np.searchsorted(last, below)]
        upper = values[np.searchsorted(last, np.minimum(below + 1, last[-1]))]
        found: NDArray[np.float64] = lower + (upper - lower) * (places - below)
        return found

    def summary(self) -> dict[str, float]:
        """Mean, percentiles and extremes."""
        p10, p50, p90, p99 = self.percentiles([10, 50, 90, 99]).tolist()
        values, _ = self.values
        least, most = int(values[0]), int(values[-1])
        return {"mean": self.mean, "min": least, "p10": p10, "p50": p50, "p90": p90, "p99": p99, "max": most}
