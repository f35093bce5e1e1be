"""Distributions fitted to recorded lengths by maximum likelihood, and how far each is from the record.

Lengths come with counts, so that twenty million requests cost no more than their distinct lengths. Likelihoods are of
the density of a length in tokens; every family is truncated to the same range, by default that of the record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq, minimize
from scipy.special import digamma, gammaln

from planner.engine.curves import Array
from planner.engine.lengths import (
    Empirical,
    LengthDistribution,
    Mixture,
    TruncatedGamma,
    TruncatedLogNormal,
    TruncatedPareto,
)
from planner.engine.lengths.correlated import log_normal_between
from planner.engine.lengths.empirical import Counts

LARGE_KS = 0.05
BINS = 1024
"""Lengths that a mixture is fitted to at most; of more distinct ones, neighbours are taken together."""
NARROWEST = 0.02
"""Least sigma of a mixture's part: one length that many requests share would otherwise draw a part onto itself."""
LEAST_SHARE = 1e-12
"""Of a part that has lost its requests."""
ROUNDS = 300
SETTLED = 1e-10
"""Gain of log-likelihood, a request, at which a mixture counts as found."""
PER_PART = 10
"""Distinct lengths that a mixture needs for each of its parts."""
MU_LIMIT, SIGMA_LIMIT = 50.0, 20.0
LEAST_LOG_MASS = -660.0
"""ln of the probability of the range that a distribution can still be told by."""
IMPOSSIBLE = 1e300
SHAPES = (0.01, 10_000.0)
ALPHAS = (1e-3, 1000.0)


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
class Candidate:
    """A family at its most likely parameters, in the form that documents have them."""

    parameters: dict[str, Any]
    distribution: Fitted
    free_parameters: int
    log_likelihood: float
    aic: float
    bic: float
    ks_distance: float

    @property
    def warning(self) -> str | None:
        """What to do where no number of this distribution should be trusted."""
        if self.ks_distance <= LARGE_KS:
            return None
        share = f"{self.ks_distance:.1%}"
        return f"up to {share} of requests lie on the wrong side of some length: keep the empirical lengths"


@dataclass(frozen=True, slots=True)
class QuantilePairs:
    """Lengths in tokens that the same shares of requests do not exceed, recorded and fitted."""

    probability: Array
    recorded: Array
    fitted: Array


def report(
    lengths: ArrayLike, counts: Counts | None = None, bounds: tuple[float, float] | None = None
) -> list[Candidate]:
    """Every family that the record allows, fitted, the best by BIC first.

    Left out are a Pareto where lengths do not thin out from the shortest on, and mixtures of few distinct lengths.
    Raises ValueError as `sample`.
    """
    given = sample(lengths, counts, bounds)
    return sorted((candidate(given, fitted) for fitted in _fits(given)), key=lambda found: found.bic)


def _fits(given: Sample) -> Iterator[Fitted]:
    yield log_normal(given)
    yield gamma(given)
    power = pareto(given)
    if power:
        yield power
    distinct = 1 + np.count_nonzero(np.diff(given.record.samples))
    for parts in (2, 3):
        if distinct >= PER_PART * parts:
            yield mixture(given, parts)


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


def candidate(given: Sample, fitted: Fitted) -> Candidate:
    """A fit with its likelihood, information criteria and KS distance."""
    parameters = document(fitted)
    free = free_parameters(fitted)
    likelihood = log_likelihood(fitted, given)
    return Candidate(
        parameters=parameters,
        distribution=fitted,
        free_parameters=free,
        log_likelihood=likelihood,
        aic=2 * free - 2 * likelihood,
        bic=free * float(np.log(given.record.total)) - 2 * likelihood,
        ks_distance=ks_distance(fitted, given.record.samples, given.record.requests),
    )


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


# --- families ----------------------------------------------------------------------------------------------------


