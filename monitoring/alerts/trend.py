"""A line through noisy values: the median of the slopes of all pairs (Theil 1950, Sen 1968).

Up to 29 % of the values may be anything without moving it far, so that a spike is no trend.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

type Array = NDArray[np.float64]

FEWEST = 6
COVERED = 0.5
"""Share of the window that the values must span."""


@dataclass(frozen=True, slots=True)
class Trend:
    """value(t) = level + slope_per_s · (t − end)."""

    level: float
    slope_per_s: float

    def after(self, seconds: float) -> float:
        """The value that the line has so long after the end of the window."""
        return self.level + self.slope_per_s * seconds


def trend(at_s: Array, values: Array, over_s: float) -> Trend | None:
    """Of values at times up to now (at_s ≤ 0); None where they are too few, or span too little of the window."""
    if values.size < FEWEST or np.ptp(at_s) < COVERED * over_s:
        return None
    first, second = np.triu_indices(values.size, 1)
    distance = at_s[second] - at_s[first]
    apart = distance != 0
    slope = float(np.median((values[second] - values[first])[apart] / distance[apart]))
    return Trend(float(np.median(values - slope * at_s)), slope)
