"""The threshold with the greatest exact Λ_max on lengths of which a histogram is known, and how well it is known.

In exact form the seconds a request costs PD-P rise with t, those that it costs the remote side (PrfaaS or the link,
whichever needs more) fall, and decode's are level. The best t is where the two meet, or any of a plateau between two
such points where decode needs the most: then the end with the lower mean unloaded TTFT.

**The interval** of the best t holds every t that is the best one for some placement of the requests within their
buckets: at one end all of them lie where PD-P has the most to do and the remote side the least, at the other the
reverse. Each end is then moved outwards by as much as the difference of both sides' seconds may be off by chance, a
normal deviate times its standard error at that t. With wide buckets the first part is nearly all of it; with narrow
ones the interval is a confidence interval for t.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from planner.engine.advice.loads import Loads
from planner.engine.advice.terms import Interval
from planner.engine.curves import Array

EQUAL = 1e-9
CLOSE = 1e-3
"""Relative difference of Λ_max, at edges of cells, below which two splits carry as much."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """What there is of each stage."""

    prfaas: float
    """Instances."""
    link_bps: float
    pd_p: float
    pd_d: float
    decode_rps: float
    """Requests a second of one decode instance."""

    def split(self, pd_p: float) -> Capacity:
        """The same PD cluster with another N_p."""
        return Capacity(self.prfaas, self.link_bps, pd_p, self.pd_p + self.pd_d - pd_p, self.decode_rps)


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """Seconds that an arriving request keeps each side busy, of all its capacity together, for each threshold."""

    local: Array
    remote: Array
    decode: float

    @property
    def lambda_max(self) -> Array:
        """Λ_max in req/s: what the slowest carries."""
        slowest = np.maximum(np.maximum(self.local, self.remote), self.decode)
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / slowest)


def seconds(work: Array, capacity: float) -> Array:
    """Work over capacity: 0 where there is none to do, infinite where nobody does it."""
    share = np.full(work.shape, np.inf)
    np.divide(work, capacity, out=share, where=capacity > 0)
    share[work <= 0] = 0.0
    return share


def sides(found: Loads, there: Capacity) -> Sides:
    """Of the lengths as they most likely are."""
    return _sides(there, found.local_s.mean, found.remote_s.mean, found.bits.mean)


def _sides(there: Capacity, local_s: Array, remote_s: Array, bits: Array) -> Sides:
    remote = np.maximum(seconds(remote_s, there.prfaas), seconds(bits, there.link_bps))
    decode_rps = there.pd_d * there.decode_rps
    return Sides(seconds(local_s, there.pd_p), remote, 1.0 / decode_rps if decode_rps > 0 else np.inf)


def best_threshold(found: Loads, there: Capacity) -> float:
    """The t with the greatest Λ_max in tokens; 0 sends all away, and of several the one with the lower TTFT."""
    at = sides(found, there)
    return _first(found.edges, _gap(*_meeting(at, is_quicker_above(found, at))))


def is_quicker_above(found: Loads, at: Sides) -> bool:
    """Whether mean unloaded TTFT is lower at the high end of the plateau than at the low one."""
    ttft = found.local_s.mean + found.remote_s.mean
    low, high = (found.at(ttft, _first(found.edges, _gap(*_meeting(at, is_above)))) for is_above in (False, True))
    return high < low * (1 - EQUAL)


def _meeting(at: Sides, is_above: bool) -> tuple[Array, Array]:
    """What rises with t and what falls, which meet at the one end of the plateau or the other."""
    if is_above:
        return at.local, np.maximum(at.remote, at.decode)
    return np.maximum(at.local, at.decode), at.remote


def threshold_interval(found: Loads, there: Capacity, worth: float, confidence: float) -> Interval:
    """Where the best t of the true lengths lies: see the module. `worth` is the number of independent observations."""
    early = _sides(there, found.local_s.most, found.remote_s.least, found.bits.least)
    late = _sides(there, found.local_s.least, found.remote_s.most, found.bits.most)
    return _outwards(found.edges, _interval(found, there, (early, late), _deviate(worth, confidence)))


def interval_by_chance(found: Loads, there: Capacity, worth: float, confidence: float) -> Interval:
    """The same if within each bucket the lengths lay as they most likely do."""
    at = sides(found, there)
    return _interval(found, there, (at, at), _deviate(worth, confidence))


def confidence_of_side(found: Loads, there: Capacity, threshold_tokens: float, worth: float) -> float:
    """Probability, in [1/2, 1], that the best t of the true lengths lies on that side of a given t on which the best
    one of the sample does, as far as chance goes."""
    at = sides(found, there)
    is_above = is_quicker_above(found, at)
    gap = found.at(_finite(_gap(*_meeting(at, is_above))), threshold_tokens)
    deviation = found.at(_deviation(found, there, at, is_above), threshold_tokens)
    if not deviation > 0:
        return 1.0
    return float(ndtr(abs(gap) / deviation * np.sqrt(max(worth, 1.0))))


def _deviate(worth: float, confidence: float) -> float:
    return float(ndtri((1 + confidence) / 2) / np.sqrt(max(worth, 1.0)))


def _interval(found: Loads, there: Capacity, extremes: tuple[Sides, Sides], deviate: float) -> Interval:
    at = sides(found, there)
    is_above = is_quicker_above(found, at)
    error = _deviation(found, there, at, is_above)
    early, late = (_gap(*_meeting(side, is_above)) for side in extremes)
    return Interval(_first(found.edges, early + deviate * error), _first(found.edges, late - deviate * error, True))


def _outwards(edges: Array, interval: Interval) -> Interval:
    """To the ends of the cells that it ends in: at a bound all requests of a bucket may change sides at once, which the
    straight line through a cell does not show."""
    ends = np.append(0.0, edges)
    low = ends[np.searchsorted(ends, interval.low, "right") - 1]
    high = ends[min(int(np.searchsorted(ends, interval.high)), edges.size)]
    return Interval(float(low), float(high))


def _deviation(found: Loads, there: Capacity, at: Sides, is_above: bool) -> Array:
    """Standard deviation of what a request adds to the gap, for each threshold: it is on one side or the other."""
    local = _second(found.local_s.square, there.pd_p)
    by_link = seconds(found.bits.mean, there.link_bps) >= seconds(found.remote_s.mean, there.prfaas)
    link, prfaas = _second(found.bits.square, there.link_bps), _second(found.remote_s.square, there.prfaas)
    remote = np.where(by_link, link, prfaas)
    counts_local, counts_remote = at.local >= at.decode, at.remote >= at.decode
    local = local if is_above else np.where(counts_local, local, 0.0)
    remote = np.where(counts_remote, remote, 0.0) if is_above else remote
    mean = np.where(local > 0, _finite(at.local), 0.0) - np.where(remote > 0, _finite(at.remote), 0.0)
    deviation: Array = np.sqrt(np.maximum(local + remote - mean**2, 0.0))
    return deviation


def _second(square: Array, capacity: float) -> Array:
    """Mean square of seconds a request; 0 where nobody does the work, for then chance plays no part."""
    return square / capacity**2 if capacity > 0 else np.zeros_like(square)


def _finite(values: Array) -> Array:
    return np.where(np.isfinite(values), values, 0.0)


def _gap(rising: Array, falling: Array) -> Array:
    """Their difference, 0 where both are infinite."""
    with np.errstate(invalid="ignore"):
        gap = rising - falling
    gap[np.isnan(gap)] = 0.0
    return gap


def _first(edges: Array, gap: Array, after: bool = False) -> float:
    """The least threshold at which a rising gap is not negative: in a straight line between two edges if both are
    finite. The first edge stands for 0; with `after`, it is where the gap is negative for the last time."""
    negative = np.flatnonzero(gap < 0) if after else None
    at = int(negative[-1]) + 1 if negative is not None and negative.size else int(np.argmax(gap >= 0))
    if at == 0 or not np.any(gap >= 0):
        return 0.0 if gap[0] >= 0 and at == 0 else float(edges[-1])
    at = min(at, edges.size - 1)
    low, high = gap[at - 1], gap[at]
    if np.isfinite(low) and np.isfinite(high):
        part = min(max(float(-low / (high - low)), 0.0), 1.0) if high > low else 1.0
    else:
        part = 0.0 if np.isfinite(low) else 1.0  # a side that nobody serves gets nothing
    return float(edges[at - 1] * (edges[at] / edges[at - 1]) ** part)


def best_split(found: Loads, there: Capacity) -> float:
    """The N_p of the greatest Λ_max, each with its own best t; of several, the one that is nearest to the present."""
    choices = np.arange(np.floor(there.pd_p + there.pd_d) + 1)
    rates = np.array([sides(found, there.split(float(n_p))).lambda_max.max() for n_p in choices])
    best = choices[rates >= rates.max() * (1 - CLOSE)]
    return float(best[np.argmin(np.abs(best - there.pd_p))])