def log_normal(given: Sample) -> TruncatedLogNormal:
    """The truncated log-normal of greatest likelihood; it depends on the mean and variance of ln L alone."""
    centre = given.mean(given.log_lengths)
    spread = np.sqrt(given.mean((given.log_lengths - centre) ** 2))
    low, high = (np.log(given.shortest) - centre) / spread, (np.log(given.longest) - centre) / spread

    def loss(at: Array) -> float:
        # In natural parameters, m/s² and ln 1/s², the likelihood has a single top. The record's scores have mean 0
        # and mean square 1 by standardisation.
        s = np.exp(-at[1] / 2)
        m = at[0] * s**2
        mass = float(log_normal_between((low - m) / s, (high - m) / s))
        if abs(centre + spread * m) > MU_LIMIT or mass < LEAST_LOG_MASS:
            return IMPOSSIBLE
        return float(0.5 * (1 + m**2) / s**2 + np.log(s) + mass)

    found = _least(loss, [0.0, 0.0], [(None, None), (2 * np.log(spread / SIGMA_LIMIT), 20.0)])
    s = np.exp(-found[1] / 2)
    mu, sigma = centre + spread * found[0] * s**2, spread * s
    return TruncatedLogNormal(float(mu), float(sigma), given.shortest, given.longest)


def gamma(given: Sample) -> TruncatedGamma:
    """The truncated gamma of greatest likelihood; it depends on the means of L and ln L alone."""
    centre = given.mean(given.record.samples)
    log_mean = given.mean(given.log_lengths)

    def made(at: Array) -> TruncatedGamma:
        return TruncatedGamma(float(np.exp(at[0])), float(np.exp(at[1])), given.shortest, given.longest)

    def loss(at: Array) -> float:
        try:
            found = made(at)
        except ValueError:  # no probability within the range
            return IMPOSSIBLE
        shape, scale = found.shape, found.scale
        mean_log = shape * (log_mean - np.log(scale)) - centre / scale - gammaln(shape) - np.log(found.mass)
        return -float(mean_log)

    start = _gamma_shape(float(np.log(centre) - log_mean))
    return made(_least(loss, [np.log(start), np.log(centre / start)], [tuple(np.log(SHAPES)), (-20.0, 40.0)]))


def _gamma_shape(gap: float) -> float:
    """The shape k of an untruncated gamma with ln k - digamma(k) = gap, where gap is ln of the mean less mean of ln."""

    def excess(log_shape: float) -> float:
        return log_shape - float(digamma(np.exp(log_shape))) - gap

    low, high = np.log(SHAPES)
    if excess(low) <= 0 or excess(high) >= 0:
        return SHAPES[0] if excess(low) <= 0 else SHAPES[1]
    return float(np.exp(brentq(excess, low, high)))


def pareto(given: Sample) -> TruncatedPareto | None:
    """The truncated Pareto of greatest likelihood; None where lengths do not thin out from the shortest on.

    Aban, Meerschaert and Panorska, Parameter estimation for the truncated Pareto distribution, JASA 101 (2006)
    270-277: the mean of ln(L/min) under alpha equals the recorded one.
    """
    span = float(np.log(given.longest / given.shortest))
    above = given.mean(given.log_lengths) - float(np.log(given.shortest))

    def excess(alpha: float) -> float:
        return 1 / alpha - span / float(np.expm1(alpha * span)) - above if alpha * span < 700 else 1 / alpha - above

    low, high = ALPHAS
    if excess(low) <= 0:
        return None
    alpha = high if excess(high) >= 0 else brentq(excess, low, high, xtol=1e-12)
    return TruncatedPareto(float(alpha), given.shortest, given.longest)


