"""Exponential histograms with explicit bounds, and always the same ones.

A sender widens the range and halves the resolution of an exponential histogram as observations come. Cumulative counts
can be subtracted only where bounds agree, so all are put on one grid. Merging neighbours is exact: the counts at the
grid's bounds are the sender's own.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

FINEST = 1
"""The grid's scale: bounds a factor of 2^(2^-1) apart, 41%."""
LOWEST, HIGHEST = -20, 40
"""Powers of two that the grid spans: 1e-6 to 1e12, of seconds, tokens or bytes."""
SCALES = range(-10, 21)
"""That OpenTelemetry's metrics data model, "Exponential Scale", has senders use."""


@cache
def grid(scale: int) -> tuple[float, ...]:
    """The bounds at a scale of FINEST or less: powers of base = 2^(2^-scale) from 2^LOWEST to 2^HIGHEST."""
    first, last = _exponents(scale)
    return tuple(2.0 ** (exponent * 2.0**-scale) for exponent in range(first, last + 1))


def explicit(
    scale: int, positive: tuple[int, Iterable[int]], zero: tuple[float, int]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Bounds and counts of the buckets (base^i, base^(i+1)], i from the offset on, and of zero (threshold, count).

    A sender's bucket that is wider than the grid's keeps its own width: then only every other bound, or fewer, are
    there. ValueError if the scale is none of SCALES, or if zero is a range that reaches over the lowest bound.
    """
    if scale not in SCALES:
        raise ValueError(f"its scale {scale} is not within {SCALES[0]} to {SCALES[-1]}")
    used = min(scale, FINEST)
    bounds = grid(used)
    threshold, zeros = zero
    if not 0 <= threshold <= bounds[0]:
        raise ValueError(f"its zero threshold {threshold} is not within 0 to {bounds[0]}")
    counts = [0.0] * (len(bounds) + 1)
    counts[0] = float(zeros)
    offset, buckets = positive
    lowest = _exponents(used)[0]
    for index, count in enumerate(buckets, offset):
        upper = (index >> (scale - used)) + 1
        counts[min(max(upper - lowest, 0), len(bounds))] += count
    return bounds, tuple(counts)


def _exponents(scale: int) -> tuple[int, int]:
    """Of the first and the last bound: whole powers of the base within 2^LOWEST to 2^HIGHEST."""
    per_octave = 2.0**scale
    return -int(-LOWEST * per_octave), int(HIGHEST * per_octave)
