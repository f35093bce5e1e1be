"""Lengths of which only a histogram is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import PchipInterpolator

from planner.engine.curves import Array
from planner.engine.lengths.distribution import Quantity, equal_ratios, running_sums

WIDTH = 0.01
"""Greatest ratio, less one, of the two ends of a cell."""
MOST_CELLS = 96
"""Of a bucket."""
NODES, WEIGHTS = np.polynomial.legendre.leggauss(3)


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Cells that buckets are cut into, whatever the counts."""

    bounds: tuple[float, ...]
    """Of the buckets."""
    edges: Array
    """In tokens, rising, shape (cells + 1,)."""
    bucket: NDArray[np.intp]
    """Which each cell is a part of, shape (cells,)."""
    nodes: Array
    """Lengths at which a quantity is taken for its mean over a cell, shape (cells, 3)."""

    def means(self, quantity: Quantity) -> Array:
        """Mean of a quantity over each cell, in which all ratios are equally likely, shape (cells,)."""
        mean: Array = quantity(self.nodes) @ (WEIGHTS / 2)
        return mean


@lru_cache(maxsize=32)
def grid(bounds: tuple[float, ...]) -> Grid:
    """The cells of buckets between neighbouring bounds, which are in tokens, positive and rising."""
    ends = np.log(bounds)
    counts = np.clip(np.ceil(np.diff(ends) / WIDTH), 1, MOST_CELLS).astype(int)
    pieces = [
        np.linspace(low, high, count, endpoint=False)
        for low, high, count in zip(ends[:-1], ends[1:], counts, strict=True)
    ]
    logs = np.append(np.concatenate(pieces), ends[-1])
    edges = np.exp(logs)
    edges[np.append(0, np.cumsum(counts))] = bounds  # these are to be met to the last digit
    return Grid(bounds, edges, np.repeat(np.arange(counts.size), counts), between(logs[:-1], logs[1:]))