def mixture(given: Sample, parts: int) -> Mixture:
    """A mixture of truncated log-normals by expectation-maximisation from equal shares of the record, shortest first.

    Each round also counts the lengths that truncation has hidden, as a part expects them at its present parameters
    (Lee and Scott, EM algorithms for multivariate Gaussian mixture models with truncated and censored data,
    Computational Statistics & Data Analysis 56 (2012) 2816-2829), so that the likelihood never falls.
    """
    y, weights = _binned(given)
    low, high = np.log(given.shortest), np.log(given.longest)

    def improved(at: Array) -> tuple[float, Array]:
        log_share, mu, sigma = at[0], at[1], np.exp(at[2])
        log_parts = log_share[:, np.newaxis] + _log_parts(y, mu, sigma, low, high)
        likelihood, belongs = _expected(weights, log_parts)
        share = np.maximum(belongs.sum(axis=1), LEAST_SHARE)
        mu, sigma = _moved(belongs @ y / share, belongs @ y**2 / share, mu, sigma, low, high)
        return likelihood, np.stack([np.log(share / share.sum()), mu, np.log(sigma)])

    log_share, mu, log_sigma = _accelerated(improved, _equal_shares(y, weights, parts))
    order, share = np.argsort(mu), np.exp(log_share)
    sigma = np.exp(log_sigma)
    found = [TruncatedLogNormal(float(mu[k]), float(sigma[k]), given.shortest, given.longest) for k in order]
    return Mixture(tuple((share[order] / share.sum()).tolist()), tuple(found))


def _accelerated(improved: Callable[[Array], tuple[float, Array]], at: Array) -> Array:
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
        ahead = _kept(at + 2 * stretch * first + stretch**2 * bend)
        likelihood, following = improved(ahead)
        if not likelihood >= before:
            ahead = two
            likelihood, following = improved(two)
        if likelihood - before < SETTLED:
            return ahead
        before, at, one = likelihood, ahead, following
    return at


def _kept(at: Array) -> Array:
    """Parameters of a mixture within their limits."""
    log_share = at[0] - np.log(np.exp(at[0] - at[0].max()).sum()) - at[0].max()
    sigma = np.clip(at[2], np.log(NARROWEST), np.log(SIGMA_LIMIT))
    return np.stack([log_share, np.clip(at[1], -MU_LIMIT, MU_LIMIT), sigma])


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
    return np.stack([np.log(share), mu, np.log(np.maximum(np.sqrt(variance), NARROWEST))])


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
    deviation = np.sqrt(np.maximum(square - mean**2, NARROWEST**2))
    return np.clip(mean, -MU_LIMIT, MU_LIMIT), np.minimum(deviation, SIGMA_LIMIT)


def _least(loss: Callable[[Array], float], start: list[float], bounds: list[tuple[Any, Any]]) -> Array:
    """Where the loss is least: a simplex from the start, and another one from where it ended."""
    at = np.array(start)
    for _ in range(2):
        options = {"xatol": 1e-10, "fatol": 1e-13, "maxiter": 2000, "maxfev": 4000}
        at = minimize(loss, at, method="Nelder-Mead", bounds=bounds, options=options).x
    return at


# --- as documents have them --------------------------------------------------------------------------------------


def document(fitted: Fitted) -> dict[str, Any]:
    """The parameters as a document of `input_tokens` has them."""
    match fitted:
        case TruncatedLogNormal(mu=mu, sigma=sigma):
            own: dict[str, Any] = {"distribution": "truncated_log_normal", "mu": mu, "sigma": sigma}
        case TruncatedGamma(shape=shape, scale=scale):
            own = {"distribution": "gamma", "shape": shape, "scale": scale}
        case TruncatedPareto(alpha=alpha):
            own = {"distribution": "pareto", "alpha": alpha}
        case Mixture(weights=weights, parts=parts):
            components = [{**document(part), "weight": weight} for part, weight in zip(parts, weights, strict=True)]
            return {"distribution": "mixture", "components": components}
        case _:
            raise TypeError(f"{type(fitted).__name__} is no family that is fitted")
    return {**own, "min": fitted.shortest, "max": fitted.longest}


def free_parameters(fitted: Fitted) -> int:
    """Parameters that were fitted; the bounds are not among them."""
    match fitted:
        case TruncatedPareto():
            return 1
        case Mixture(parts=parts):
            return sum(free_parameters(part) + 1 for part in parts) - 1
        case _:
            return 2
