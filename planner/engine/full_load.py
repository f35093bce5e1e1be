"""The deployment that carries the most for a budget which pays for all that it can carry.

`equal_cost` takes money that is paid for each byte as a bound on the traffic: such a deployment carries less than its
machines could. Here nobody holds the traffic back, so that a deployment has to be paid for at the Λ_max of its whole
link. No purchase of this kind carries more than `equal_cost.best` says, and mostly one comes as near as numbers go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from planner.engine import equal_cost
from planner.engine.curves import Array
from planner.engine.deployment import Deployment
from planner.engine.least_cost import Bought, cheapest
from planner.engine.options import ROUNDING, Loads, Space, loads
from planner.engine.throughput import evaluate, lambda_max, stage_rates, work

NEAR = np.geomspace(1e-13, 1.0, 400)
"""How far from a threshold others are tried, as shares of the way to the longest request."""


def best(space: Space, budget_usd_per_h: float, grid: Loads | None = None) -> Bought | None:
    """The purchase that carries the most of those that cost no more than the budget at their own Λ_max; None if none.

    `space` has one option of each kind; `grid` as for `equal_cost.best`. Where money for each byte is what binds, the
    counts are those of `equal_cost.best` and the threshold is moved until they are paid for, or there are fewer
    instances at its threshold, whichever carries more: with one threshold no purchase carries more; with several of
    few recorded lengths another might.
    """
    found = equal_cost.best(space, budget_usd_per_h, grid)
    if found is None or is_paid(space, found.bought, budget_usd_per_h):
        return found.bought if found else None
    at_threshold = loads(space, np.array([found.bought.threshold_tokens]))
    fitting = [_fewer(space, at_threshold, found.limit.lambda_max_rps)]
    if grid is None or grid.thresholds.size > 1:
        tried = (grid or loads(space)).thresholds
        fitting.append(_moved(space, found.bought, budget_usd_per_h, tried))
    paid = [bought for bought in fitting if bought and is_paid(space, bought, budget_usd_per_h)]
    return max(paid, key=lambda bought: _rate(space, bought), default=None)


def is_paid(space: Space, bought: Bought, budget_usd_per_h: float) -> bool:
    """Whether a budget pays for all that a purchase carries with its whole link."""
    egress_bps = evaluate(_whole(space, bought), space.form).egress_bps
    return equal_cost.cost(space, bought, egress_bps).usd_per_h <= budget_usd_per_h * (1 + ROUNDING)


def _rate(space: Space, bought: Bought) -> float:
    return evaluate(_whole(space, bought), space.form).lambda_max_rps


def _whole(space: Space, bought: Bought) -> Deployment:
    return equal_cost.deployment(space, bought)


def _fewer(space: Space, at: Loads, most_rps: float) -> Bought | None:
    """The cheapest purchase at a threshold that carries the greatest rate up to `most_rps` at which some stage is
    full: any purchase there has such a rate as its Λ_max, and a lower rate costs no more."""
    full = max(_full_rates(space, at, most_rps), default=0.0)
    found = cheapest(space, at, full) if full > 0 else None
    return found.bought if found else None


def _full_rates(space: Space, at: Loads, most_rps: float) -> Iterator[float]:
    """Of each stage the greatest rate up to `most_rps` that fills whole instances, or the link."""
    work_s = [float(at.prfaas_s[0, 0]) if space.prfaas else 0.0, float(at.pd_p_s[0, 0])]
    for each_s in (*work_s, 1 / space.pd[0].decode.instance_rps):
        if each_s > 0:
            count = np.floor(most_rps * each_s / space.reserve.utilisation * (1 + ROUNDING))
            yield float(space.reserve.capacity(count + space.reserve.spare) / each_s)
    for link in space.links:
        limit_rps = space.link_bps(link) / float(at.link_bits[0]) if at.link_bits[0] > 0 else np.inf
        if limit_rps <= most_rps:
            yield limit_rps


def _moved(space: Space, bought: Bought, budget_usd_per_h: float, thresholds: Array) -> Bought | None:
    """The same instances at the threshold that carries the most of those at which the budget pays for it."""
    here = bought.threshold_tokens
    beyond = here + NEAR * (space.lengths.longest - here)
    tried = np.unique(np.concatenate([thresholds, beyond]))
    whole = _whole(space, bought)
    demand = work(whole, tried, space.form)
    rates = lambda_max(stage_rates(whole, demand))
    fixed = equal_cost.cost(space, bought, 0.0).usd_per_h
    rate = space.links[bought.link or 0].rate
    paid = rates * demand.link_bits <= rate.bits_per_s(budget_usd_per_h - fixed)
    # where nothing leaves there is no PrfaaS to speak of, and its instances would be for nothing
    kept = np.flatnonzero(paid & (demand.link_bits > 0))
    if not kept.size:
        return None
    return replace(bought, threshold_tokens=float(tried[kept[rates[kept].argmax()]]))
