"""How long a request takes from end to end: what its length demands, and its waits on the way.

Requests go one of several ways (remote, local). On each, what they demand is one of a set of values, and the waits
are taken as independent of it and of one another. Of it they are: in first come, first served, a wait is made by
those who came before. Successive waits are, exactly so in a series of M/M queues, nearly so elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammainc, gammainccinv

from planner.engine.curves import Array
from planner.engine.queueing.wait import Wait

type Within = Callable[[Array], Array]
"""P(T <= x) for each x of shape (m,)."""

CELLS = 512
FARTHEST = 1e-10
"""Share of waits beyond the end of a table."""
ROUNDING = 1e-12
"""Shares are sums: see `planner.engine.ttft`."""
STEPS = 60
CLOSE = 1e-8
"""Relative error of a quantile, or of the share beyond it, at which the search for it ends."""


@dataclass(frozen=True, slots=True)
class Way:
    """Requests that take one way: seconds that each needs without any wait, and the waits that all of them meet."""

    values_s: Array
    """Shape (n,), in any order."""
    weights: Array
    """Shape (n,): shares of all requests, so that those of all ways sum to 1."""
    waits: tuple[Wait, ...] = ()
    """Each of a single candidate, so of arrays without axes."""

    @property
    def finite(self) -> bool:
        """Whether no queue on this way grows without end."""
        return all(np.isfinite(wait.mean_s) for wait in self.waits)


@dataclass(frozen=True, slots=True)
class _Gammas:
    """A sum of waits: 0 with probability `none`, else one of a few gamma distributions."""

    none: float
    shares: Array
    shapes: Array
    scales_s: Array

    def within(self, seconds: Array) -> Array:
        """P(sum <= x) for each x."""
        x = np.maximum(seconds, 0.0)[..., np.newaxis] / self.scales_s
        share: Array = np.where(seconds < 0, 0.0, self.none + gammainc(self.shapes, x) @ self.shares)
        return share


def mean_passage(ways: Sequence[Way]) -> float:
    """Mean seconds over all requests; infinite where a queue that some take grows without end."""
    parts = [float(way.weights @ way.values_s) for way in ways]
    waits = [float(way.weights.sum()) * sum(float(wait.mean_s) for wait in way.waits) for way in ways if _taken(way)]
    return sum(parts) + sum(waits)


def share_passed(ways: Sequence[Way], seconds: ArrayLike) -> Array:
    """P(T <= x) for each of `seconds`, any shape. Each way's sum of waits is exact but for what `_sum` says."""
    x = np.asarray(seconds, dtype=float)
    share = np.zeros_like(x)
    for way in ways:
        if _taken(way) and way.finite:
            share += _sum(way.waits).within(x[..., np.newaxis] - way.values_s) @ way.weights
    return share


def passage_quantiles(ways: Sequence[Way], probabilities: ArrayLike) -> Array:
    """Least x with P(T <= x) >= q for each q in (0, 1), shape (m,), in seconds.

    Infinite where so many requests never come through. The waits' distributions are read from tables that err by 2e-5
    in probability, less in the tail, or by a ten-thousandth of a mean wait.
    """
    q = np.asarray(probabilities, dtype=float) - ROUNDING
    tables = [_Table(way) for way in ways if _taken(way) and way.finite]
    reached = sum(float(table.weights.sum()) for table in tables)
    at = np.full(q.shape, np.inf)
    possible = q < reached
    if tables and possible.any():
        at[possible] = _search(tables, q[possible])
    return at


def _taken(way: Way) -> bool:
    return bool(way.weights.any())


