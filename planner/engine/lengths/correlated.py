"""Output lengths that go with the length of the prompt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr, ndtri

from planner.engine.curves import Array
from planner.engine.lengths.distribution import LengthDistribution
from planner.engine.lengths.smooth import require_range


@dataclass(frozen=True, slots=True)
class CorrelatedOutput:
    """ln(output) ~ N(intercept + slope · ln(input), sigma²), conditioned on shortest <= output <= longest tokens."""

    intercept: float
    slope: float
    sigma: float
    shortest: float
    longest: float

    def __post_init__(self) -> None:
        """Raises ValueError on sigma <= 0 or an empty range."""
        if not self.sigma > 0:
            raise ValueError(f"sigma must be positive, got {self.sigma:g}")
        require_range(self.shortest, self.longest)

    def mean_given(self, input_tokens: ArrayLike) -> Array:
        """E[output | input], in tokens, for prompts of any lengths; a truncated log-normal's mean, by logarithms."""
        mu = self.intercept + self.slope * np.log(np.asarray(input_tokens, dtype=float))
        low, high = ((np.log(end) - mu) / self.sigma for end in (self.shortest, self.longest))
        log = mu + self.sigma**2 / 2 + log_normal_between(low - self.sigma, high - self.sigma)
        with np.errstate(over="ignore"):
            mean: Array = np.clip(np.exp(log - log_normal_between(low, high)), self.shortest, self.longest)
        return mean

    @property
    def kinks(self) -> Array:
        """Input lengths about which the mean bends towards a bound, within eight deviations of the noise."""
        if self.slope == 0:
            return np.empty(0)
        scores = self.sigma * np.linspace(-8, 8, 9)
        bends = np.log([[self.shortest], [self.longest]]) + scores
        at: Array = np.exp(np.clip((bends - self.intercept) / self.slope, -700, 700)).ravel()
        return at

    def quantile_given(self, input_tokens: ArrayLike, share: ArrayLike) -> Array:
        """The output that a share in [0, 1) of those that go with such an input do not exceed, in tokens; of the shapes
        together."""
        mu = self.intercept + self.slope * np.log(np.asarray(input_tokens, dtype=float))
        low, high = (ndtr((np.log(end) - mu) / self.sigma) for end in (self.shortest, self.longest))
        score = ndtri(low + np.asarray(share, dtype=float) * (high - low))
        output: Array = np.clip(np.exp(mu + self.sigma * score), self.shortest, self.longest)
        return output

    def mean(self, inputs: LengthDistribution) -> float:
        """E[output] in tokens over a distribution of prompts: their sum, or quadrature where they have a density."""
        return float(inputs.partial_expectations([self.mean_given], np.inf, self.kinks)[0][0])


def log_normal_between(lower: ArrayLike, upper: ArrayLike) -> Array:
    """ln P(lower < Z <= upper) of a standard normal, lower < upper, however far out in either tail."""
    low, high = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
    flip = low > 0
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    most, least = log_ndtr(high), log_ndtr(low)
    with np.errstate(divide="ignore"):  # two ends that rounding has joined hold nothing
        log: Array = most + np.log(-np.expm1(least - most))
    return log
