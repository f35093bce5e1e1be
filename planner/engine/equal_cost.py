"""The deployment that carries the most for a budget.

The least cost of carrying Λ never falls with Λ. So the greatest Λ that a budget pays for is found by halving, with one
search of `least_cost` a step, and the purchase found there says its own limit to the last digit. Money that is paid
for each byte bounds the traffic across the link as its bandwidth does, so that it needs no search of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from planner.engine import search
from planner.engine.cost import Cost, volume_usd_per_h
from planner.engine.critical import critical
from planner.engine.deployment import Deployment, Link, PdCluster, PrfaasCluster
from planner.engine.least_cost import Bought, Priced, cheapest
from planner.engine.options import ROUNDING, Loads, Space, loads
from planner.engine.throughput import Throughput, evaluate, rate

CLOSE = 1e-9
"""Relative difference below which two rates count as equal."""
GRID = search.GRID
FIRST_RPS, MOST_RPS = 1e-3, 1e15
HALVINGS = 50


@dataclass(frozen=True, slots=True)
class EqualCost:
    """The purchase that carries the most for a budget, and its limit there.

    `bound_rps` is what fractions of instances would carry: no purchase carries more. `combinations` counts the
    deployments that were compared: chips, links, counts, splits and thresholds, each with each; `tried` how many
    prices of a chip or link at a threshold it took.
    """

    bought: Bought
    limit: Throughput
    cost: Cost
    bound_rps: float
    combinations: int
    tried: int


@dataclass(slots=True)
class Tally:
    """Counts the prices that were worked out."""

    tried: int = 0

    def cheapest(self, space: Space, grid: Loads, rate_rps: float, whole: bool = True) -> Priced | None:
        """See `least_cost.cheapest`."""
        self.tried += grid.thresholds.size * (len(space.prfaas) + len(space.links) + len(space.pd))
        return cheapest(space, grid, rate_rps, whole)


def best(space: Space, budget_usd_per_h: float, grid: Loads | None = None) -> EqualCost | None:
    """The purchase with the greatest Λ_max among those that cost no more than the budget there; None if none does.

    Whole instances and every threshold, or those of a `grid`: one threshold is kept, of several that some requests
    pass a purchase always has PrfaaS. Among equal Λ_max the cheapest.
    """
    grid, tally = grid or loads(space), Tally()
    found = list(_rising(space, grid, budget_usd_per_h, tally))
    if not found:
        return None
    bought, limit = found[-1]
    fractions = dearest(space, grid, budget_usd_per_h, whole=False, tally=tally)
    return EqualCost(
        bought=bought,
        limit=limit,
        cost=cost(space, bought, limit.egress_bps),
        bound_rps=max(fractions[0] if fractions else 0.0, limit.lambda_max_rps),
        combinations=space.combinations(grid.thresholds.size),
        tried=tally.tried,
    )


def dearest(
    space: Space, grid: Loads, budget_usd_per_h: float, whole: bool, tally: Tally | None = None
) -> tuple[float, Priced] | None:
    """The greatest rate on a grid of thresholds that the budget pays for, and its cheapest purchase; None if none."""

    counting = tally or Tally()

    def affordable(rate_rps: float) -> Priced | None:
        found = counting.cheapest(space, grid, rate_rps, whole)
        return found if found and found.usd_per_h <= budget_usd_per_h * (1 + ROUNDING) else None

    low, high, found = 0.0, FIRST_RPS, None
    while high < MOST_RPS and (next_ := affordable(high)):
        low, high, found = high, 2 * high, next_
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if next_ := affordable(middle):
            low, found = middle, next_
        else:
            high = middle
        if high - low <= CLOSE * high:
            break
    return (low, found) if found else None


def _rising(space: Space, grid: Loads, budget_usd_per_h: float, tally: Tally) -> Iterator[tuple[Bought, Throughput]]:
    """Purchases that carry more and more: from the grid's own to one that no other threshold and count surpasses."""
    found = dearest(space, grid, budget_usd_per_h, whole=True, tally=tally)
    priced, reached = (found[1] if found else None), 0.0
    while priced and priced.usd_per_h <= budget_usd_per_h * (1 + ROUNDING):
        bought, limit = at_its_limit(space, priced.bought, budget_usd_per_h, free=grid.thresholds.size > 1)
        if limit.lambda_max_rps <= reached:
            return  # what rounding left of the budget pays for no traffic
        yield bought, limit
        reached = limit.lambda_max_rps
        rate_rps = reached * (1 + CLOSE)
        priced = tally.cheapest(space, loads(space, critical(space, grid, rate_rps)), rate_rps)


