"""A prefill curve from two histograms of the same requests: how long they were, and how long each was prefilled.

Nobody tells the two of one request together. But a longer prompt takes longer on the same hardware, so that the
request of rank u by length is that of rank u by time: at each bound of the lengths' buckets, T_prefill is the time that
as large a share of the requests stays below. What the buckets of the times leave open is set right in the mean, for the
sum of all times is known exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from planner.engine.advice import Histogram
from planner.engine.curves import Array, Curve, LogLogCurve

LEAST_REQUESTS = 200
"""Of which a curve can be fitted."""
MOST_DIFFERENT = 0.2
"""How far the numbers of requests in both histograms may be apart: beyond that they are not the same ones."""
EDGE = 0.02
"""Share of the shortest and of the longest requests at which nothing is read: too few decide there."""
APART = 0.04
"""Share of the requests that lies between two points at least."""
WITHIN = 16
"""Lengths that stand for a bucket, in equal ratios."""
BEYOND = 4.0
"""The first bucket reaches so many times below its bound, and the last one so many times beyond, ..."""
MOST_BEYOND = 0.25
"""... but that of lengths only to the profile's longest, if that is within it: then it may have this share of them."""


class Unfit(Exception):
    """Telemetry of which no curve can be fitted. The text says why, and what is needed."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of one route over a window: uncached lengths in tokens, prefill times, and all these together."""

    lengths: Histogram
    times: Histogram
    total_s: float
    """Sum of all prefill times; 0 where nobody tells it."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Points of T_prefill: measured from `shortest` to `longest` tokens, beyond them the old curve times a factor."""

    tokens: list[float]
    seconds: list[float]
    shortest: float
    longest: float
    requests: float
    ratio: float
    """Mean time over the one that the old curve predicts."""

    @property
    def is_measured(self) -> bool:
        """Whether no point lies outside of what was measured."""
        return self.tokens[0] >= self.shortest and self.tokens[-1] <= self.longest


def together(parts: list[Seen]) -> Seen:
    """Several routes that the same hardware prefills, as one. Raises Unfit where their buckets differ."""
    if len({(part.lengths.bounds, part.times.bounds) for part in parts}) > 1:
        raise Unfit("both routes are prefilled by the same profile, but their histograms have different bounds")
    lengths = Histogram(parts[0].lengths.bounds, _sum([part.lengths.counts for part in parts]))
    times = Histogram(parts[0].times.bounds, _sum([part.times.counts for part in parts]))
    return Seen(lengths, times, sum(part.total_s for part in parts))


def _sum(counts: list[tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(map(sum, zip(*counts, strict=True)))


def fitted(old: Curve, seen: Seen) -> Fit:
    """The curve that telemetry gives, and the old one's shape beyond it. Raises Unfit."""
    longest = float(old.lengths[-1])
    _require_the_same(seen, longest)
    ratio = mean_s(seen) / predicted_s(old, seen.lengths)
    tokens, seconds = _matched(seen)
    if tokens.size < 2:  # one bucket has them all: of the shape nothing is seen, of the height all
        tokens, seconds = old.lengths, old(old.lengths) * ratio
        return _fit(tokens, seconds, seen, _middle(seen.lengths), ratio)
    factor = seconds / old(tokens)
    before, after = old.lengths[old.lengths < tokens[0]], old.lengths[old.lengths > tokens[-1]]
    whole = np.concatenate([before, tokens, after])
    values = np.concatenate([old(before) * factor[0], seconds, old(after) * factor[-1]])
    values *= mean_s(seen) / predicted_s(LogLogCurve(whole, values), seen.lengths)
    return _fit(whole, values, seen, (float(tokens[0]), float(tokens[-1])), ratio)


def _fit(tokens: Array, seconds: Array, seen: Seen, measured: tuple[float, float], ratio: float) -> Fit:
    return Fit(tokens.tolist(), seconds.tolist(), *measured, seen.lengths.total, ratio)


def _require_the_same(seen: Seen, longest: float) -> None:
    lengths, times = seen.lengths.total, seen.times.total
    least = min(lengths, times)
    if least < LEAST_REQUESTS:
        raise Unfit(
            f"{least:.0f} requests were seen in the window, and a fit needs {LEAST_REQUESTS}: take a longer one"
        )
    if abs(lengths - times) > MOST_DIFFERENT * max(lengths, times):
        said = f"{lengths:.0f} lengths and {times:.0f} prefill times were seen"
        raise Unfit(f"{said}: they are not of the same requests; have both sent by the same instances")
    is_bounded = _last(seen.lengths, longest) == longest
    for what, histogram, most in (
        ("lengths", seen.lengths, MOST_BEYOND if is_bounded else EDGE),
        ("prefill times", seen.times, EDGE),
    ):
        if histogram.counts[-1] > most * histogram.total:
            share = histogram.counts[-1] / histogram.total
            raise Unfit(f"{share:.0%} of the {what} lie beyond the last bucket: give the histogram further ones")


def mean_s(seen: Seen) -> float:
    """Mean prefill time in seconds: exact where its sum is told, or else as the buckets have it."""
    if seen.total_s > 0:
        return seen.total_s / seen.times.total
    return _mean(seen.times, lambda values: values)


def predicted_s(curve: Curve, lengths: Histogram) -> float:
    """Mean of a curve over lengths of which the buckets are known, in equal ratios within each."""
    return _mean(lengths, curve, float(curve.lengths[-1]))


def _last(histogram: Histogram, longest: float) -> float:
    """Where the last bucket ends, which nobody tells."""
    bound = histogram.bounds[-1]
    return longest if bound < longest <= bound * BEYOND else bound * BEYOND


def _mean(histogram: Histogram, quantity: Callable[[Array], Array], longest: float = 0.0) -> float:
    bounds = np.array(histogram.bounds)
    edges = np.concatenate([[bounds[0] / BEYOND], bounds, [_last(histogram, longest)]])
    steps = (np.arange(WITHIN) + 0.5) / WITHIN
    inside = edges[:-1, None] * (edges[1:, None] / edges[:-1, None]) ** steps
    return float(quantity(inside).mean(axis=1) @ np.array(histogram.counts) / histogram.total)


def _matched(seen: Seen) -> tuple[Array, Array]:
    """Bounds of the lengths' buckets, and the times of the same rank."""
    reached = np.cumsum(seen.lengths.counts)[:-1] / seen.lengths.total
    tokens: list[float] = []
    seconds: list[float] = []
    last = -1.0
    for bound, share in zip(seen.lengths.bounds, reached.tolist(), strict=True):
        if not EDGE <= share <= 1 - EDGE or share - last < APART:
            continue
        time = _time(seen.times, share)
        if time is not None and (not seconds or time > seconds[-1]):
            tokens.append(bound)
            seconds.append(time)
            last = share
    return np.array(tokens), np.array(seconds)


def _time(times: Histogram, share: float) -> float | None:
    """The time that a share of the requests stays below, in equal ratios within its bucket; None in an open one."""
    reached = np.cumsum(times.counts)
    at = int(np.searchsorted(reached, share * reached[-1]))
    if at == 0 or at >= len(times.bounds):
        return None
    low, high = times.bounds[at - 1], times.bounds[at]
    inside = (share * reached[-1] - reached[at - 1]) / times.counts[at]
    return float(low * (high / low) ** inside)


def _middle(lengths: Histogram) -> tuple[float, float]:
    """The bounds of the bucket that has the most requests."""
    at = int(np.argmax(lengths.counts))
    bounds = (lengths.bounds[0] / BEYOND, *lengths.bounds, lengths.bounds[-1])
    return bounds[at], bounds[at + 1]
