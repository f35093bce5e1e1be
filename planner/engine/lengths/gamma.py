"""Gamma-distributed lengths, truncated."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammainc, gammaincc, gammainccinv, gammaincinv, gammaln

from planner.engine.curves import Array
from planner.engine.lengths import smooth
from planner.engine.lengths.smooth import Smooth, require_mass, require_range

HALVINGS = np.exp(-np.arange(49.0))
"""Masses of either tail, each a factor of e less than the one before: the panels of quadrature end there."""


def gamma_between(shape: float, lower: ArrayLike, upper: ArrayLike) -> Array:
    """P(lower < X <= upper) of a gamma variable of scale 1, without cancellation in the upper tail."""
    low, high = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
    from_above = gammaincc(shape, low) - gammaincc(shape, high)
    mass: Array = np.where(low > shape, from_above, gammainc(shape, high) - gammainc(shape, low))
    return mass


@dataclass(frozen=True, slots=True)
class TruncatedGamma(Smooth):
    """L ~ Gamma(shape, scale), conditioned on shortest <= L <= longest.

    Before truncation its mean is shape · scale, and its coefficient of variation shape^(-1/2).
    """

    shape: float
    scale: float
    shortest: float
    longest: float
    mass: float = field(init=False)
    """Probability of the range before truncation."""

    def __post_init__(self) -> None:
        """Raises ValueError on shape or scale <= 0, an empty range, or a range that holds no probability."""
        for name, value in (("shape", self.shape), ("scale", self.scale)):
            if not 0 < value < np.inf:
                raise ValueError(f"{name} must be positive and finite, got {value:g}")
        require_range(self.shortest, self.longest)
        mass = gamma_between(self.shape, self.shortest / self.scale, self.longest / self.scale)
        object.__setattr__(self, "mass", float(mass))
        parameters = f"shape {self.shape:g}, mean {self.shape * self.scale:g}"
        require_mass(self.mass, self.shortest, self.longest, parameters, "move the mean towards the range")

    def _x(self, lengths: ArrayLike) -> Array:
        """Lengths over the scale, moved into the range."""
        x: Array = np.clip(np.asarray(lengths, dtype=float), self.shortest, self.longest) / self.scale
        return x

    def between(self, lower: ArrayLike, upper: ArrayLike) -> Array:
        """P(lower < L <= upper); 0 where upper <= lower."""
        share: Array = np.maximum(gamma_between(self.shape, self._x(lower), self._x(upper)), 0.0) / self.mass
        return share

    def quantile(self, probability: ArrayLike) -> Array:
        """The length that a share `probability` in [0, 1] of requests does not exceed."""
        q = np.asarray(probability, dtype=float)
        return self._at(q, 1.0 - q)

    def _at(self, below: Array, above: Array) -> Array:
        """The length with these shares of requests below and above it, counted from the nearer end."""
        low, high = self.shortest / self.scale, self.longest / self.scale
        from_below = gammainc(self.shape, low) + below * self.mass
        from_above = gammaincc(self.shape, high) + above * self.mass
        x = np.where(
            from_below < 0.5,
            gammaincinv(self.shape, np.minimum(from_below, 1.0)),
            gammainccinv(self.shape, np.minimum(from_above, 1.0)),
        )
        length: Array = np.clip(x * self.scale, self.shortest, self.longest)
        return length

    def partial_means(self, thresholds: ArrayLike) -> tuple[Array, Array]:
        """E[L; L <= t] and E[L; L > t], in closed form: the mean's weight adds one to the shape."""
        factor = self.shape * self.scale / self.mass
        low, at, high = (self._x(x) for x in (self.shortest, thresholds, self.longest))
        return (
            factor * gamma_between(self.shape + 1, low, at),
            factor * gamma_between(self.shape + 1, at, high),
        )

    def density(self, log_lengths: Array) -> Array:
        """Density of ln L."""
        density: Array = np.exp(self.log_density(log_lengths))
        return density

    def log_density(self, log_lengths: Array) -> Array:
        """Logarithm of the density of ln L."""
        k = self.shape
        over_mode = log_lengths - np.log(self.scale) - np.log(k)
        # k·ln x - x, taken about its greatest value, at x = k: of a large shape little else would be left
        log: Array = k * (over_mode - np.expm1(over_mode)) + (k * np.log(k) - k - gammaln(k)) - np.log(self.mass)
        return log

    def panels(self, low: float, high: float) -> Array:
        """Equal panels over the range, and edges at which the mass of either tail falls by factors of e."""
        tails = np.concatenate([self._at(HALVINGS, 1.0 - HALVINGS), self._at(1.0 - HALVINGS, HALVINGS)])
        return np.concatenate([np.linspace(low, high, smooth.PANELS // 2 + 1), np.clip(np.log(tails), low, high)])
