"""Lengths in proportion to those of another distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from planner.engine.curves import Array
from planner.engine.lengths.distribution import LengthDistribution, Quantity


@dataclass(frozen=True, slots=True)
class Stretched:
    """Every length `factor` times as long as in `lengths`, its bounds too."""

    lengths: LengthDistribution
    factor: float

    def __post_init__(self) -> None:
        """Raises ValueError on a factor that is not positive and finite."""
        if not 0 < self.factor < np.inf:
            raise ValueError(f"lengths can be stretched by a positive factor, got {self.factor:g}")

    @property
    def shortest(self) -> float:
        """No request is shorter, in tokens."""
        return self.lengths.shortest * self.factor

    @property
    def longest(self) -> float:
        """No request is longer, in tokens."""
        return self.lengths.longest * self.factor

    def _of(self, lengths: ArrayLike) -> Array:
        """Lengths as they were before."""
        before: Array = np.asarray(lengths, dtype=float) / self.factor
        return before

    def between(self, lower: ArrayLike, upper: ArrayLike) -> Array:
        """P(lower < L <= upper); 0 where upper <= lower."""
        return self.lengths.between(self._of(lower), self._of(upper))

    def quantile(self, probability: ArrayLike) -> Array:
        """The length that a share `probability` in [0, 1] of requests does not exceed."""
        return self.lengths.quantile(probability) * self.factor

    def thresholds(self, count: int) -> Array:
        """Those of the other distribution, as many times as long."""
        return self.lengths.thresholds(count) * self.factor

    def partial_means(self, thresholds: ArrayLike) -> tuple[Array, Array]:
        """E[L; L <= t] and E[L; L > t], in tokens."""
        below, above = self.lengths.partial_means(self._of(thresholds))
        return below * self.factor, above * self.factor

    def partial_expectations(
        self, quantities: Sequence[Quantity], thresholds: ArrayLike, kinks: ArrayLike = ()
    ) -> tuple[Array, Array]:
        """See `LengthDistribution`."""
        stretched = [self._longer(quantity) for quantity in quantities]
        return self.lengths.partial_expectations(stretched, self._of(thresholds), self._of(kinks))

    def _longer(self, quantity: Quantity) -> Quantity:
        return lambda lengths: quantity(lengths * self.factor)