def at_its_limit(space: Space, bought: Bought, budget_usd_per_h: float, free: bool = True) -> tuple[Bought, Throughput]:
    """The purchase at the threshold that carries the most, or at its own, and what it carries there; counts stay."""
    deployed = deployment(space, bought, budget_usd_per_h)
    asked = search.Problem(deployed, space.form, free_threshold=free and bought.prfaas is not None, free_split=False)
    threshold = search.best(asked).threshold_tokens
    return replace(bought, threshold_tokens=threshold), evaluate(
        replace(deployed, threshold_tokens=threshold), space.form
    )


def at_best_split(space: Space, bought: Bought, budget_usd_per_h: float = float("inf")) -> tuple[Bought, Throughput]:
    """The purchase at the split and the threshold that carry the most; PD instances change roles, none is added."""
    grid, pd = loads(space), space.pd[bought.pd]
    deployed = deployment(space, bought, budget_usd_per_h)
    remote = np.where(grid.link_bits > 0, 0.0, np.inf)
    if bought.prfaas is not None and deployed.prfaas and deployed.link:
        remote = np.minimum(
            rate(deployed.prfaas.instances, grid.prfaas_s[bought.prfaas]),
            rate(deployed.link.usable_bps, grid.link_bits),
        )
    total = bought.prefill_instances + bought.decode_instances
    n_p = np.arange(np.floor(total) + 1)
    capacity = np.vectorize(space.reserve.capacity, otypes=[float])
    local = rate(capacity(n_p)[:, np.newaxis], grid.pd_p_s[bought.pd])
    decode = capacity(total - n_p) * pd.decode.instance_rps
    best_split = int(np.minimum(np.minimum(local, remote).max(axis=1), decode).argmax())
    n_p_best = float(n_p[best_split])
    return at_its_limit(
        space, replace(bought, prefill_instances=n_p_best, decode_instances=total - n_p_best), budget_usd_per_h
    )


def deployment(space: Space, bought: Bought, budget_usd_per_h: float = float("inf")) -> Deployment:
    """A purchase as it is planned for: less what is kept in reserve, with the traffic that the budget pays for."""
    pd, capacity = space.pd[bought.pd], space.reserve.capacity
    cluster = PdCluster(capacity(bought.prefill_instances), capacity(bought.decode_instances), pd.t_prefill)
    prfaas = link = None
    if bought.prfaas is not None and bought.link is not None:
        option = space.links[bought.link]
        kind = space.prfaas[bought.prfaas]
        prfaas = PrfaasCluster(capacity(bought.prfaas_instances), kind.t_prefill, kind.egress_bps)
        left = budget_usd_per_h - cost(space, bought, 0.0).usd_per_h
        link = Link(min(space.link_bps(option), option.rate.bits_per_s(left)))
    return Deployment(space.lengths, space.s_kv, prfaas, link, cluster, pd.decode, bought.threshold_tokens)


def cost(space: Space, bought: Bought, egress_bps: float) -> Cost:
    """What a purchase costs an hour with so much traffic across its link."""
    pd = space.pd[bought.pd].usd_per_h
    rate = None if bought.link is None else space.links[bought.link].rate
    return Cost(
        prfaas=0.0 if bought.prfaas is None else bought.prfaas_instances * space.prfaas[bought.prfaas].usd_per_h,
        prefill=bought.prefill_instances * pd,
        decode=bought.decode_instances * pd,
        link_time=rate.usd_per_h if rate else 0.0,
        link_volume=float(volume_usd_per_h(rate, egress_bps)) if rate else 0.0,
    )
