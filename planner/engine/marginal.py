"""What one more of anything would bring: the price of the constraint that binds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from planner.engine import equal_cost
from planner.engine.least_cost import Bought
from planner.engine.options import Space
from planner.engine.throughput import Throughput


@dataclass(frozen=True, slots=True)
class Step:
    """A purchase with one more instance of `what`, or the next wider link, at its best split and threshold.

    `gain_rps` and `usd_per_h` are what it carries and costs more than before, each at its limit.
    """

    what: str
    bought: Bought
    gain_rps: float
    usd_per_h: float

    @property
    def rps_per_usd_per_h(self) -> float:
        """Requests a second for each USD an hour; infinite where it costs nothing."""
        if self.usd_per_h > 0:
            return self.gain_rps / self.usd_per_h
        return float("inf") if self.gain_rps > 0 else 0.0


def steps(space: Space, bought: Bought) -> list[Step]:
    """What could be bought next, the most for its money first; what brings nothing is among them, at 0.

    Nothing is proposed of which there are no more.
    """
    before = equal_cost.at_best_split(space, bought)
    found = [
        _step(space, what, before, equal_cost.at_best_split(space, more)) for what, more in _one_more(space, bought)
    ]
    return sorted(found, key=lambda step: -step.rps_per_usd_per_h)


def _one_more(space: Space, bought: Bought) -> Iterator[tuple[str, Bought]]:
    if bought.prefill_instances + bought.decode_instances < space.pd[bought.pd].most:
        yield "pd", replace(bought, decode_instances=bought.decode_instances + 1)
    if bought.prfaas is None or bought.link is None:
        return
    if bought.prfaas_instances < space.prfaas[bought.prfaas].most:
        yield "prfaas", replace(bought, prfaas_instances=bought.prfaas_instances + 1)
    width = space.link_bps(space.links[bought.link])
    wider = [at for at, link in enumerate(space.links) if space.link_bps(link) > width]
    if wider:
        yield "link", replace(bought, link=min(wider, key=lambda at: space.link_bps(space.links[at])))


def _step(space: Space, what: str, before: tuple[Bought, Throughput], after: tuple[Bought, Throughput]) -> Step:
    usd_before, usd_after = (equal_cost.cost(space, at, limit.egress_bps).usd_per_h for at, limit in (before, after))
    return Step(what, after[0], after[1].lambda_max_rps - before[1].lambda_max_rps, usd_after - usd_before)
