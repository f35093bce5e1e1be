"""A record of lengths to be fitted, and how far a distribution is from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from planner.engine.curves import Array
from planner.engine.lengths import Empirical, LengthDistribution
from planner.engine.lengths.empirical import Counts


class Fitted(LengthDistribution, Protocol):
    """A distribution with a density."""

    def log_density(self, log_lengths: Array) -> Array:
        """Logarithm of the density of ln L."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Recorded lengths with counts, the range to fit them in, and what the fits need of them again and again."""

    record: Empirical
    log_lengths: Array
    weights: Array
    """Share of requests at each length."""
    shortest: float
    longest: float

    def mean(self, values: Array) -> float:
        """Mean over requests of a value at each length."""
        return float(self.weights @ values)


@dataclass(frozen=True, slots=True)
class QuantilePairs:
    """Lengths in tokens that the same shares of requests do not exceed, recorded and fitted."""

    probability: Array
    recorded: Array
    fitted: Array


def sample(lengths: ArrayLike, counts: Counts | None = None, bounds: tuple[float, float] | None = None) -> Sample:
    """The record, ready to be fitted within `bounds`, by default its own least and greatest length.

    Raises ValueError as `Empirical`, on fewer than two distinct lengths, and on lengths outside the bounds.
    """
    record = Empirical(np.asarray(lengths, dtype=float), counts)
    if record.shortest == record.longest:
        raise ValueError(f"needs at least two different lengths, got {record.shortest:g} only; state it as it is")
    low, high = bounds or (record.shortest, record.longest)
    if not 0 < low <= record.shortest <= record.longest <= high < np.inf:
        raise ValueError(
            f"bounds must hold every length, got [{low:g}, {high:g}] for {record.shortest:g} to {record.longest:g}"
        )
    return Sample(record, np.log(record.samples), record.requests / record.total, low, high)


def log_likelihood(fitted: Fitted, given: Sample) -> float:
    """Sum over requests of ln f(l), f the density a token."""
    return given.record.total * given.mean(fitted.log_density(given.log_lengths) - given.log_lengths)


def ks_distance(distribution: LengthDistribution, lengths: ArrayLike, counts: Counts | None = None) -> float:
    """Kolmogorov-Smirnov distance: the greatest difference of the two shares of requests up to any length.

    Raises ValueError as `Empirical`.
    """
    record = Empirical(np.asarray(lengths, dtype=float), counts)
    last = np.append(np.flatnonzero(np.diff(record.samples)), record.samples.size - 1)  # of each distinct length
    share = distribution.between(0.0, record.samples[last])
    after = record.up_to[last + 1] / record.total
    before = np.concatenate([[0.0], after[:-1]])
    return float(max(np.abs(share - after).max(), np.abs(share - before).max()))


def qq(
    distribution: LengthDistribution, lengths: ArrayLike, counts: Counts | None = None, count: int = 99
) -> QuantilePairs:
    """Quantiles at `count` equally spaced probabilities, the ends left out: 99 are the percentiles.

    Raises ValueError as `Empirical`.
    """
    record = Empirical(np.asarray(lengths, dtype=float), counts)
    probability = np.arange(1, count + 1) / (count + 1)
    return QuantilePairs(probability, record.quantile(probability), distribution.quantile(probability))
