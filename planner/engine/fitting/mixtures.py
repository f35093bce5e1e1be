"""Mixtures of log-normals, by expectation-maximisation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from planner.engine.curves import Array
from planner.engine.fitting.families import MU_LIMIT, SIGMA_LIMIT
from planner.engine.fitting.record import Sample
from planner.engine.lengths import Mixture, TruncatedLogNormal
from planner.engine.lengths.correlated import log_normal_between

BINS = 1024
"""Lengths that a mixture is fitted to at most; of more distinct ones, neighbours are taken together."""
NARROWEST = 0.02
"""Least sigma of a mixture's part where the record's own is not less: one length that many requests share would
otherwise draw a part onto itself."""
LEAST_SHARE, LEAST_VARIANCE = 1e-12, 1e-18
"""Of a part that has lost its requests, or all but one length of them."""
FARTHEST = 30.0
"""Deviations outside the range at which a part's centre may lie."""
ROUNDS = 300
SETTLED = 1e-10
"""Gain of log-likelihood, a request, at which a mixture counts as found."""


def mixture(given: Sample, parts: int) -> Mixture:
    """A mixture of truncated log-normals by expectation-maximisation from equal shares of the record, shortest first.

    Each round also counts the lengths that truncation has hidden, as a part expects them at its present parameters
    (Lee and Scott, EM algorithms for multivariate Gaussian mixture models with truncated and censored data,
    Computational Statistics & Data Analysis 56 (2012) 2816-2829), so that the likelihood never falls.
    """
    y, weights = _binned(given)
    low, high = np.log(given.shortest), np.log(given.longest)
    narrowest = min(NARROWEST, float(np.sqrt(weights @ (y - weights @ y) ** 2)))

    def improved(at: Array) -> tuple[float, Array]:
        log_share, mu, sigma = at[0], at[1], np.exp(at[2])
        log_parts = log_share[:, np.newaxis] + _log_parts(y, mu, sigma, low, high)
        likelihood, belongs = _expected(weights, log_parts)
        share = np.maximum(belongs.sum(axis=1), LEAST_SHARE)
        mu, sigma = _moved(belongs @ y / share, belongs @ y**2 / share, mu, sigma, low, high)
        return likelihood, kept(np.stack([np.log(share), mu, np.log(sigma)]))

    def kept(at: Array) -> Array:
        return _kept(at, low, high, narrowest)

    log_share, mu, log_sigma = _accelerated(improved, kept, kept(_equal_shares(y, weights, parts)))
    order, share = np.argsort(mu), np.exp(log_share)
    sigma = np.exp(log_sigma)
    found = [TruncatedLogNormal(float(mu[k]), float(sigma[k]), given.shortest, given.longest) for k in order]
    return Mixture(tuple((share[order] / share.sum()).tolist()), tuple(found))


def _accelerated(improved: Callable[[Array], tuple[float, Array]], kept: Callable[[Array], Array], at: Array) -> Array:
    """Where rounds of `improved`, which also tells the likelihood that it started from, no longer gain.

    Two rounds show where the parameters are heading; a long step is taken there, and taken back where the likelihood
    is less for it (Varadhan and Roland, Scandinavian Journal of Statistics 35 (2008) 335-353, scheme S3).
    """
    before, one = improved(at)
    for _ in range(ROUNDS):
        _, two = improved(one)
        first, bend = one - at, (two - one) - (one - at)
        if not np.any(bend):
            return two
        stretch = max(float(np.linalg.norm(first) / np.linalg.norm(bend)), 1.0)
        ahead = kept(at + 2 * stretch * first + stretch**2 * bend)
        likelihood, following = improved(ahead)
        if not likelihood >= before:
            ahead = two
            likelihood, following = improved(two)
        if likelihood - before < SETTLED:
            return ahead
        before, at, one = likelihood, ahead, following
    return at


def _kept(at: Array, low: float, high: float, narrowest: float) -> Array:
    """Parameters of a mixture within their limits, none so far outside the range that it has no probability there."""
    most = at[0].max()
    log_share = at[0] - most - np.log(np.exp(at[0] - most).sum())
    log_sigma = np.clip(at[2], np.log(narrowest), np.log(SIGMA_LIMIT))
    mu = np.clip(at[1], low - FARTHEST * np.exp(log_sigma), high + FARTHEST * np.exp(log_sigma))
    return np.stack([log_share, np.clip(mu, -MU_LIMIT, MU_LIMIT), log_sigma])


def _binned(given: Sample) -> tuple[Array, Array]:
    """ln of lengths and their shares of requests, neighbours taken together where there are many."""
    if given.log_lengths.size <= BINS:
        return given.log_lengths, given.weights
    span = given.log_lengths[-1] - given.log_lengths[0]
    bins = np.minimum((given.log_lengths - given.log_lengths[0]) / span * BINS, BINS - 1).astype(np.intp)
    weights = np.bincount(bins, given.weights, BINS)
    y = np.bincount(bins, given.weights * given.log_lengths, BINS)
    held = weights > 0
    return y[held] / weights[held], weights[held]


def _equal_shares(y: Array, weights: Array, parts: int) -> Array:
    """ln of the share, mean, and ln of the deviation of as many equal parts of the record: shape (3, parts)."""
    rank = np.cumsum(weights) - weights / 2
    part = np.minimum((rank * parts).astype(int), parts - 1)
    share = np.bincount(part, weights, parts)
    mu = np.bincount(part, weights * y, parts) / share
    variance = np.bincount(part, weights * (y - mu[part]) ** 2, parts) / share
    return np.stack([np.log(share), mu, np.log(np.sqrt(np.maximum(variance, LEAST_VARIANCE)))])


def _log_parts(y: Array, mu: Array, sigma: Array, low: float, high: float) -> Array:
    """Logarithm of the density of each part, shape (parts, lengths)."""
    mass = log_normal_between((low - mu) / sigma, (high - mu) / sigma)
    height = -np.log(sigma * np.sqrt(2 * np.pi)) - mass
    log: Array = height[:, np.newaxis] - 0.5 * ((y - mu[:, np.newaxis]) / sigma[:, np.newaxis]) ** 2
    return log


def _expected(weights: Array, log_parts: Array) -> tuple[float, Array]:
    """Log-likelihood of a request, and how much of the requests at each length belongs to each part."""
    most = log_parts.max(axis=0)
    each = np.exp(log_parts - most)
    total = each.sum(axis=0)
    return float(weights @ (np.log(total) + most)), each * (weights / total)


def _moved(first: Array, second: Array, mu: Array, sigma: Array, low: float, high: float) -> tuple[Array, Array]:
    """Mean and deviation of each part, given the moments of what belongs to it, and what it hides outside the range."""
    a, b = (low - mu) / sigma, (high - mu) / sigma
    mass = np.exp(log_normal_between(a, b))
    at_a, at_b = (np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi) for z in (a, b))
    expected = mass * mu + sigma * (at_a - at_b)
    expected_square = mass * (mu**2 + sigma**2) + sigma * ((mu + low) * at_a - (mu + high) * at_b)
    mean = mu + mass * first - expected
    square = mu**2 + sigma**2 + mass * second - expected_square
    return mean, np.sqrt(np.maximum(square - mean**2, LEAST_VARIANCE))
