"""The thresholds and splits with which a fleet carries the most.

Decode fixes the split: at a rate Λ a PD cluster needs s_k·Λ of decode, and whatever whole instances are left prefill.
A higher rate brings more work and leaves fewer of them, so that whether a rate can be carried turns once; the rates at
which some N_p changes are bisected, and between two of them the splits stand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from planner.engine.curves import Array
from planner.engine.fleet import filling, sharing
from planner.engine.fleet.filling import separable, table
from planner.engine.fleet.limits import FleetLimit, evaluate
from planner.engine.fleet.parts import Fleet, FleetPd, Route
from planner.engine.search import Report

ROUNDING = 1e-12
"""By so much a rate that fills instances exactly may have been rounded up."""
NEARLY = 1e-6
"""A rate counts as carried where only so little is missing: its splits have been tried, and are not lost by it."""


def best(fleet: Fleet) -> FleetLimit:
    """The thresholds and free splits with the greatest Λ_max, in exact form.

    To the last digits where every route but the last of each PD cluster has its PrfaaS cluster and its link to
    itself; otherwise as near as `sharing` says. Among equals the fewest requests leave.
    """
    alive = replace(fleet, pd=tuple(replace(pd, routes=_alive(fleet, pd)) for pd in fleet.pd))
    tables = [table(alive, pd) for pd in alive.pd]
    solve = filling.thresholds if separable(alive) else sharing.thresholds

    def limit(splits: Sequence[float]) -> FleetLimit:
        cuts = solve(alive, tables, splits)
        whole = [_with_dead(fleet, pd, found) for pd, found in zip(fleet.pd, cuts, strict=True)]
        return evaluate(fleet, whole, splits)

    return _bisected(fleet, limit)


def best_of(fleet: Fleet, report: Report) -> FleetLimit:
    """The same as a job, which tells how far it is."""
    report(0, 1, "thresholds and splits of all clusters together")
    found = best(fleet)
    report(1, 1, f"Λ_max {found.lambda_max_rps:.4g} req/s")
    return found


def _bisected(fleet: Fleet, limit: Callable[[Sequence[float]], FleetLimit]) -> FleetLimit:
    """The best of all splits: the last of `changes` that is carried, and what the splits beyond it carry."""
    rates = changes(fleet)
    found: list[FleetLimit] = []

    def carried(place: int) -> bool:
        found.append(limit(splits(fleet, float(rates[place]))))
        return found[-1].lambda_max_rps >= float(rates[place]) * (1 - NEARLY)

    low, high = -1, rates.size - 1  # low is carried, high is not
    if carried(high):
        return found[-1]
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if carried(middle) else (low, middle)
    return max(found, key=lambda each: each.lambda_max_rps)


def changes(fleet: Fleet) -> Array:
    """Rates up to which some split suffices for decode, rising; beyond the last one none does."""
    each = [(pd.instances - _prefill_counts(pd)) * pd.decode.instance_rps / pd.share for pd in fleet.pd]
    rates = np.unique(np.concatenate(each))
    found: Array = rates[rates <= min(rates.max() for rates in each)]
    return found


def splits(fleet: Fleet, rate_rps: float) -> list[float]:
    """N_p of each PD cluster where decode carries the rate with as few instances as it can."""
    return [_prefill(pd, rate_rps) for pd in fleet.pd]


def _prefill(pd: FleetPd, rate_rps: float) -> float:
    if pd.prefill_instances is not None:
        return pd.prefill_instances
    decode = pd.share * rate_rps / pd.decode.instance_rps
    return max(float(np.floor(pd.instances - decode * (1 - ROUNDING))), 0.0)


def _prefill_counts(pd: FleetPd) -> Array:
    """The N_p that a cluster may have."""
    if pd.prefill_instances is not None:
        return np.array([pd.prefill_instances])
    return np.arange(np.floor(pd.instances) + 1.0)


def _alive(fleet: Fleet, pd: FleetPd) -> tuple[Route, ...]:
    """The routes that can carry anything: over a dead one nothing leaves."""
    up = {cluster.name for cluster in fleet.prfaas if cluster.instances > 0}
    links = {link.name for link in fleet.links if link.usable_bps > 0}
    return tuple(route for route in pd.routes if route.prfaas in up and route.link in links)


def _with_dead(fleet: Fleet, pd: FleetPd, thresholds: Array) -> list[float]:
    """Thresholds of the routes alive, completed so that nothing takes the dead ones."""
    alive, left = _alive(fleet, pd), list(thresholds)
    found: list[float] = []
    for route in pd.routes:
        found.append(float(left[0]) if left else pd.lengths.longest)
        if route in alive:
            left.pop(0)
    return found
