"""Λ_max along one axis at a time: what a planner sees while moving the threshold or the split."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.engine import search
from planner.engine.curves import Array
from planner.engine.deployment import Deployment
from planner.engine.lengths import LengthDistribution, equal_ratios
from planner.engine.throughput import Form, Stage, Work, egress, lambda_max, stage_rates, work

THRESHOLDS = 161
"""Points of a curve over t: more than a chart has pixels to show apart."""
REFINED = 1001
BINS = 60


@dataclass(frozen=True, slots=True)
class ThresholdSweep:
    """Rates in req/s at which each stage saturates, Λ_max, and egress in bit/s, over thresholds in tokens."""

    threshold_tokens: Array
    rates: dict[Stage, Array]
    lambda_max_rps: Array
    egress_bps: Array


@dataclass(frozen=True, slots=True)
class SplitSweep:
    """Λ_max in req/s over N_p/N_d: at the given t or share, and at the best t of each split.

    The latter is None without PrfaaS, and where a share of all requests goes there.
    """

    prefill_instances: Array
    decode_instances: Array
    lambda_max_rps: Array
    best_lambda_max_rps: Array | None
    best_threshold_tokens: Array | None


def thresholds(deployment: Deployment, form: Form) -> ThresholdSweep:
    """Over thresholds in equal ratios between the shortest and the longest request.

    Raises ValueError under a remote share, which has no threshold.
    """
    if deployment.remote_share is not None:
        raise ValueError("under a remote share there is no threshold to sweep over")
    t = equal_ratios(deployment.lengths.shortest, deployment.lengths.longest, THRESHOLDS)
    demand = work(deployment, t, form)
    rates = stage_rates(deployment, demand)
    most = lambda_max(rates)
    return ThresholdSweep(t, rates, most, egress(most, demand.link_bits))


def splits(deployment: Deployment, form: Form) -> SplitSweep:
    """Over every split of the PD cluster; the best t is interpolated on a grid, and evaluated there."""
    n_p = search.splits(deployment)
    n_d = deployment.pd.prefill_instances + deployment.pd.decode_instances - n_p
    given = work(deployment, np.array([deployment.threshold_tokens]), form)
    at_t = search.surface(deployment, given, n_p)[0]
    if deployment.prfaas is None or deployment.remote_share is not None:
        return SplitSweep(n_p, n_d, at_t, None, None)
    grid = search.threshold_grid(deployment.lengths, REFINED)
    demand = work(deployment, grid, form)
    values = search.surface(deployment, demand, n_p)
    top, every = values.argmax(axis=0), np.arange(n_p.size)
    t = _crossings(deployment, grid, demand, n_p)
    most = search.surface(deployment, work(deployment, t, form), n_p)[every, every]
    better = most > values[top, every]
    return SplitSweep(n_p, n_d, at_t, np.where(better, most, values[top, every]), np.where(better, t, grid[top]))


def _crossings(deployment: Deployment, grid: Array, demand: Work, n_p: Array) -> Array:
    """For each split, about the t at which the remote and the local side saturate together; 0 where they do not.

    Between two thresholds, what a request costs either side in seconds is nearly straight in ln t.
    """
    if grid.size < 3:  # a single length: there is nothing between two thresholds
        return np.zeros_like(n_p)
    rates = stage_rates(deployment, demand)
    with np.errstate(divide="ignore", invalid="ignore"):
        remote = (1.0 / np.minimum(rates[Stage.PRFAAS], rates[Stage.LINK]))[1:, np.newaxis]
        gap = remote - demand.pd_p_s[1:, np.newaxis] / n_p
    crosses = (gap[:-1] > 0) & (gap[1:] <= 0) & np.isfinite(gap[:-1]) & np.isfinite(gap[1:])
    at, every = crosses.argmax(axis=0), np.arange(n_p.size)
    found = crosses[at, every]
    before, after = np.where(found, gap[at, every], 0.0), np.where(found, gap[at + 1, every], -1.0)
    share = before / (before - after)
    ln_t = np.log(grid[1:])  # the first threshold is 0
    return np.where(found, np.exp(ln_t[at] + share * (ln_t[at + 1] - ln_t[at])), 0.0)


def histogram(lengths: LengthDistribution) -> tuple[Array, Array]:
    """Edges in tokens, in equal ratios, and the share of requests in each bin."""
    edges = equal_ratios(lengths.shortest, lengths.longest, BINS + 1)
    share = lengths.between(edges[:-1], edges[1:])
    share[0] += 1.0 - share.sum()  # the shortest request itself lies on the first edge
    return edges, share
