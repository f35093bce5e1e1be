"""Whether the profile still describes what is seen: T_prefill, and KVCache bytes a request; and a new one if not.

What is predicted is the mean of a curve over the observed lengths. As these are known by bucket alone, it is an
interval: of all placements of the requests within their buckets, and where the lengths' sum is told, of those that have
that sum. The ratio of what is seen to that, with what chance adds, tells drift only where all of it is beyond the
tolerance; where the interval is too wide to say, it says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy.special import ndtri

from planner.engine.advice.loads import lengths_of
from planner.engine.advice.terms import Histogram, Interval
from planner.engine.curves import Array, Curve, LogLogCurve, Scaled
from planner.engine.lengths import Bucketed

TOLERANCE = 0.15
"""Ratio less one, either way, up to which a profile describes what is seen."""
LEAST = 30.0
"""Observations without which nothing is said."""
INNER = (0.02, 0.98)
"""Shares of the requests between which points of a new profile are taken."""


class Verdict(StrEnum):
    """What can be said of a profile."""

    DESCRIBES = "describes"
    """All that the ratio may be is within the tolerance."""
    DEPARTS = "departs"
    """All of it is beyond, on one side."""
    OPEN = "open"
    """Neither: too few requests, or buckets too wide."""


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean of what is seen."""

    low: float
    """Between which it lies: the same where it is known."""
    high: float
    count: float
    """Observations."""


@dataclass(frozen=True, slots=True)
class Drift:
    """Of one curve."""

    predicted: float
    """Mean over the lengths as they most likely are, in the curve's unit; and what was seen."""
    observed: float
    ratio: float
    """Observed over predicted: above 1 where it takes longer, or more, than the profile says."""
    interval: Interval
    """Of the ratio."""
    count: float
    verdict: Verdict


def observed_mean(histogram: Histogram) -> Mean:
    """The mean of what a histogram counts: exact where its sum is told, else between those of the buckets' ends.

    Of what is beyond the last bound the upper end is not known: then the mean has none, unless nothing is there.
    """
    total = histogram.total
    if histogram.sum is not None and total > 0:
        mean = histogram.sum / total
        return Mean(mean, mean, histogram.worth)
    ends = np.array([0.0, *histogram.bounds])
    counts = np.array(histogram.counts)
    low = float(counts @ ends) / total if total > 0 else 0.0
    high = float(counts[:-1] @ ends[1:]) / total if total > 0 and counts[-1] == 0 else math.inf
    return Mean(low, high, histogram.worth)


def per_request(amount: float, requests: float) -> Mean:
    """The mean of an amount over as many requests: bytes that crossed, and requests that were sent away."""
    each = amount / requests if requests > 0 else 0.0
    return Mean(each, each, requests)


def drift(
    curve: Curve,
    lengths: Histogram,
    seen: Mean,
    tolerance: float = TOLERANCE,
    confidence: float = 0.95,
) -> Drift | None:
    """How what is seen of some requests compares with a curve's mean over their lengths; None of no request.

    Both should be of the same requests: chance then plays less of a part than is allowed for here.
    """
    if not lengths.total > 0 or not seen.count > 0 or not seen.high > 0:
        return None
    at = lengths_of(lengths, float(curve.lengths[-1]))
    values, squares = at.grid.means(curve), at.grid.means(lambda tokens: curve(tokens) ** 2)
    predicted = float(values @ at.masses)
    scv = max(float(squares @ at.masses) / predicted**2 - 1, 0.0)
    count = min(seen.count, lengths.worth)
    error = float(ndtri((1 + confidence) / 2)) * math.sqrt(scv / max(count, 1.0))
    low, high = predicted_between(curve, at, _mean_length(lengths))
    interval = Interval(seen.low / high / (1 + error), seen.high / low * (1 + error))
    middle = (seen.low + seen.high) / 2 if math.isfinite(seen.high) else seen.low
    return Drift(predicted, middle, middle / predicted, interval, count, _verdict(interval, count, tolerance))


def _verdict(interval: Interval, count: float, tolerance: float) -> Verdict:
    low, high = 1 / (1 + tolerance), 1 + tolerance
    if count < LEAST:
        return Verdict.OPEN
    if low <= interval.low and interval.high <= high:
        return Verdict.DESCRIBES
    return Verdict.DEPARTS if interval.low > high or interval.high < low else Verdict.OPEN