def between(low: Array, high: Array) -> Array:
    """Nodes between logarithms of lengths: three for each pair, in tokens."""
    nodes: Array = np.exp((low + high)[..., np.newaxis] / 2 + (high - low)[..., np.newaxis] / 2 * NODES)
    return nodes


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Bucketed:
    """Shares of requests by bucket. Between the bounds, the share up to a length follows a curve through the shares at
    the bounds that rises and is smooth in the logarithm of the length (Fritsch and Carlson, Monotone piecewise cubic
    interpolation, SIAM J. Numer. Anal. 17 (1980) 238-246); it is laid out in cells.
    """

    grid: Grid
    masses: Array
    """Share of requests in each cell, shape (cells,)."""
    up_to: Array
    """Share of requests up to each edge, shape (cells + 1,)."""

    def __init__(self, bounds: Sequence[float], counts: Sequence[float] | Array) -> None:
        """`counts` of requests between neighbouring bounds, which are in tokens; there is one bound more than counts.

        Raises ValueError on bounds that are not positive, finite and rising, and on counts that do not go with them or
        are nothing at all.
        """
        ends, each = tuple(float(bound) for bound in bounds), np.array(counts, dtype=float)
        if len(ends) < 2 or not (ends[0] > 0 and np.isfinite(ends[-1]) and np.all(np.diff(ends) > 0)):
            raise ValueError("bounds must be positive, finite and rising, and two at least")
        if each.shape != (len(ends) - 1,):
            raise ValueError(f"needs a count for each bucket, got {each.size} for {len(ends) - 1}")
        if not np.all(np.isfinite(each) & (each >= 0)) or not each.sum() > 0:
            raise ValueError("counts must be finite and not negative, and not all 0")
        cells = grid(ends)
        up_to = np.concatenate([[0.0], np.cumsum(each / each.sum())])
        smooth = PchipInterpolator(np.log(ends), up_to)(np.log(cells.edges)) if len(ends) > 2 else None
        masses = _by_cell(cells, each / each.sum(), smooth)
        object.__setattr__(self, "grid", cells)
        object.__setattr__(self, "masses", masses)
        object.__setattr__(self, "up_to", np.concatenate([[0.0], np.cumsum(masses)]))

    @property
    def shortest(self) -> float:
        """The lower bound of the first bucket that has requests."""
        return float(self.grid.edges[np.flatnonzero(self.masses)[0]])

    @property
    def longest(self) -> float:
        """The upper bound of the last bucket that has."""
        return float(self.grid.edges[np.flatnonzero(self.masses)[-1] + 1])

    def _place(self, lengths: ArrayLike) -> tuple[NDArray[np.intp], Array]:
        """The cell that each length lies in, and which part of the cell lies below it."""
        edges = self.grid.edges
        at = np.clip(np.asarray(lengths, dtype=float), edges[0], edges[-1])
        cell = np.clip(np.searchsorted(edges, at, side="left") - 1, 0, self.masses.size - 1)
        return cell, np.log(at / edges[cell]) / np.log(edges[cell + 1] / edges[cell])

    def _share(self, lengths: ArrayLike) -> Array:
        cell, part = self._place(lengths)
        share: Array = self.up_to[cell] + part * self.masses[cell]
        return share

    def between(self, lower: ArrayLike, upper: ArrayLike) -> Array:
        """P(lower < L <= upper); 0 where upper <= lower."""
        share: Array = np.maximum(self._share(upper) - self._share(lower), 0.0)
        return share

    def quantile(self, probability: ArrayLike) -> Array:
        """The least length that a share `probability` in [0, 1] of requests does not exceed."""
        q = np.asarray(probability, dtype=float) * self.up_to[-1]
        some = np.flatnonzero(self.masses)
        cell = some[np.minimum(np.searchsorted(self.up_to[some + 1], q), some.size - 1)]
        edges = self.grid.edges
        part = np.clip((q - self.up_to[cell]) / self.masses[cell], 0.0, 1.0)
        length: Array = edges[cell] * (edges[cell + 1] / edges[cell]) ** part
        return length

    def thresholds(self, count: int) -> Array:
        """In equal ratios over the range."""
        return equal_ratios(self.shortest, self.longest, count)

    def partial_means(self, thresholds: ArrayLike) -> tuple[Array, Array]:
        """E[L; L <= t] and E[L; L > t], in tokens."""
        below, above = self.partial_expectations([lambda lengths: lengths], thresholds)
        return below[0], above[0]

    def partial_expectations(
        self, quantities: Sequence[Quantity], thresholds: ArrayLike, kinks: ArrayLike = ()
    ) -> tuple[Array, Array]:
        """See `LengthDistribution`. Cells are so narrow that kinks do not matter."""
        cell, part = self._place(thresholds)
        parts = np.stack([self.grid.means(f) for f in quantities]) * self.masses
        below, above = running_sums(parts, np.stack([cell, cell + 1]))
        logs = np.log(self.grid.edges)
        cut = logs[cell] + part * (logs[cell + 1] - logs[cell])
        first, last = between(logs[cell], cut), between(cut, logs[cell + 1])
        within = np.stack([f(first) @ (WEIGHTS / 2) for f in quantities]) * part * self.masses[cell]
        beyond = np.stack([f(last) @ (WEIGHTS / 2) for f in quantities]) * (1 - part) * self.masses[cell]
        return below[:, 0] + within, above[:, 1] + beyond


def _by_cell(cells: Grid, shares: Array, smooth: Array | None) -> Array:
    """Share of requests in each cell; the cells of a bucket sum to its share."""
    if smooth is None:
        return np.full(cells.bucket.size, 1.0 / cells.bucket.size)
    masses = np.maximum(np.diff(smooth), 0.0)
    masses[shares[cells.bucket] == 0] = 0.0
    sums = np.bincount(cells.bucket, masses, minlength=shares.size)
    scale = np.divide(shares, sums, out=np.zeros_like(shares), where=sums > 0)
    each: Array = masses * scale[cells.bucket]
    return each
