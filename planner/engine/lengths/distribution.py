"""What a distribution of prompt lengths answers, and what follows from the answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.engine.curves import Array

type Quantity = Callable[[Array], Array]


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
