"""Distributions of prompt length L in tokens, and their conditional moments above and below a threshold t."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from planner.engine.curves import Array

type Quantity = Callable[[Array], Array]
NODES, WEIGHTS = leggauss(6)
PANELS = 48


class LengthDistribution(Protocol):
    """Prompt lengths L in (0, ∞). Thresholds may have any shape and any value; p = P(L > t)."""

    @property
    def shortest(self) -> float:
        """No request is shorter, in tokens."""

    @property
    def longest(self) -> float:
        """No request is longer, in tokens."""

    def between(self, lower: ArrayLike, upper: ArrayLike) -> Array:
        """P(lower < L <= upper); 0 where upper <= lower."""

    def quantile(self, probability: ArrayLike) -> Array:
        """The length that a share `probability` in [0, 1] of requests does not exceed."""

    def thresholds(self, count: int) -> Array:
        """At most `count` thresholds worth trying, rising; at the last one no request is longer."""

    def partial_means(self, thresholds: ArrayLike) -> tuple[Array, Array]:
        """E[L; L <= t] and E[L; L > t], in tokens: their sum is the mean."""

    def partial_expectations(
        self, quantities: Sequence[Quantity], thresholds: ArrayLike, kinks: ArrayLike = ()
    ) -> tuple[Array, Array]:
        """E[f(L); L <= t] and E[f(L); L > t] for each f, each of shape (len(quantities), *thresholds.shape).

        `kinks` are lengths at which some f is not smooth.
        """


def offload_fraction(lengths: LengthDistribution, threshold_tokens: ArrayLike) -> Array:
    """Share of requests longer than the threshold, p = P(L > t), in [0, 1] (table 4)."""
    return lengths.between(threshold_tokens, np.inf)


def conditional(partial: Array, probability: Array) -> Array:
    """E[f | A] = E[f; A] / P(A); NaN where A has no probability."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mean: Array = np.where(probability > 0, partial / probability, np.nan)
    return mean


def mean_above(lengths: LengthDistribution, threshold_tokens: ArrayLike) -> Array:
    """l_long = E[L | L > t] in tokens; NaN where no request is longer."""
    return conditional(lengths.partial_means(threshold_tokens)[1], offload_fraction(lengths, threshold_tokens))


def mean_below(lengths: LengthDistribution, threshold_tokens: ArrayLike) -> Array:
    """l_short = E[L | L <= t] in tokens; NaN where no request is shorter."""
    return conditional(lengths.partial_means(threshold_tokens)[0], lengths.between(0.0, threshold_tokens))


def mean(lengths: LengthDistribution) -> float:
    """E[L] in tokens."""
    return float(lengths.partial_means(np.inf)[0])


def normal_between(lower: ArrayLike, upper: ArrayLike) -> Array:
    """P(lower < Z <= upper) of a standard normal, without cancellation in the upper tail."""
    low, high = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
    side = np.where(low > 0, -1.0, 1.0)
    mass: Array = side * (ndtr(side * high) - ndtr(side * low))
    return mass


