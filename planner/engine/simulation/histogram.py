"""Times counted by size: cells in equal ratios, so that a percentile is off by less than 0.5 % of itself."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

LEAST_S, MOST_S = 1e-6, 1e9
RATIO = 1.01
LOG_RATIO = math.log(RATIO)
LOG_LEAST = math.log(LEAST_S)
CELLS = math.ceil(math.log(MOST_S / LEAST_S) / LOG_RATIO)


def cell(seconds: float) -> int:
    """The cell of a time; what is beyond the first or last falls into it."""
    if seconds <= LEAST_S:
        return 0
    return min(int((math.log(seconds) - LOG_LEAST) / LOG_RATIO), CELLS - 1)


def percentile(counts: NDArray[np.int64], q: float) -> float:
    """Least time that a share q in (0, 1] of those counted does not exceed: the middle of its cell, in ratio."""
    upto = np.cumsum(counts)
    at = int(np.searchsorted(upto, max(math.ceil(q * int(upto[-1]) - 1e-9), 1)))
    return float(LEAST_S * RATIO ** (at + 0.5))


def share_within(counts: NDArray[np.int64], seconds: float) -> float:
    """Share of those counted that took at most so long, to within 0.5 % in seconds; they must not be none."""
    # the cell whose middle is the nearest edge
    upto = cell(seconds * math.sqrt(RATIO))
    return float(counts[:upto].sum() / counts.sum())
