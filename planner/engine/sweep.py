"""Λ_max along one axis at a time: what a planner sees while moving the threshold or the split."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.engine import search
from planner.engine.curves import Array
from planner.engine.deployment import Deployment
from planner.engine.lengths import LengthDistribution
from planner.engine.throughput import Form, Stage, egress, lambda_max, stage_rates, work

THRESHOLDS = 241
"""Points of a curve over t: more than a chart has pixels to show apart."""
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
    """Λ_max in req/s over N_p/N_d: at the given t, and at the best t of each split (None without PrfaaS)."""

    prefill_instances: Array
    decode_instances: Array
    lambda_max_rps: Array
    best_lambda_max_rps: Array | None
    best_threshold_tokens: Array | None


def thresholds(deployment: Deployment, form: Form) -> ThresholdSweep:
    """Over thresholds in equal ratios between the shortest and the longest request."""
    t = np.geomspace(deployment.lengths.shortest, deployment.lengths.longest, THRESHOLDS)
    demand = work(deployment, t, form)
    rates = stage_rates(deployment, demand)
    most = lambda_max(rates)
    return ThresholdSweep(t, rates, most, egress(most, demand.link_bits))


def splits(deployment: Deployment, form: Form) -> SplitSweep:
    """Over every split of the PD cluster. The best t is read off the search's grid, without its last digits."""
    n_p = search.splits(deployment)
    given = work(deployment, np.array([deployment.threshold_tokens]), form)
    at_t = search.surface(deployment, given, n_p)[0]
    n_d = deployment.pd.prefill_instances + deployment.pd.decode_instances - n_p
    if deployment.prfaas is None:
        return SplitSweep(n_p, n_d, at_t, None, None)
    grid = search.threshold_grid(deployment.lengths)
    values = search.surface(deployment, work(deployment, grid, form), n_p)
    top = values.argmax(axis=0)
    return SplitSweep(n_p, n_d, at_t, values[top, np.arange(n_p.size)], grid[top])


def histogram(lengths: LengthDistribution) -> tuple[Array, Array]:
    """Edges in tokens, in equal ratios, and the share of requests in each bin."""
    edges = np.geomspace(lengths.shortest, lengths.longest, BINS + 1)
    share = lengths.between(edges[:-1], edges[1:])
    share[0] += 1.0 - share.sum()  # the shortest request itself lies on the first edge
    return edges, share
