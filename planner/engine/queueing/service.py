"""Service times, as far as a wait depends on them.

In a busy queue that is their mean and variance. In an idle one it is more: who waits at all then finds every server
at a random point of its service and waits for the first to finish, so for the least of c residual service times,
each of density P(S > t) / E[S] (D. Y. Burman and D. R. Smith, A light-traffic theorem for multi-server queues,
Mathematics of Operations Research 8 (1983) 15-25).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from planner.engine.curves import Array


class Service(Protocol):
    """Service times of one stage, or of many candidates at once: then every array has the candidates' shape."""

    @property
    def mean_s(self) -> Array:
        """E[S] in seconds."""

    @property
    def scv(self) -> Array:
        """Squared coefficient of variation, Var S / E[S]²."""

    def least_residual(self, servers: ArrayLike) -> tuple[Array, Array]:
        """Mean in seconds and scv of the least of so many residual service times; `servers` broadcasts."""


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Moments:
    """Service times of which only moments are known."""

    mean_s: Array
    scv: Array
    third: Array
    """E[S³] / E[S]³."""

    def __init__(self, mean_s: ArrayLike, scv: ArrayLike, third: ArrayLike | None = None) -> None:
        """Shapes that broadcast; without a third moment it is a gamma distribution's.

        Raises ValueError on a mean or scv that is negative or not finite, and on a third moment that no times have.
        """
        mean, square = np.asarray(mean_s, dtype=float), np.asarray(scv, dtype=float)
        cube = np.asarray((1 + square) * (1 + 2 * square) if third is None else third, dtype=float)
        for name, value in (("mean service time", mean), ("scv of service", square), ("third moment", cube)):
            if not np.all((value >= 0) & np.isfinite(value)):
                raise ValueError(f"{name} must not be negative or infinite, got {value}")
        if np.any(cube < (1 + square) ** 2 * (1 - 1e-9)):
            raise ValueError(f"E[S³]/E[S]³ is at least (1 + scv)², got {cube} for an scv of {square}")
        object.__setattr__(self, "mean_s", mean)
        object.__setattr__(self, "scv", square)
        object.__setattr__(self, "third", cube)

    def least_residual(self, servers: ArrayLike) -> tuple[Array, Array]:
        """See `Service`. Exact for one server, for constant and for exponential service.

        The mean is what makes `waiting` the formula of T. Kimura, A two-moment approximation for the mean waiting
        time in the GI/G/s queue, Management Science 32 (1986) 751-763, in the case of Poisson arrivals.
        """
        c, second = np.asarray(servers, dtype=float), 1 + self.scv
        mean: Array = self.mean_s * second / (second * c + 1 - self.scv)
        one = 4 * self.third / (3 * second**2) - 1
        scv: Array = 1 + (one - 1) * 3 / (c + 2)
        return mean, scv


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Sampled:
    """Service takes one of a set of values, each with its weight: prefill times over a distribution of lengths."""

    values_s: Array
    """Rising, shape (n,)."""
    weights: Array
    """Shape (..., n), its leading axes the candidates'; each sums to 1, or to 0 where nothing is served."""

    def __init__(self, values_s: ArrayLike, weights: ArrayLike) -> None:
        """Values in seconds in any order, shape (n,); weights of any sum, shape (..., n): they are normed.

        Raises ValueError on unequal counts, and on values or weights that are negative or not finite.
        """
        values, shares = np.asarray(values_s, dtype=float), np.asarray(weights, dtype=float)
        if values.ndim != 1 or not values.size or shares.shape[-1:] != values.shape:
            raise ValueError(f"needs as many weights as values, got {shares.shape} for {values.shape}")
        for name, array in (("service times", values), ("weights", shares)):
            if not np.all((array >= 0) & np.isfinite(array)):
                raise ValueError(f"{name} must not be negative or infinite, got {array.min():g} to {array.max():g}")
        order = np.argsort(values, kind="stable")
        total = shares.sum(axis=-1, keepdims=True)
        object.__setattr__(self, "values_s", values[order])
        object.__setattr__(self, "weights", (shares / np.where(total > 0, total, 1.0))[..., order])

    @property
    def mean_s(self) -> Array:
        """See `Service`; 0 where nothing is served."""
        mean: Array = self.weights @ self.values_s
        return mean

    @property
    def scv(self) -> Array:
        """See `Service`; 0 where nothing is served."""
        mean = self.mean_s
        variance = (self.weights * (self.values_s - mean[..., np.newaxis]) ** 2).sum(axis=-1)
        scv: Array = np.where(mean > 0, variance / np.where(mean > 0, mean, 1.0) ** 2, 0.0)
        return scv

    def least_residual(self, servers: ArrayLike) -> tuple[Array, Array]:
        """See `Service`. Exact: of one residual time, P(> t) falls in straight lines between the values."""
        c = np.asarray(servers, dtype=float)[..., np.newaxis]
        left = np.concatenate([[0.0], self.values_s[:-1]])
        longer = self.weights[..., ::-1].cumsum(axis=-1)[..., ::-1]
        rest = (longer * (self.values_s - left))[..., ::-1].cumsum(axis=-1)[..., ::-1]
        mean = np.where(rest[..., :1] > 0, rest[..., :1], 1.0)
        at_left = rest / mean
        at_right = np.concatenate([at_left[..., 1:], np.zeros_like(at_left[..., :1])], axis=-1)
        # over each straight line, the integrals of y^c and t · y^c; where nothing is longer both ends are 0
        slope = np.where(longer > 0, longer, 1.0) / mean * (c + 1)
        with np.errstate(under="ignore"):
            begin, end = at_left ** (c + 1), at_right ** (c + 1)
            first = ((begin - end) / slope).sum(axis=-1)
            beyond = (at_left * begin - at_right * end) * (c + 1) / (c + 2) / slope
            half = ((left * begin - self.values_s * end + beyond) / slope).sum(axis=-1)
        some = first > 0
        scv: Array = np.where(some, 2 * half / np.where(some, first, 1.0) ** 2 - 1, 1.0)
        return first, scv
