"""The families that sums over the record determine: log-normal, gamma, Pareto."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import digamma, gammaln

from planner.engine.curves import Array
from planner.engine.fitting.record import Sample
from planner.engine.lengths import TruncatedGamma, TruncatedLogNormal, TruncatedPareto
from planner.engine.lengths.correlated import log_normal_between

MU_LIMIT, SIGMA_LIMIT = 50.0, 20.0
LEAST_LOG_MASS = -660.0
"""ln of the probability of the range that a distribution can still be told by."""
IMPOSSIBLE = 1e300
SHAPES = (0.01, 10_000.0)
ALPHAS = (1e-3, 1000.0)


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


def _least(loss: Callable[[Array], float], start: list[float], bounds: list[tuple[Any, Any]]) -> Array:
    """Where the loss is least: a simplex from the start, and another one from where it ended."""
    at = np.array(start)
    for _ in range(2):
        options = {"xatol": 1e-10, "fatol": 1e-13, "maxiter": 2000, "maxfev": 4000}
        at = minimize(loss, at, method="Nelder-Mead", bounds=bounds, options=options).x
    return at
