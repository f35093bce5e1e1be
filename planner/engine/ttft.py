"""Unloaded time to first token: T_prefill over the mix of lengths, with no queue and no visible transfer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.engine.curves import Array, Curve
from planner.engine.deployment import Deployment
from planner.engine.lengths import LengthDistribution

SECTIONS = 16
ROUNDS = 6  # 16⁻⁶ = 6e-8 of the whole range, and interpolation inside the last section


@dataclass(frozen=True, slots=True)
class Ttft:
    """Seconds to the first token: mean and percentiles over requests."""

    mean: float
    p50: float
    p90: float
    p99: float


@dataclass(frozen=True, slots=True)
class Route:
    """Requests with lower < L <= upper, and the prefill time that they meet."""

    t_prefill: Curve
    lower: float
    upper: float
    share: float = 1.0
    """Of the requests of these lengths, in [0, 1]."""


def routes(deployment: Deployment) -> list[Route]:
    """Where requests go: the longer ones remote, the others local, or a share of all; an empty route is left out."""
    lengths, (away_above, stay_upto) = deployment.lengths, deployment.cuts
    away, stay = deployment.shares
    found = []
    if deployment.prfaas and away_above < lengths.longest:
        found.append(Route(deployment.prfaas.t_prefill, away_above, np.inf, away))
    if stay_upto >= lengths.shortest:
        found.append(Route(deployment.pd.t_prefill, 0.0, stay_upto, stay))
    return found


ROUNDING = 1e-12
"""Shares of routes are sums: three requests of ten and six of ten are a shade less than nine."""


def percentiles(deployment: Deployment) -> tuple[float, float, float]:
    """P50, P90 and P99 of T_prefill over the length distribution, in seconds."""
    p50, p90, p99 = quantiles(deployment.lengths, routes(deployment), np.array([0.5, 0.9, 0.99]))
    return float(p50), float(p90), float(p99)


def share_within(lengths: LengthDistribution, ways: list[Route], seconds: Array) -> Array:
    """P(T_prefill <= x) for each of `seconds`, exact: the lengths that meet x are intervals."""
    share = np.zeros_like(seconds)
    for way in ways:
        lower, upper = way.t_prefill.sublevel(seconds)
        passed = lengths.between(np.maximum(lower, way.lower), np.minimum(upper, way.upper)).sum(axis=-1)
        share += way.share * passed
    return share


def quantiles(lengths: LengthDistribution, ways: list[Route], probabilities: Array) -> Array:
    """Least x with P(T_prefill <= x) >= q, for each q; the bracket is cut into sections again and again."""
    low, high = _range(lengths, ways)
    lower, upper = np.full_like(probabilities, low), np.full_like(probabilities, high)
    below, reached = np.zeros_like(probabilities), np.ones_like(probabilities)
    fraction = np.linspace(0.0, 1.0, SECTIONS + 1)
    rows = np.arange(probabilities.size)
    for _ in range(ROUNDS):
        cuts = lower[:, np.newaxis] + (upper - lower)[:, np.newaxis] * fraction
        share = share_within(lengths, ways, cuts)
        enough = share >= probabilities[:, np.newaxis] - ROUNDING
        enough[:, -1] = True
        first = np.maximum(np.argmax(enough, axis=1), 1)
        lower, upper = cuts[rows, first - 1], cuts[rows, first]
        below, reached = share[rows, first - 1], share[rows, first]
    inside = np.clip((probabilities - below) / np.maximum(reached - below, 1e-300), 0.0, 1.0)
    at: Array = lower + (upper - lower) * inside
    return at


def _range(lengths: LengthDistribution, ways: list[Route]) -> tuple[float, float]:
    """Seconds between which every prefill lies: a curve's extremes are at its kinks and the ends of its route."""
    values = []
    for way in ways:
        ends = np.array([max(way.lower, lengths.shortest), min(way.upper, lengths.longest)])
        kinks = way.t_prefill.kinks
        values.append(way.t_prefill(np.concatenate([ends, kinks[(kinks > ends[0]) & (kinks < ends[1])]])))
    every = np.concatenate(values)
    return float(every.min()), float(every.max())
