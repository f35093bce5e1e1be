"""Lengths as they were recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.engine.curves import Array
from planner.engine.lengths.distribution import Quantity, running_sums

type Counts = Sequence[int] | NDArray[np.int64]
MOST_REQUESTS = 2**53
"""Beyond it, not every count of requests has a floating-point number of its own."""
SUMS_KEPT, LONGEST_KEPT = 16, 200_000
"""Sums of so many curves are kept, each over so many samples at most: 16 bytes a sample."""


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Empirical:
    """Recorded lengths, each with the number of requests that had it."""

    samples: Array
    """Rising, shape (n,)."""
    requests: NDArray[np.int64]
    """How many requests each sample stands for, shape (n,)."""
    up_to: NDArray[np.int64]
    """Requests among the first i samples, shape (n + 1,)."""
    partial_sums: tuple[Array, Array]

    def __init__(
        self, samples: Sequence[float] | Array, counts: Sequence[int] | NDArray[np.int64] | None = None
    ) -> None:
        """`samples` in tokens, in any order; `counts` of requests, one for each; without them each stands for one.

        Raises ValueError on no sample, on one that is not positive and finite, and on counts that are not as many,
        whole and positive.
        """
        given = np.array(samples, dtype=float)
        if given.ndim != 1 or given.size == 0:
            raise ValueError("needs at least one sample")
        each = np.ones(given.size, dtype=np.int64) if counts is None else checked_counts(counts, given.size)
        order = np.argsort(given, kind="stable")
        ordered, requests = given[order], each[order]
        if not np.isfinite(ordered[-1]) or ordered[0] <= 0:
            raise ValueError(f"samples must be positive and finite, got {ordered[0]:g} to {ordered[-1]:g}")
        up_to = np.concatenate([[0], np.cumsum(requests)])
        for array in (ordered, requests, up_to):
            array.flags.writeable = False
        object.__setattr__(self, "samples", ordered)
        object.__setattr__(self, "requests", requests)
        object.__setattr__(self, "up_to", up_to)
        every = np.arange(ordered.size + 1, dtype=np.intp)
        below, above = running_sums((ordered * requests / self.total)[np.newaxis], every)
        object.__setattr__(self, "partial_sums", (below[0], above[0]))

    @property
    def total(self) -> int:
        """Requests altogether."""
        return int(self.up_to[-1])

    @property
    def shortest(self) -> float:
        """The shortest sample."""
        return float(self.samples[0])

    @property
    def longest(self) -> float:
        """The longest sample."""
        return float(self.samples[-1])

    def _samples_up_to(self, lengths: ArrayLike) -> NDArray[np.intp]:
        return np.searchsorted(self.samples, np.asarray(lengths, dtype=float), side="right")

    def between(self, lower: ArrayLike, upper: ArrayLike) -> Array:
        """P(lower < L <= upper); 0 where upper <= lower."""
        count = self.up_to[self._samples_up_to(upper)] - self.up_to[self._samples_up_to(lower)]
        share: Array = np.maximum(count, 0) / self.total
        return share

    def quantile(self, probability: ArrayLike) -> Array:
        """The smallest sample that a share `probability` in [0, 1] of requests does not exceed."""
        rank = np.ceil(np.asarray(probability, dtype=float) * self.total - 1e-9).astype(np.int64)
        chosen: Array = self.samples[np.searchsorted(self.up_to[1:], np.clip(rank, 1, self.total))]
        return chosen

    def thresholds(self, count: int) -> Array:
        """Every length that occurs, since none between two of them divides the requests otherwise; where there are
        more than `count`, as many of equal rank."""
        lengths = np.unique(self.samples)
        ranks = np.linspace(0, lengths.size - 1, min(count, lengths.size)).round().astype(int)
        chosen: Array = lengths[ranks]
        return chosen

    def partial_means(self, thresholds: ArrayLike) -> tuple[Array, Array]:
        """E[L; L <= t] and E[L; L > t], from sums kept since construction: O(log n) a threshold."""
        index = self._samples_up_to(thresholds)
        return self.partial_sums[0][index], self.partial_sums[1][index]

    def partial_expectations(
        self, quantities: Sequence[Quantity], thresholds: ArrayLike, kinks: ArrayLike = ()
    ) -> tuple[Array, Array]:
        """See `LengthDistribution`. Exact sums over the samples; `kinks` do not matter."""
        sums, index = [_sums(self, f) for f in quantities], self._samples_up_to(thresholds)
        return np.stack([below[index] for below, _ in sums]), np.stack([above[index] for _, above in sums])


@lru_cache(maxsize=SUMS_KEPT)
def _kept(lengths: Empirical, curve: Quantity) -> tuple[Array, Array]:
    return _summed(lengths, curve)


def _sums(lengths: Empirical, quantity: Quantity) -> tuple[Array, Array]:
    """Sums of a quantity over the first i samples and over the others, for each i from 0 to n.

    A search asks for those of the same few curves again and again, at other thresholds. What is no curve is a function
    of its moment, and what is very long would fill the memory.
    """
    is_kept = hasattr(quantity, "kinks") and lengths.samples.size <= LONGEST_KEPT
    return _kept(lengths, quantity) if is_kept else _summed(lengths, quantity)


def _summed(lengths: Empirical, quantity: Quantity) -> tuple[Array, Array]:
    values = np.asarray(quantity(lengths.samples)) * lengths.requests / lengths.total
    below, above = running_sums(values[np.newaxis], np.arange(lengths.samples.size + 1, dtype=np.intp))
    return below[0], above[0]


def checked_counts(counts: Counts, size: int) -> NDArray[np.int64]:
    """Counts of requests as an array of shape (size,). Raises ValueError unless as many, whole and positive."""
    each = np.array(counts)
    if each.shape != (size,):
        raise ValueError(f"needs as many counts as samples, got {each.size} counts for {size} samples")
    if not np.issubdtype(each.dtype, np.integer):
        raise ValueError("counts must be whole numbers of requests")
    if each.min() < 1:
        raise ValueError(f"counts must be positive, got {each.min()}; leave such a sample out")
    if float(each.sum(dtype=float)) > MOST_REQUESTS:
        raise ValueError(f"counts must be at most 2^53 together, got {each.sum(dtype=float):g}")
    return each.astype(np.int64)
