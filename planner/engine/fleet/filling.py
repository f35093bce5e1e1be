"""The thresholds that carry the most for given splits, by filling one place after the other.

Raising a threshold moves requests from a route to the place before it. Let every route but the last of each PD cluster
have its PrfaaS cluster and its link to itself. Then at a given rate

- t_1 as high as PD-P can carry is best for all: if thresholds t_1 <= t_2 <= ... carry the rate and t* is the highest
  that PD-P carries, so do max(t_1, t*), max(t_2, t*), ...: every route then takes a part of what it took before;
- by the same argument t_2 is best as high as the first route can carry beyond t_1, and so on;
- what reaches the last routes is then the least possible for each PD cluster, whatever the others do. So where they
  share a PrfaaS cluster or a link, the sums are the least possible too, and the rate can be carried if these fit.

All work grows with the rate, so that the greatest rate is where the first sum no longer fits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from planner.engine.curves import Array, Curve
from planner.engine.fleet.limits import FleetStage, capacities, curves, work
from planner.engine.fleet.parts import Fleet, FleetPd, Route
from planner.engine.search import threshold_grid
from planner.engine.throughput import BITS_PER_BYTE, Stage

S_KV, LOCAL, REMOTE = 0, 1, 2
"""Rows of a table of work: S_kv, T_prefill of PD-P, T_prefill of the first route; the other routes follow."""
LEAST = 1e-9
"""Share of what decode can carry, below which a rate is not sought."""
XTOL, RTOL = 1e-300, 4 * float(np.finfo(float).eps)


@dataclass(frozen=True, slots=True)
class Table:
    """Work of a PD cluster's requests up to each length of a grid: `below` has the shape (curves, grid)."""

    pd: FleetPd
    curves: list[Curve]
    grid: Array
    below: Array

    def up_to(self, row: int, threshold: float) -> float:
        """E[f(L); L <= t] of one curve."""
        curve = self.curves[row]
        return float(self.pd.lengths.partial_expectations([curve], threshold, curve.kinks)[0][0])

    def highest(self, row: int, start: float, budget: float) -> float:
        """The greatest t with E[f(L); start < L <= t] within the budget, all per request of the PD cluster."""
        target = (self.up_to(row, start) if start > 0 else 0.0) + budget
        cell = int(np.searchsorted(self.below[row], target, side="right"))
        if cell == self.grid.size:
            return float(self.grid[-1])
        low, high = float(self.grid[cell - 1]), float(self.grid[cell])
        if self.pd.lengths.between(low, np.nextafter(high, 0.0)) == 0:
            return max(low, start)  # recorded lengths: no request lies between two of the grid
        return max(greatest(lambda t: self.up_to(row, t) - target, low, high), start)


def table(fleet: Fleet, pd: FleetPd) -> Table:
    """The work of a PD cluster on a grid of thresholds."""
    quantities, grid = curves(fleet, pd), threshold_grid(pd.lengths)
    kinks = np.concatenate([curve.kinks for curve in quantities])
    return Table(pd, quantities, grid, pd.lengths.partial_expectations(quantities, grid, kinks)[0])


def greatest(excess: Callable[[float], float], low: float, high: float) -> float:
    """The greatest x between low and high with excess(x) <= 0, to the last digits; excess never falls, but may jump.

    low itself where there is none.
    """
    if excess(high) <= 0:
        return high
    if excess(low) >= 0:
        return low
    root: float = brentq(excess, low, high, xtol=XTOL, rtol=RTOL)
    return root if excess(root) <= 0 else max(low, root - 4 * (XTOL + RTOL * root))


def resources(route: Route) -> tuple[FleetStage, FleetStage]:
    """The two stages that a route passes."""
    return (Stage.PRFAAS, route.prfaas), (Stage.LINK, route.link)


def separable(fleet: Fleet) -> bool:
    """Whether every route but the last of each PD cluster has its PrfaaS cluster and its link to itself."""
    uses = Counter(stage for pd in fleet.pd for route in pd.routes for stage in resources(route))
    return all(uses[stage] == 1 for pd in fleet.pd for route in pd.routes[:-1] for stage in resources(route))


def fill(fleet: Fleet, tables: Sequence[Table], prefill_instances: Sequence[float], rate_rps: float) -> list[Array]:
    """Thresholds at a rate, each as high as the place before it can carry."""
    has = capacities(fleet, prefill_instances)
    return [_filled(at, has, at.pd.share * rate_rps) for at in tables]


def _filled(at: Table, has: dict[FleetStage, float], rate_rps: float) -> Array:
    if not at.pd.routes:
        return np.empty(0)
    found = [at.highest(LOCAL, 0.0, has[Stage.PD_P, at.pd.name] / rate_rps)]
    for place, route in enumerate(at.pd.routes[:-1]):
        prfaas, link = resources(route)
        chips = at.highest(REMOTE + place, found[-1], has[prfaas] / rate_rps)
        found.append(min(chips, at.highest(S_KV, found[-1], has[link] / BITS_PER_BYTE / rate_rps)))
    return np.array(found)


def thresholds(fleet: Fleet, tables: Sequence[Table], prefill_instances: Sequence[float]) -> list[Array]:
    """The thresholds that carry the most with given splits; of a fleet that is `separable`.

    Among equals the fewest requests leave, and the fewest take the later routes.
    """
    has = capacities(fleet, prefill_instances)
    last = {stage for pd in fleet.pd for route in pd.routes[-1:] for stage in resources(route)}
    last |= {(Stage.PD_P, pd.name) for pd in fleet.pd if not pd.routes}
    top = decode_limit(fleet, prefill_instances)

    def excess(rate_rps: float) -> float:
        demand = work(fleet, fill(fleet, tables, prefill_instances, rate_rps))
        return max(_excess(rate_rps * demand[stage], has[stage]) for stage in last)

    return fill(fleet, tables, prefill_instances, greatest(excess, LEAST * top, top) if top > 0 else 1.0)


def decode_limit(fleet: Fleet, prefill_instances: Sequence[float]) -> float:
    """The rate at which the first PD-D stage saturates, in req/s of the fleet."""
    has = capacities(fleet, prefill_instances)
    return min(has[Stage.PD_D, pd.name] / pd.share for pd in fleet.pd)


def _excess(load: float, capacity: float) -> float:
    """By how much a load exceeds a capacity, in [-1, 1] of both together, so that neither nothing nor infinity jars."""
    if load == 0 or capacity == np.inf:
        return -1.0
    return (load - capacity) / (load + capacity)
