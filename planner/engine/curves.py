"""Quantities that were measured at a few prompt lengths: T_prefill(l) in seconds, S_kv(l) in bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import nnls

type Array = NDArray[np.float64]

STEEPEST = 20.0
"""No quantity that we know grows faster than this power of the length; a steeper one is a slip of the pen."""


class Curve(Protocol):
    """A positive quantity as a function of prompt length in tokens."""

    @property
    def lengths(self) -> Array:
        """The measured lengths, rising, shape (n,); outside them the curve is extrapolated."""

    @property
    def kinks(self) -> Array:
        """Lengths at which the curve is not smooth; quadrature splits there."""

    def __call__(self, lengths: ArrayLike) -> Array:
        """The quantity at each of `lengths` (> 0), same shape."""

    def sublevel(self, values: ArrayLike) -> tuple[Array, Array]:
        """Where the curve stays at or below each of `values`: bounds of disjoint intervals of
        lengths, the upper ones of shape (*values.shape, pieces), the lower ones broadcastable to it;
        an empty piece has its upper bound at or below its lower one."""


def checked_points(lengths: Sequence[float] | Array, values: Sequence[float] | Array) -> tuple[Array, Array]:
    """Both as read-only arrays of shape (n,).

    Raises ValueError on fewer than two points, unequal counts, lengths that are not positive and
    strictly rising, and values that are not positive and finite.
    """
    x, y = np.array(lengths, dtype=float), np.array(values, dtype=float)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"needs as many values as lengths, got {y.size} values for {x.size} lengths")
    if x.size < 2:
        raise ValueError(f"needs at least two points, got {x.size}")
    if not np.all(np.isfinite(x)) or x[0] <= 0:
        raise ValueError(f"lengths must be positive and finite, got {x.tolist()}")
    if np.any(np.diff(x) <= 0):
        at = int(np.argmax(np.diff(x) <= 0))
        raise ValueError(f"lengths must rise, but {x[at]:g} is followed by {x[at + 1]:g}")
    if not np.all(np.isfinite(y)) or np.any(y <= 0):
        raise ValueError(f"values must be positive and finite, got {y.tolist()}")
    x.flags.writeable = y.flags.writeable = False
    return x, y


@dataclass(frozen=True, slots=True, eq=False, init=False)
class LogLogCurve:
    """Straight lines between the points in log-log scale, the outer two prolonged as power laws.

    Between two points the curve never leaves their values, so monotone points give a monotone curve.
    """

    lengths: Array
    values: Array
    exponents: Array
    """Local power of the length on each piece, shape (n - 1,)."""

    def __init__(self, lengths: Sequence[float] | Array, values: Sequence[float] | Array) -> None:
        """`lengths` in tokens and `values` in the quantity's unit, both of shape (n,), n >= 2.

        Raises ValueError as `checked_points`, and on a jump steeper than length to the power of 20.
        """
        x, y = checked_points(lengths, values)
        slopes = np.diff(np.log(y)) / np.diff(np.log(x))
        if np.any(np.abs(slopes) > STEEPEST):
            at = int(np.argmax(np.abs(slopes)))
            raise ValueError(f"values jump from {y[at]:g} to {y[at + 1]:g} between lengths {x[at]:g} and {x[at + 1]:g}")
        object.__setattr__(self, "lengths", x)
        object.__setattr__(self, "values", y)
        object.__setattr__(self, "exponents", slopes)

    @property
    def kinks(self) -> Array:
        """Every measured length."""
        return self.lengths

    def __call__(self, lengths: ArrayLike) -> Array:
        """The quantity at each of `lengths` (> 0), same shape."""
        at = np.asarray(lengths, dtype=float)
        piece = np.searchsorted(self.lengths[1:-1], at, side="right")
        value: Array = self.values[piece] * (at / self.lengths[piece]) ** self.exponents[piece]
        return value

    def sublevel(self, values: ArrayLike) -> tuple[Array, Array]:
        """See `Curve.sublevel`: one piece where the curve rises throughout, else one per pair of points,
        the outer two reaching to 0 and infinity."""
        level = np.asarray(values, dtype=float)[..., np.newaxis]
        if self.exponents.min() > 0:
            return np.zeros(1), self._reached(level, np.searchsorted(self.values[1:-1], level))
        left = np.concatenate([[0.0], self.lengths[1:-1]])
        right = np.concatenate([self.lengths[1:-1], [np.inf]])
        slope = self.exponents
        reached = self._reached(level, np.arange(slope.size))
        flat = np.where(level >= self.values[:-1], right, left)
        upper = np.where(slope > 0, np.minimum(right, reached), np.where(slope < 0, right, flat))
        return np.where(slope < 0, np.maximum(left, reached), left), upper

    def _reached(self, level: Array, piece: NDArray[np.intp]) -> Array:
        """The length at which each piece, prolonged, meets the level."""
        with np.errstate(divide="ignore", over="ignore"):
            at: Array = self.lengths[piece] * (level / self.values[piece]) ** (1.0 / self.exponents[piece])
        return at


@dataclass(frozen=True, slots=True, eq=False, init=False)
class LinearCurve:
    """Straight lines between the points on linear axes: what is a sum of parts linear in the length, read exactly.

    The outer pieces are prolonged. Below the first point the line falls at most in proportion to the length, so
    that it meets the axis at length 0 at the earliest and stays positive everywhere.
    """

    lengths: Array
    values: Array
    slopes: Array
    """Of the piece up to the first point, between each two, and beyond the last: shape (n + 1,)."""

    def __init__(self, lengths: Sequence[float] | Array, values: Sequence[float] | Array) -> None:
        """`lengths` in tokens and `values` in the quantity's unit, both of shape (n,), n >= 2.

        Raises ValueError as `checked_points`, and on values that fall.
        """
        x, y = checked_points(lengths, values)
        if np.any(np.diff(y) < 0):
            at = int(np.argmax(np.diff(y) < 0))
            raise ValueError(f"values must not fall, but {y[at]:g} at {x[at]:g} is followed by {y[at + 1]:g}")
        inner = np.diff(y) / np.diff(x)
        object.__setattr__(self, "lengths", x)
        object.__setattr__(self, "values", y)
        object.__setattr__(self, "slopes", np.concatenate([[min(inner[0], y[0] / x[0])], inner, inner[-1:]]))

    @property
    def kinks(self) -> Array:
        """Every measured length at which the slope changes."""
        turns: Array = self.lengths[np.diff(self.slopes) != 0]
        return turns

    def __call__(self, lengths: ArrayLike) -> Array:
        """The quantity at each of `lengths` (> 0), same shape."""
        at = np.asarray(lengths, dtype=float)
        piece = np.searchsorted(self.lengths, at, side="right")
        start = np.maximum(piece - 1, 0)
        line = self.values[start] + self.slopes[piece] * (at - self.lengths[start])
        # The proportion lies below the line everywhere, but rounding could take the line near length 0 to 0.
        value: Array = np.maximum(line, self.values[0] * np.minimum(at / self.lengths[0], 1.0))
        return value

    def sublevel(self, values: ArrayLike) -> tuple[Array, Array]:
        """See `Curve.sublevel`: one piece, from 0 to the greatest length at which the curve is at the value."""
        level = np.asarray(values, dtype=float)[..., np.newaxis]
        piece = np.searchsorted(self.values, level, side="right")
        start = np.maximum(piece - 1, 0)
        rest, slope = level - self.values[start], self.slopes[piece]
        level_on = np.where(rest < 0, -np.inf, np.inf)  # a level piece is nowhere or everywhere at or below the value
        step = np.divide(rest, slope, out=level_on, where=slope > 0)
        return np.zeros(1), np.maximum(self.lengths[start] + step, 0.0)


@dataclass(frozen=True, slots=True, eq=False, init=False)
class QuadraticFit:
    """t0 + a·l + b·l²: a fixed cost, work per token, and attention's work per pair of tokens.

    None of the three is negative, so the curve is positive and never falls. They minimise the sum of
    squared *relative* errors, since profiles span orders of magnitude.
    """

    lengths: Array
    values: Array
    coefficients: Array

    def __init__(self, lengths: Sequence[float] | Array, values: Sequence[float] | Array) -> None:
        """Fits at least three points. Raises ValueError as `checked_points`, and on fewer than three."""
        x, y = checked_points(lengths, values)
        if x.size < 3:
            raise ValueError(f"a fit of three coefficients needs at least three points, got {x.size}")
        scale = x[-1]  # keeps the columns of the least-squares problem of one size
        columns = np.stack([np.ones_like(x), x / scale, (x / scale) ** 2], axis=1) / y[:, np.newaxis]
        solution, _ = nnls(columns, np.ones_like(y))
        object.__setattr__(self, "lengths", x)
        object.__setattr__(self, "values", y)
        object.__setattr__(self, "coefficients", solution / np.array([1.0, scale, scale**2]))

    @property
    def kinks(self) -> Array:
        """None: a polynomial is smooth."""
        return np.empty(0)

    @property
    def residuals(self) -> Array:
        """Fitted over measured, less one, at each point."""
        relative: Array = self(self.lengths) / self.values - 1.0
        return relative

    def __call__(self, lengths: ArrayLike) -> Array:
        """The quantity at each of `lengths` (> 0), same shape."""
        at = np.asarray(lengths, dtype=float)
        t0, a, b = self.coefficients
        value: Array = t0 + at * (a + at * b)
        return value

    def sublevel(self, values: ArrayLike) -> tuple[Array, Array]:
        """See `Curve.sublevel`: one piece, from 0 to where the curve reaches the value."""
        level = np.asarray(values, dtype=float)[..., np.newaxis]
        t0, a, b = self.coefficients
        rest = level - t0
        # The stable form of the quadratic's root: it also serves b = 0, and a = b = 0 by infinity.
        with np.errstate(divide="ignore", invalid="ignore"):
            root = 2 * rest / (a + np.sqrt(a * a + 4 * b * np.maximum(rest, 0.0)))
        upper = np.where(rest < 0, 0.0, np.where(np.isnan(root), np.inf, root))
        return np.zeros(1), upper


@dataclass(frozen=True, slots=True, eq=False)
class Scaled:
    """A curve, `factor` times as high everywhere."""

    curve: Curve
    factor: float

    @property
    def lengths(self) -> Array:
        """Those of the curve."""
        return self.curve.lengths

    @property
    def kinks(self) -> Array:
        """Those of the curve."""
        return self.curve.kinks

    def __call__(self, lengths: ArrayLike) -> Array:
        """See Curve."""
        values: Array = self.factor * self.curve(lengths)
        return values

    def sublevel(self, values: ArrayLike) -> tuple[Array, Array]:
        """See Curve."""
        return self.curve.sublevel(np.asarray(values, dtype=float) / self.factor)