class _Table:
    """One way, with its sum of waits in straight lines between points that are dense near 0."""

    __slots__ = ("reached", "seconds", "values_s", "weights")

    def __init__(self, way: Way) -> None:
        taken = way.weights > 0
        self.values_s, self.weights = way.values_s[taken], way.weights[taken]
        total = _sum(way.waits)
        late = np.minimum(FARTHEST / np.maximum(total.shares, FARTHEST), 0.5)
        longest = float((gammainccinv(total.shapes, late) * total.scales_s).max(initial=0.0))
        self.seconds = longest * np.linspace(0.0, 1.0, CELLS + 1) ** 3
        self.reached = total.within(self.seconds)

    def within(self, seconds: Array) -> Array:
        """Share of all requests that come this way and take no longer, for each of `seconds`, shape (m,)."""
        rest = seconds[:, np.newaxis] - self.values_s
        share: Array = np.interp(rest, self.seconds, self.reached, left=0.0) @ self.weights
        return share


def _search(tables: list[_Table], q: Array) -> Array:
    """The quantiles: first between which two values, since the share jumps there; then the root in between."""

    def within(seconds: Array) -> Array:
        share: Array = np.sum([table.within(seconds) for table in tables], axis=0)
        return share

    values = np.unique(np.concatenate([table.values_s for table in tables]))
    first = _first_reaching(within, values, q)
    lower = values[np.maximum(first - 1, 0)]
    farthest = max(float(table.seconds[-1]) for table in tables)
    upper = np.append(values, values[-1] + farthest)[first]
    just_below = np.nextafter(upper, -np.inf)
    jumps = (within(just_below) < q) & (first < values.size)
    return np.where(jumps, upper, _root(within, q, lower, np.where(jumps, lower, just_below)))


def _first_reaching(within: Within, values: Array, q: Array) -> NDArray[np.intp]:
    """Index of the first value at which the share reaches q; their number where none does. By bisection."""
    low, high = np.zeros(q.shape, dtype=np.intp), np.full(q.shape, values.size)
    while np.any(low < high):
        middle = (low + high) // 2
        enough = within(values[np.minimum(middle, values.size - 1)]) >= q
        open_ = low < high
        high = np.where(open_ & enough, middle, high)
        low = np.where(open_ & ~enough, middle + 1, low)
    return low


def _root(within: Within, q: Array, lower: Array, upper: Array) -> Array:
    """Where a continuous rising share meets q between two bounds: false position, in the Illinois form.

    It is the logarithm of the share beyond that is followed, which in a tail is nearly a straight line.
    """

    def missed(seconds: Array) -> Array:
        gap: Array = np.log((1 - q) / np.maximum(1 - within(seconds), np.finfo(float).tiny))
        return gap

    below, above = missed(lower), missed(upper)
    at, off, side = upper, above, np.zeros(q.shape)
    for _ in range(STEPS):
        if np.all((upper - lower <= CLOSE * upper) | (np.abs(off) <= CLOSE)):
            break
        slope = np.where(above > below, above - below, 1.0)
        at = np.clip(lower - below * (upper - lower) / slope, lower, upper)
        off = missed(at)
        high = off >= 0
        # an end that stays for a second time counts half, or it would stay for good
        below = np.where(high, np.where(side > 0, below / 2, below), off)
        above = np.where(high, off, np.where(side < 0, above / 2, above))
        lower, upper, side = np.where(high, lower, at), np.where(high, at, upper), np.where(high, 1.0, -1.0)
    return at


def _sum(waits: tuple[Wait, ...]) -> _Gammas:
    """The sum of independent waits, one gamma distribution for each set of them that are not 0.

    Exact for one wait; a sum of several is a gamma distribution of the same mean and variance, which is exact where
    their scales are the same.
    """
    some = [wait for wait in waits if wait.mean_s > 0]
    found = []
    for size in range(1, len(some) + 1):
        for chosen in combinations(range(len(some)), size):
            share = np.prod([w.probability if i in chosen else 1 - w.probability for i, w in enumerate(some)])
            mean = sum(float(some[i].delayed_s) for i in chosen)
            variance = sum(float(some[i].delayed_s ** 2 * some[i].delayed_scv) for i in chosen)
            found.append((float(share), mean**2 / variance, variance / mean))
    none = float(np.prod([1 - wait.probability for wait in some]))
    shares, shapes, scales = np.array(found).reshape(-1, 3).T
    return _Gammas(none, shares, shapes, scales)
