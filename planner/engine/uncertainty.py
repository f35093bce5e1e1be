"""How sure a comparison is: errors of figures drawn at random, and who is better in how many of the draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.engine.curves import Array

SHARES = (0.05, 0.5, 0.95)
TIED = 1e-9
"""Relative difference below which two outcomes count as equal."""
WORD = 32


def errors(key: bytes, sigma: float, count: int, seed: int) -> Array:
    """Factors exp(sigma · Z) by which a figure is wrong, shape (count,): log-normal, median 1.

    They depend on the seed, on the figure's key (a digest) and on nothing else: the same figure has the same error
    wherever it is used, and no other figure's draws move when one is added.
    """
    words = [int.from_bytes(key[at : at + WORD // 8], "big") for at in range(0, len(key), WORD // 8)]
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=tuple(words)))
    factors: Array = np.exp(sigma * rng.standard_normal(count))
    return factors


@dataclass(frozen=True, slots=True)
class Spread:
    """Percentiles and mean of an outcome over the draws."""

    p05: float
    p50: float
    p95: float
    mean: float


def spread(values: Array) -> Spread:
    """Of values of shape (draws,); NaN where one of them is."""
    with np.errstate(invalid="ignore"):  # between infinities there is nothing to interpolate
        p05, p50, p95 = (float(each) for each in np.quantile(values, SHARES))
    return Spread(p05, p50, p95, float(values.mean()))


@dataclass(frozen=True, slots=True)
class Wins:
    """Probabilities with their standard errors: `beats[i, j]` that i is better than j, `best[i]` that none is better.

    A tie counts half for each, and of several that are best as a share for each. A standard error of 0 says that all
    draws agreed; the probability is then known to about 3 in as many draws.
    """

    beats: Array
    beats_error: Array
    best: Array
    best_error: Array


def wins(values: Array, more_is_better: bool) -> Wins:
    """Who is better how often; `values` of shape (deployments, draws). An outcome with itself: one half."""
    better = values if more_is_better else -values
    scores = _scores(better[:, np.newaxis], better[np.newaxis])
    among = _alike(better, better.max(axis=0))
    shares = among / among.sum(axis=0)
    return Wins(scores.mean(axis=-1), _error(scores), shares.mean(axis=-1), _error(shares))


def _scores(one: Array, other: Array) -> Array:
    """1 where one is greater, 1/2 where they are alike, 0 where it is less."""
    scores: Array = np.where(_alike(one, other), 0.5, one > other)
    return scores


def _alike(one: Array, other: Array) -> Array:
    with np.errstate(invalid="ignore"):  # infinity less infinity
        near = np.abs(one - other) <= TIED * np.minimum(np.abs(one), np.abs(other))
    alike: Array = near | (one == other)
    return alike


def _error(scores: Array) -> Array:
    """Standard error of the mean over the last axis."""
    error: Array = scores.std(axis=-1) / np.sqrt(scores.shape[-1])
    return error
