"""Log-normal lengths, truncated."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from planner.engine.curves import Array
from planner.engine.lengths import smooth
from planner.engine.lengths.smooth import Smooth, require_mass, require_range


def normal_between(lower: ArrayLike, upper: ArrayLike) -> Array:
    """P(lower < Z <= upper) of a standard normal, without cancellation in the upper tail."""
    low, high = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
    side = np.where(low > 0, -1.0, 1.0)
    mass: Array = side * (ndtr(side * high) - ndtr(side * low))
    return mass


@dataclass(frozen=True, slots=True)
class TruncatedLogNormal(Smooth):
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
        require_range(self.shortest, self.longest)
        object.__setattr__(self, "mass", float(normal_between(self._z(self.shortest), self._z(self.longest))))
        parameters = f"mu {self.mu:g}, sigma {self.sigma:g}"
        require_mass(self.mass, self.shortest, self.longest, parameters, "move mu towards the range")

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

    def partial_means(self, thresholds: ArrayLike) -> tuple[Array, Array]:
        """E[L; L <= t] and E[L; L > t], in closed form: the mean's weight shifts the score by sigma."""
        scale = np.exp(self.mu + self.sigma**2 / 2) / self.mass
        low, at, high = (self._z(x) - self.sigma for x in (self.shortest, thresholds, self.longest))
        return scale * normal_between(low, at), scale * normal_between(at, high)

    def density(self, log_lengths: Array) -> Array:
        """Density of ln L, a normal's."""
        score = (log_lengths - self.mu) / self.sigma
        density: Array = np.exp(-0.5 * score**2) / (self.sigma * np.sqrt(2 * np.pi) * self.mass)
        return density

    def log_density(self, log_lengths: Array) -> Array:
        """Logarithm of the density of ln L."""
        score = (log_lengths - self.mu) / self.sigma
        log: Array = -0.5 * score**2 - np.log(self.sigma * np.sqrt(2 * np.pi) * self.mass)
        return log

    def panels(self, low: float, high: float) -> Array:
        """Equal panels over the range, and over twelve deviations either side of mu."""
        bulk = np.clip(self.mu + self.sigma * np.linspace(-12, 12, smooth.PANELS + 1), low, high)
        return np.concatenate([np.linspace(low, high, smooth.PANELS // 2 + 1), bulk])
