"""Distributions with a density: what they share, and quadrature in ln L."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import ArrayLike

from planner.engine.curves import Array
from planner.engine.lengths.distribution import Quantity, equal_ratios, running_sums

NODES, WEIGHTS = leggauss(6)
PANELS = 48
LEAST_MASS = 1e-290
"""Probability below which a range counts as empty: its digits are lost."""


class Smooth(ABC):
    """A density on [shortest, longest] tokens, and none outside.

    Those who inherit are dataclasses with the fields `shortest` and `longest`.
    """

    __slots__ = ()

    shortest: float
    longest: float

    @abstractmethod
    def between(self, lower: ArrayLike, upper: ArrayLike) -> Array:
        """See `LengthDistribution`."""

    @abstractmethod
    def quantile(self, probability: ArrayLike) -> Array:
        """See `LengthDistribution`."""

    @abstractmethod
    def partial_means(self, thresholds: ArrayLike) -> tuple[Array, Array]:
        """See `LengthDistribution`."""

    @abstractmethod
    def density(self, log_lengths: Array) -> Array:
        """Density of ln L, at values of ln L in the range."""

    @abstractmethod
    def log_density(self, log_lengths: Array) -> Array:
        """Its logarithm, which keeps its digits where the density has no number any more."""

    @abstractmethod
    def panels(self, low: float, high: float) -> Array:
        """Edges in ln L between low and high, in any order, fine enough for the density wherever the range lies."""

    def thresholds(self, count: int) -> Array:
        """In equal ratios over the range."""
        return equal_ratios(self.shortest, self.longest, count)

    def partial_expectations(
        self, quantities: Sequence[Quantity], thresholds: ArrayLike, kinks: ArrayLike = ()
    ) -> tuple[Array, Array]:
        """See `LengthDistribution`. Gauss-Legendre of order 6 in ln L, on panels cut at every kink and threshold."""
        low, high = np.log(self.shortest), np.log(self.longest)
        cuts = np.clip(np.log(np.maximum(np.asarray(thresholds, dtype=float), self.shortest)), low, high)
        edges = np.unique(np.concatenate([self.panels(low, high), self._inside(kinks), cuts.ravel()]))
        half = np.diff(edges) / 2
        at = (edges[:-1] + half)[:, np.newaxis] + half[:, np.newaxis] * NODES
        weight = self.density(at) * half[:, np.newaxis] * WEIGHTS
        length = np.exp(at)
        panels = np.stack([(weight * f(length)).sum(axis=1) for f in quantities])
        index = np.searchsorted(edges, cuts)
        return running_sums(panels, index)

    def _inside(self, kinks: ArrayLike) -> Array:
        points = np.asarray(kinks, dtype=float)
        inside: Array = np.log(points[(points > self.shortest) & (points < self.longest)])
        return inside


def require_range(shortest: float, longest: float) -> None:
    """Raises ValueError unless lengths from shortest to longest are possible and more than one."""
    if not 0 < shortest < longest < np.inf:
        raise ValueError(f"needs 0 < min < max, got min {shortest:g} and max {longest:g}")


def require_mass(mass: float, shortest: float, longest: float, parameters: str, remedy: str) -> None:
    """Raises ValueError where a range holds no probability before truncation."""
    if not mass > LEAST_MASS:
        raise ValueError(
            f"no request falls between {shortest:g} and {longest:g} tokens at {parameters}; {remedy} or widen it"
        )
