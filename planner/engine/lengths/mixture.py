"""Lengths of several kinds of requests together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from planner.engine.curves import Array
from planner.engine.lengths.distribution import Quantity, equal_ratios
from planner.engine.lengths.smooth import Smooth

WEIGHTS_SUM = 1e-9
"""How far the weights may be from 1 together."""
HALVINGS = 60


@dataclass(frozen=True, slots=True)
class Mixture:
    """A share `weights[i]` of requests is of kind `parts[i]`; each kind is truncated to its own range."""

    weights: tuple[float, ...]
    parts: tuple[Smooth, ...]

    def __post_init__(self) -> None:
        """Raises ValueError on no part, unequal counts, a weight that is not positive, or weights that are not 1."""
        if not self.parts or len(self.weights) != len(self.parts):
            raise ValueError(f"needs a weight for each component, got {len(self.weights)} for {len(self.parts)}")
        if not all(weight > 0 for weight in self.weights):
            raise ValueError(f"weights must be positive, got {min(self.weights):g}; leave such a component out")
        total = math.fsum(self.weights)
        if abs(total - 1.0) > WEIGHTS_SUM:
            raise ValueError(f"weights must sum to 1, got {total:.12g}; divide each by it")
        object.__setattr__(self, "weights", tuple(weight / total for weight in self.weights))

    @property
    def shortest(self) -> float:
        """The shortest of any part."""
        return min(part.shortest for part in self.parts)

    @property
    def longest(self) -> float:
        """The longest of any part."""
        return max(part.longest for part in self.parts)

    def _sum(self, values: Sequence[Array]) -> Array:
        total: Array = sum((w * v for w, v in zip(self.weights, values, strict=True)), np.zeros(()))
        return total

    def between(self, lower: ArrayLike, upper: ArrayLike) -> Array:
        """P(lower < L <= upper); 0 where upper <= lower."""
        return self._sum([part.between(lower, upper) for part in self.parts])

    def quantile(self, probability: ArrayLike) -> Array:
        """The length that a share `probability` in [0, 1] of requests does not exceed.

        It lies between the least and the greatest of the parts' own; bisection in ln L takes it to the last digits.
        """
        q = np.asarray(probability, dtype=float)
        each = np.log([part.quantile(q) for part in self.parts])
        low, high = each.min(axis=0), each.max(axis=0)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            enough = self.between(0.0, np.exp(middle)) >= q
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        length: Array = np.clip(np.exp(high), self.shortest, self.longest)
        return length

    def thresholds(self, count: int) -> Array:
        """In equal ratios over the range."""
        return equal_ratios(self.shortest, self.longest, count)

    def partial_means(self, thresholds: ArrayLike) -> tuple[Array, Array]:
        """E[L; L <= t] and E[L; L > t], the weighted sums of the parts'."""
        below, above = zip(*(part.partial_means(thresholds) for part in self.parts), strict=True)
        return self._sum(below), self._sum(above)

    def partial_expectations(
        self, quantities: Sequence[Quantity], thresholds: ArrayLike, kinks: ArrayLike = ()
    ) -> tuple[Array, Array]:
        """See `LengthDistribution`: the weighted sums of the parts'."""
        each = [part.partial_expectations(quantities, thresholds, kinks) for part in self.parts]
        below, above = zip(*each, strict=True)
        return self._sum(below), self._sum(above)

    def log_density(self, log_lengths: Array) -> Array:
        """Logarithm of the density of ln L."""
        each = [np.where(_inside(part, log_lengths), part.log_density(log_lengths), -np.inf) for part in self.parts]
        log: Array = logsumexp(each, axis=0, b=np.reshape(self.weights, (-1, *[1] * log_lengths.ndim)))
        return log


def _inside(part: Smooth, log_lengths: Array) -> Array:
    inside: Array = (log_lengths >= np.log(part.shortest)) & (log_lengths <= np.log(part.longest))
    return inside
