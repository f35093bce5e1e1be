"""The work that a histogram of lengths brings to each stage, at every threshold at once, and how wrong that may be.

Two things are not known: where within a bucket its requests lie, and what a larger sample would have shown. Of the
first, the least and the most work that any placement within the buckets brings; of the second, second moments.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from planner.engine.advice.terms import Histogram
from planner.engine.curves import Array, Curve
from planner.engine.deployment import Deployment
from planner.engine.lengths import Bucketed
from planner.engine.lengths.bucketed import Grid, grid
from planner.engine.lengths.distribution import Quantity
from planner.engine.throughput import BITS_PER_BYTE

SHORTEST = 1.0
"""Tokens: no request is shorter."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """What of one quantity follows from the buckets alone."""

    mean: Array
    """Over each cell, and that of its square, shape (cells,)."""
    square: Array
    least: Array
    """Over each bucket, shape (buckets,)."""
    most: Array
    most_below: Array
    """For each edge, over the part of its bucket up to it, shape (cells + 1,); ..."""
    most_above: Array
    """... and beyond it."""


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """Of a deployment's curves, over the same cells."""

    grid: Grid
    local_s: Table
    """T_prefill of PD-P; that of PrfaaS; and what crosses, in bits."""
    remote_s: Table
    bits: Table


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """Of an arriving request, the mean work at one stage, for each edge as the threshold, shape (cells + 1,)."""

    mean: Array
    least: Array
    most: Array
    square: Array
    """Mean square of what each brings."""


@dataclass(frozen=True, slots=True, eq=False)
class Loads:
    """At every edge as the threshold."""

    lengths: Bucketed
    local_s: Load
    """Up to it."""
    remote_s: Load
    """Beyond it."""
    bits: Load
    offload_fraction: Array

    @property
    def edges(self) -> Array:
        """The thresholds, in tokens."""
        return self.lengths.grid.edges

    def at(self, values: Array, threshold_tokens: float) -> float:
        """One of the arrays, between two edges in a straight line over the logarithm of t."""
        t = float(np.clip(threshold_tokens, self.edges[0], self.edges[-1]))
        return float(np.interp(np.log(t), np.log(self.edges), values))


def lengths_of(histogram: Histogram, longest_tokens: float) -> Bucketed:
    """The lengths of a histogram, of which none is longer than the last bound or, if some are, `longest_tokens`."""
    bounds, counts = list(histogram.bounds), list(histogram.counts)
    if bounds[0] > SHORTEST:
        bounds.insert(0, SHORTEST)
    else:
        counts[1] += counts.pop(0)  # there is no length below
    bounds.append(longest_tokens if longest_tokens > bounds[-1] else 2 * bounds[-1])
    return Bucketed(bounds, counts)


def loads(deployment: Deployment, lengths: Bucketed) -> Loads:
    """The work at every threshold, for the curves of the deployment."""
    remote = deployment.prfaas.t_prefill if deployment.prfaas else None
    tables = _tables(lengths.grid.bounds, deployment.pd.t_prefill, remote, deployment.s_kv)  # type: ignore[arg-type]
    shares = np.bincount(lengths.grid.bucket, lengths.masses)
    return Loads(
        lengths,
        local_s=_below(tables.grid, tables.local_s, lengths.masses, shares),
        remote_s=_above(tables.grid, tables.remote_s, lengths.masses, shares),
        bits=_above(tables.grid, tables.bits, lengths.masses, shares),
        offload_fraction=np.append(np.cumsum(lengths.masses[::-1])[::-1], 0.0),
    )


@lru_cache(maxsize=32)
def _tables(bounds: tuple[float, ...], local: Curve, remote: Curve | None, s_kv: Curve) -> Tables:
    """Kept for each set of bounds and curves, which are compared by identity."""
    cells = grid(bounds)
    return Tables(cells, _table(cells, local), _table(cells, remote or _nothing), _table(cells, s_kv, BITS_PER_BYTE))


def _nothing(lengths: Array) -> Array:
    return np.zeros_like(lengths)


def _table(cells: Grid, curve: Quantity, scale: float = 1.0) -> Table:
    def quantity(lengths: Array) -> Array:
        return scale * curve(lengths)

    at_edges = quantity(cells.edges)
    low, high = np.minimum(at_edges[:-1], at_edges[1:]), np.maximum(at_edges[:-1], at_edges[1:])
    first = np.append(0, np.flatnonzero(np.diff(cells.bucket)) + 1)
    last = np.append(first[1:], cells.bucket.size)
    below, above = np.empty(at_edges.size), np.zeros(at_edges.size)
    below[0] = at_edges[0]
    for begin, end in zip(first, last, strict=True):
        below[begin + 1 : end + 1] = np.maximum.accumulate(high[begin:end])
        above[begin:end] = np.maximum.accumulate(high[begin:end][::-1])[::-1]
    return Table(
        mean=cells.means(quantity),
        square=cells.means(lambda lengths: quantity(lengths) ** 2),
        least=np.minimum.reduceat(low, first),
        most=np.maximum.reduceat(high, first),
        most_below=below,
        most_above=above,
    )


def _buckets(cells: Grid) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For each edge, the bucket of what lies just below it, and just above."""
    return np.append(cells.bucket[0], cells.bucket), np.append(cells.bucket, cells.bucket[-1])


def _below(cells: Grid, table: Table, masses: Array, shares: Array) -> Load:
    """Work of requests up to each edge. A bucket that the edge divides may lie on either side of it, all of it."""
    left, right = _buckets(cells)
    least, most = _sums_before(shares * table.least), _sums_before(shares * table.most)
    low, high = least[right], most[left] + shares[left] * table.most_below
    low[-1], high[0] = least[-1], 0.0
    return Load(_sums_before(masses * table.mean), low, high, _sums_before(masses * table.square))


def _above(cells: Grid, table: Table, masses: Array, shares: Array) -> Load:
    """The same beyond each edge."""
    left, right = _buckets(cells)
    least, most = _sums_after(shares * table.least), _sums_after(shares * table.most)
    low, high = least[left + 1], most[right + 1] + shares[right] * table.most_above
    low[0], high[-1] = least[0], 0.0
    return Load(_sums_after(masses * table.mean), low, high, _sums_after(masses * table.square))


def _sums_before(parts: Array) -> Array:
    """Sums of the first i parts, for each i from 0."""
    return np.concatenate([[0.0], np.cumsum(parts)])


def _sums_after(parts: Array) -> Array:
    """Sums of all but the first i, from their own end."""
    return np.append(np.cumsum(parts[::-1])[::-1], 0.0)