def _mean_length(lengths: Histogram) -> float | None:
    return None if lengths.sum is None else lengths.sum / lengths.total


def predicted_between(curve: Curve, lengths: Bucketed, mean_tokens: float | None) -> tuple[float, float]:
    """The least and the greatest mean of a curve over lengths of which the share in each bucket is known, and perhaps
    the mean of all.

    Within a bucket, lengths of some mean give any value between the curve's lower and upper hull there; what is left
    of the sum is then spread over the buckets where it adds the least, or the most.
    """
    grid = lengths.grid
    shares = np.bincount(grid.bucket, lengths.masses, minlength=len(grid.bounds) - 1)
    lower, upper = [], []
    for bucket in np.flatnonzero(shares):
        cells = np.flatnonzero(grid.bucket == bucket)
        at = grid.edges[cells[0] : cells[-1] + 2]
        values = curve(at)
        lower.append((shares[bucket], *_hull(at, values, 1.0)))
        upper.append((shares[bucket], *_hull(at, values, -1.0)))
    if mean_tokens is None:
        return (
            sum(float(share * values.min()) for share, _, values in lower),
            sum(float(share * values.max()) for share, _, values in upper),
        )
    return _spread(lower, mean_tokens, 1.0), _spread(upper, mean_tokens, -1.0)


def _hull(at: Array, values: Array, sign: float) -> tuple[Array, Array]:
    """The lower hull of points, or with sign -1 the upper one: A. M. Andrew, Inf. Process. Lett. 9 (1979) 216-219."""
    kept: list[int] = []
    for new in range(at.size):
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            turn = (at[b] - at[a]) * (values[new] - values[a]) - (values[b] - values[a]) * (at[new] - at[a])
            if sign * turn > 0:
                break
            kept.pop()
        kept.append(new)
    return at[kept], values[kept]


def _spread(hulls: list[tuple[float, Array, Array]], mean_tokens: float, sign: float) -> float:
    """The least sum (with sign -1 the greatest) of values whose lengths have a mean, all buckets together.

    All begin at their lower ends; what the mean has beyond them goes where the slope is best. On a hull slopes rise
    (fall), so that no piece comes before the one that it follows.
    """
    total = sum(float(share * values[0]) for share, _, values in hulls)
    left = mean_tokens - sum(float(share * at[0]) for share, at, _ in hulls)
    pieces = [
        (sign * (values[i + 1] - values[i]) / (at[i + 1] - at[i]), share * (at[i + 1] - at[i]))
        for share, at, values in hulls
        for i in range(at.size - 1)
    ]
    for slope, width in sorted(pieces):
        taken = min(max(left, 0.0), width)
        total, left = total + sign * slope * taken, left - taken
    return float(total)


def scaled(curve: Curve, found: Drift) -> Scaled:
    """The curve refitted by one factor: the ratio of what is seen to what it predicts."""
    return Scaled(curve, found.ratio)


def refitted(curve: Curve, lengths: Histogram, seen: Histogram) -> LogLogCurve | None:
    """A new curve from two histograms of the same requests: their lengths, and what each took.

    What takes longer with the length has the same rank as the length: at each of the curve's own points, the value that
    as many requests do not exceed as do not exceed that length. Points that too few requests lie beyond keep the
    curve's value, times what their nearest neighbour changed by. None where fewer than two points are among the
    requests. Good to a bucket's width of either histogram.
    """
    if not lengths.total > 0 or not seen.total > 0:
        return None
    at = lengths_of(lengths, float(curve.lengths[-1]))
    points = np.asarray(curve.lengths, dtype=float)
    shares = at.between(0.0, points)
    inner = (shares >= INNER[0]) & (shares <= INNER[1])
    if inner.sum() < 2:
        return None
    values = curve(points)
    change = _values_of(seen).quantile(shares[inner]) / values[inner]
    every = np.interp(np.log(points), np.log(points[inner]), np.log(change))
    return LogLogCurve(points, values * np.exp(every))


def _values_of(seen: Histogram) -> Bucketed:
    """A histogram of seconds or bytes, taken as one of lengths: any positive quantity is distributed so."""
    first = seen.bounds[0] / 2
    last = seen.bounds[-1] * 2
    return Bucketed([first, *seen.bounds, last], seen.counts)
