"""What can be chosen beside counts: a threshold, chips and a link; and the fewest instances that each needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from planner.engine.cost import volume_usd_per_h
from planner.engine.curves import Array
from planner.engine.deployment import Deployment, Link, PdCluster, PrfaasCluster
from planner.engine.least_cost import Bought
from planner.engine.options import Loads, Space

type Counts = tuple[int, int, int]
"""N_prfaas, N_p, N_d."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A threshold with chips and a link; `fewest` is stable, and what it costs is the least that the choice costs."""

    bought: Bought
    fewest: Counts
    most: tuple[int, int]
    """Of PrfaaS instances, and of PD instances altogether."""
    usd: tuple[float, float]
    """An instance an hour: PrfaaS, PD."""
    link_usd: float

    def cost(self, counts: Counts) -> float:
        """USD an hour with so many instances."""
        return counts[0] * self.usd[0] + (counts[1] + counts[2]) * self.usd[1] + self.link_usd

    def allows(self, counts: Counts) -> bool:
        """Whether there are as many."""
        return counts[0] <= self.most[0] and counts[1] + counts[2] <= self.most[1]

    def bought_with(self, counts: Counts) -> Bought:
        """The purchase of so many instances."""
        chosen = self.bought
        n_prfaas, n_p, n_d = (float(count) for count in counts)
        return Bought(chosen.prfaas, chosen.link, chosen.pd, n_prfaas, n_p, n_d, chosen.threshold_tokens)

    @property
    def roles(self) -> list[int]:
        """Places in the counts of the roles that some request passes."""
        return [role for role in range(3) if self.fewest[role] > 0]


def choices(space: Space, grid: Loads, rate_rps: float) -> list[Choice]:
    """All that carry the rate with the instances that there are, the cheapest first."""
    possible = (_choice(space, grid, rate_rps, at, bought) for at, bought in kinds(space, grid, rate_rps))
    found = [choice for choice in possible if choice.allows(choice.fewest)]
    return sorted(found, key=lambda choice: choice.cost(choice.fewest))


def kinds(space: Space, grid: Loads, rate_rps: float) -> Iterator[tuple[int, Bought]]:
    """Every threshold, by its place, with every chip, and every link that carries what crosses it; without counts."""
    for at, threshold in enumerate(grid.thresholds):
        bits = rate_rps * grid.link_bits[at]
        for pd in range(len(space.pd)):
            if not bits:
                yield at, Bought(None, None, pd, 0, 0, 0, np.inf)
                continue
            wide = [place for place, link in enumerate(space.links) if space.link_bps(link) > bits]
            for remote, link in product(range(len(space.prfaas)), wide):
                yield at, Bought(remote, link, pd, 0, 0, 0, float(threshold))


def _choice(space: Space, grid: Loads, rate_rps: float, at: int, bought: Bought) -> Choice:
    pd = space.pd[bought.pd]
    busy = [0.0, rate_rps * grid.pd_p_s[bought.pd, at], rate_rps / pd.decode.instance_rps]
    most, usd, link_usd = (0, pd.most), (0.0, pd.usd_per_h), 0.0
    if bought.prfaas is not None and bought.link is not None:
        prfaas, link = space.prfaas[bought.prfaas], space.links[bought.link]
        busy[0] = rate_rps * grid.prfaas_s[bought.prfaas, at]
        most, usd = (prfaas.most, pd.most), (prfaas.usd_per_h, pd.usd_per_h)
        link_usd = link.rate.usd_per_h + float(volume_usd_per_h(link.rate, rate_rps * grid.link_bits[at]))
    n_prfaas, n_p, n_d = (_fewest(space, each) for each in busy)
    return Choice(bought, (n_prfaas, n_p, n_d), most, usd, link_usd)


def _fewest(space: Space, busy: float) -> int:
    """Instances with which a stage is planned to stay below its capacity."""
    if busy <= 0:
        return 0
    planned = int(space.reserve.instances(np.array(busy), whole=True))
    return max(planned, int(np.floor(busy)) + 1 + space.reserve.spare)


def without_counts(space: Space, bought: Bought) -> Deployment:
    """A purchase of no instances: what TTFT depends on beside them."""
    pd = space.pd[bought.pd]
    prfaas = link = None
    if bought.prfaas is not None and bought.link is not None:
        kind = space.prfaas[bought.prfaas]
        prfaas = PrfaasCluster(0.0, kind.t_prefill, kind.egress_bps)
        link = Link(space.link_bps(space.links[bought.link]))
    cluster = PdCluster(0.0, 0.0, pd.t_prefill)
    return Deployment(space.lengths, space.s_kv, prfaas, link, cluster, pd.decode, bought.threshold_tokens)


def at_no_more_cost(space: Space, grid: Loads, rate_rps: float, bought: Bought) -> Array:
    """The thresholds of a grid at which a purchase with PrfaaS carries the rate and costs no more than at its own."""
    if bought.prfaas is None or bought.link is None:
        return np.array([])
    link = space.links[bought.link]
    busy = rate_rps * np.vstack([grid.prfaas_s[bought.prfaas], grid.pd_p_s[bought.pd]])
    needed = space.reserve.instances(busy, whole=True)
    fits = (needed[0] <= bought.prfaas_instances) & (needed[1] <= bought.prefill_instances)
    bits = grid.link_bits
    crosses = (bits > 0) & (rate_rps * bits < space.link_bps(link))
    paid = link.rate.usd_per_byte > 0
    no_dearer = grid.thresholds >= bought.threshold_tokens if paid else np.full(bits.shape, True)
    found: Array = grid.thresholds[fits & crosses & no_dearer]
    return found