@dataclass(frozen=True, slots=True)
class TruncatedLogNormal:
    """ln L ~ N(mu, sigma²), conditioned on shortest <= L <= longest."""

    mu: float
    sigma: float
    shortest: float
    longest: float
    mass: float = field(init=False)
    """Probability of the range before truncation."""

    def __post_init__(self) -> None:
        """Raises ValueError on sigma <= 0, an empty range, or a range that holds no probability."""
        if not self.sigma > 0:
            raise ValueError(f"sigma must be positive, got {self.sigma:g}")
        if not 0 < self.shortest < self.longest < np.inf:
            raise ValueError(f"needs 0 < min < max, got min {self.shortest:g} and max {self.longest:g}")
        object.__setattr__(self, "mass", float(normal_between(self._z(self.shortest), self._z(self.longest))))
        if not self.mass > 1e-290:
            raise ValueError(
                f"no request falls between {self.shortest:g} and {self.longest:g} tokens at mu {self.mu:g}, "
                f"sigma {self.sigma:g}; move mu towards the range or widen it"
            )

    def _z(self, lengths: ArrayLike) -> Array:
        """Standard scores of lengths, moved into the range."""
        inside = np.minimum(np.maximum(lengths, self.shortest), self.longest)
        z: Array = (np.log(inside) - self.mu) / self.sigma
        return z

    def between(self, lower: ArrayLike, upper: ArrayLike) -> Array:
        """P(lower < L <= upper); 0 where upper <= lower."""
        share: Array = np.maximum(normal_between(self._z(lower), self._z(upper)), 0.0) / self.mass
        return share

    def quantile(self, probability: ArrayLike) -> Array:
        """The length that a share `probability` in [0, 1] of requests does not exceed."""
        q = np.asarray(probability, dtype=float)
        low, high = self._z(self.shortest), self._z(self.longest)
        # in the upper tail, count from above
        z = -ndtri(ndtr(-low) - q * self.mass) if low > 0 else ndtri(ndtr(low) + q * self.mass)
        length: Array = np.exp(self.mu + self.sigma * np.clip(z, low, high))
        return length

    def thresholds(self, count: int) -> Array:
        """In equal ratios over the range."""
        return equal_ratios(self.shortest, self.longest, count)

    def partial_means(self, thresholds: ArrayLike) -> tuple[Array, Array]:
        """E[L; L <= t] and E[L; L > t], in closed form: the mean's weight shifts the score by sigma."""
        scale = np.exp(self.mu + self.sigma**2 / 2) / self.mass
        low, at, high = (self._z(x) - self.sigma for x in (self.shortest, thresholds, self.longest))
        return scale * normal_between(low, at), scale * normal_between(at, high)

    def partial_expectations(
        self, quantities: Sequence[Quantity], thresholds: ArrayLike, kinks: ArrayLike = ()
    ) -> tuple[Array, Array]:
        """See `LengthDistribution`. Gauss-Legendre of order 6 in ln L, on panels cut at every kink and threshold."""
        low, high = np.log(self.shortest), np.log(self.longest)
        cuts = np.clip(np.log(np.maximum(np.asarray(thresholds, dtype=float), self.shortest)), low, high)
        edges = np.unique(np.concatenate([self._panels(low, high), self._inside(kinks), cuts.ravel()]))
        half = np.diff(edges) / 2
        at = (edges[:-1] + half)[:, np.newaxis] + half[:, np.newaxis] * NODES
        density = np.exp(-0.5 * ((at - self.mu) / self.sigma) ** 2) / (self.sigma * np.sqrt(2 * np.pi) * self.mass)
        weight = density * half[:, np.newaxis] * WEIGHTS
        length = np.exp(at)
        panels = np.stack([(weight * f(length)).sum(axis=1) for f in quantities])
        index = np.searchsorted(edges, cuts)
        return running_sums(panels, index)

    def _panels(self, low: float, high: float) -> Array:
        """Edges in ln L fine enough for the density, wherever the range lies on it."""
        bulk = np.clip(self.mu + self.sigma * np.linspace(-12, 12, PANELS + 1), low, high)
        return np.concatenate([np.linspace(low, high, PANELS // 2 + 1), bulk])

    def _inside(self, kinks: ArrayLike) -> Array:
        points = np.asarray(kinks, dtype=float)
        inside: Array = np.log(points[(points > self.shortest) & (points < self.longest)])
        return inside


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Empirical:
    """Lengths as they were recorded; every sample has the same weight."""

    samples: Array
    partial_sums: tuple[Array, Array]

    def __init__(self, samples: Sequence[float] | Array) -> None:
        """`samples` in tokens, in any order. Raises ValueError on none, or on one that is not positive and finite."""
        ordered = np.sort(np.array(samples, dtype=float))
        if ordered.ndim != 1 or ordered.size == 0:
            raise ValueError("needs at least one sample")
        if not np.isfinite(ordered[-1]) or ordered[0] <= 0:
            raise ValueError(f"samples must be positive and finite, got {ordered[0]:g} to {ordered[-1]:g}")
        ordered.flags.writeable = False
        object.__setattr__(self, "samples", ordered)
        every = np.arange(ordered.size + 1, dtype=np.intp)
        below, above = running_sums(ordered[np.newaxis] / ordered.size, every)
        object.__setattr__(self, "partial_sums", (below[0], above[0]))

    @property
    def shortest(self) -> float:
        """The shortest sample."""
        return float(self.samples[0])

    @property
    def longest(self) -> float:
        """The longest sample."""
        return float(self.samples[-1])

    def _count_up_to(self, lengths: ArrayLike) -> NDArray[np.intp]:
        return np.searchsorted(self.samples, np.asarray(lengths, dtype=float), side="right")

    def between(self, lower: ArrayLike, upper: ArrayLike) -> Array:
        """P(lower < L <= upper); 0 where upper <= lower."""
        count = self._count_up_to(upper) - self._count_up_to(lower)
        share: Array = np.maximum(count, 0) / self.samples.size
        return share

    def quantile(self, probability: ArrayLike) -> Array:
        """The smallest sample that a share `probability` in [0, 1] of samples does not exceed."""
        rank = np.ceil(np.asarray(probability, dtype=float) * self.samples.size - 1e-9).astype(int)
        chosen: Array = self.samples[np.clip(rank - 1, 0, self.samples.size - 1)]
        return chosen

    def thresholds(self, count: int) -> Array:
        """Every length that occurs, since none between two of them divides the requests otherwise; where there are
        more than `count`, as many of equal rank."""
        lengths = np.unique(self.samples)
        ranks = np.linspace(0, lengths.size - 1, min(count, lengths.size)).round().astype(int)
        chosen: Array = lengths[ranks]
        return chosen

    def partial_means(self, thresholds: ArrayLike) -> tuple[Array, Array]:
        """E[L; L <= t] and E[L; L > t], from sums kept since construction: O(log n) a threshold."""
        index = self._count_up_to(thresholds)
        return self.partial_sums[0][index], self.partial_sums[1][index]

    def partial_expectations(
        self, quantities: Sequence[Quantity], thresholds: ArrayLike, kinks: ArrayLike = ()
    ) -> tuple[Array, Array]:
        """See `LengthDistribution`. Exact sums over the samples; `kinks` do not matter."""
        values = np.stack([f(self.samples) for f in quantities]) / self.samples.size
        return running_sums(values, self._count_up_to(thresholds))


def equal_ratios(lowest: float, highest: float, count: int) -> Array:
    """`count` lengths in equal ratios from lowest to highest, never beyond either by rounding."""
    return np.clip(np.geomspace(lowest, highest, count), lowest, highest)


def running_sums(parts: Array, index: NDArray[np.intp]) -> tuple[Array, Array]:
    """Sums of parts[:, :i] and parts[:, i:] for each i of `index`.

    Both are summed from their own end: a difference of totals would lose the digits of a short tail.
    """
    zero = np.zeros((parts.shape[0], 1))
    below = np.concatenate([zero, np.cumsum(parts, axis=1)], axis=1)
    above = np.concatenate([np.cumsum(parts[:, ::-1], axis=1)[:, ::-1], zero], axis=1)
    return below[:, index], above[:, index]
