"""Times counted by size: cells in equal ratios, so that a percentile is off by less than 0.5 % of itself."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

LEAST_S, MOST_S = 1e-6, 1e9
RATIO = 1.005
LOG_RATIO = math.log(RATIO)
LOG_LEAST = math.log(LEAST_S)
CELLS = math.ceil(math.log(MOST_S / LEAST_S) / LOG_RATIO)


def cell(seconds: float) -> int:
    """The cell of a time; what is beyond the first or last falls into it."""
    if seconds <= LEAST_S:
        return 0
    return min(int((math.log(seconds) - LOG_LEAST) / LOG_RATIO), CELLS - 1)


def percentile(counts: NDArray[np.int64], q: float) -> float:
    """Least time that a share q in (0, 1] of those counted does not exceed: within its cell by its rank there, or
    replications whose percentile falls into one cell would seem to agree to the last digit."""
    upto = np.cumsum(counts)
    rank = max(math.ceil(q * int(upto[-1]) - 1e-9), 1)
    at = int(np.searchsorted(upto, rank))
    inside = (rank - 0.5 - (int(upto[at]) - int(counts[at]))) / int(counts[at])
    return float(LEAST_S * RATIO ** (at + inside))


def share_within(counts: NDArray[np.int64], seconds: float) -> float:
    """Share of those counted that took at most so long, to within 0.25 % in seconds; they must not be none."""
    # the cell whose middle is the nearest edge
    upto = cell(seconds * math.sqrt(RATIO))
    return float(counts[:upto].sum() / counts.sum())
