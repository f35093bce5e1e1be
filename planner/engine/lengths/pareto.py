"""Lengths that follow a power law, truncated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import exprel

from planner.engine.curves import Array
from planner.engine.lengths import smooth
from planner.engine.lengths.smooth import Smooth, require_range


def exponential_between(rate: float, lower: ArrayLike, upper: ArrayLike) -> Array:
    """∫ exp(rate · u) du from lower to upper, for any sign of the rate, none included."""
    low, high = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
    # taken from the end where the integrand is greater, so that nothing overflows on the way
    start, step = (low, high - low) if rate <= 0 else (high, low - high)
    integral: Array = np.exp(rate * start) * np.abs(step) * exprel(rate * step)
    return integral


@dataclass(frozen=True, slots=True)
class TruncatedPareto(Smooth):
    """P(L > l) falls as l^-alpha from the shortest length on, conditioned on L <= longest.

    So ln(L / shortest) is exponential of rate alpha, truncated; any alpha > 0 has every moment.
    """

    alpha: float
    shortest: float
    longest: float

    def __post_init__(self) -> None:
        """Raises ValueError on alpha <= 0 or an empty range."""
        if not 0 < self.alpha < np.inf:
            raise ValueError(f"alpha must be positive and finite, got {self.alpha:g}")
        require_range(self.shortest, self.longest)

    @property
    def mass(self) -> float:
        """Probability of the range before truncation."""
        return float(-np.expm1(-self.alpha * np.log(self.longest / self.shortest)))

    def _u(self, lengths: ArrayLike) -> Array:
        """ln(l / shortest) of lengths, moved into the range."""
        inside = np.clip(np.asarray(lengths, dtype=float), self.shortest, self.longest)
        u: Array = np.log(inside / self.shortest)
        return u

    def between(self, lower: ArrayLike, upper: ArrayLike) -> Array:
        """P(lower < L <= upper); 0 where upper <= lower."""
        low = self._u(lower)
        high = np.maximum(self._u(upper), low)
        share: Array = self.alpha / self.mass * exponential_between(-self.alpha, low, high)
        return share

    def quantile(self, probability: ArrayLike) -> Array:
        """The length that a share `probability` in [0, 1] of requests does not exceed."""
        q = np.asarray(probability, dtype=float)
        with np.errstate(divide="ignore"):  # at q = 1 the mass may be all there is; the range then bounds it
            u = -np.log1p(-q * self.mass) / self.alpha
        length: Array = np.clip(self.shortest * np.exp(np.minimum(u, self._u(self.longest))), None, self.longest)
        return length

    def partial_means(self, thresholds: ArrayLike) -> tuple[Array, Array]:
        """E[L; L <= t] and E[L; L > t], in closed form: the mean's weight lowers the power by one."""
        factor = self.shortest * self.alpha / self.mass
        at, high = self._u(thresholds), self._u(self.longest)
        return (
            factor * exponential_between(1.0 - self.alpha, 0.0, at),
            factor * exponential_between(1.0 - self.alpha, at, high),
        )

    def density(self, log_lengths: Array) -> Array:
        """Density of ln L."""
        density: Array = np.exp(self.log_density(log_lengths))
        return density

    def log_density(self, log_lengths: Array) -> Array:
        """Logarithm of the density of ln L."""
        log: Array = np.log(self.alpha / self.mass) - self.alpha * (log_lengths - np.log(self.shortest))
        return log

    def panels(self, low: float, high: float) -> Array:
        """Equal panels over the range, and edges at which the density falls by factors of e."""
        tail = np.minimum(low + np.arange(smooth.PANELS + 1) / self.alpha, high)
        return np.concatenate([np.linspace(low, high, smooth.PANELS // 2 + 1), tail])
