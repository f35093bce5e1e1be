"""What a sweep varies, each quantity in one place: the fields that it sets, and values that suit it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from planner.documents.errors import DocumentError, refuse
from planner.engine.throughput import evaluate
from planner.entries.traffic import PoissonArrivals, RenewalArrivals
from planner.scenario.schema import LinkTable
from planner.simulating import document as simulations
from planner.simulating.document import Asked
from planner.simulating.schema import Run
from planner.simulating.studies.features import Changes
from planner.simulating.studies.schema import Range, Value

LOADS = Range(lowest=0.1, highest=0.95, points=18)
"""In steps of 5 %: from a load that hardly queues to one that few would run."""
POINTS = 9
BURSTS = Range(lowest=0.5, highest=8.0, points=POINTS)
"""CV of the times between arrivals, in steps of √2: from evener than Poisson to what recorded traces have."""
LEAST_BPS = 1e6
"""Of a link that nothing crosses."""
AROUND = 2.0
"""Thresholds are tried from the given one over this to as many times it."""
SAME = ("schema_version", "scenario", "requests", "replications", "seed", "warm_up")
"""Fields of a simulation that all variants share: they meet the same requests, and count the same of them."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """Something that has a value in each variant."""

    name: str
    title: str
    unit: str
    changes: Callable[[Asked, Value], Changes]
    suits: Callable[[Asked], Sequence[Value] | Range | None]
    """Values, or a range, where none are given; None where somebody has to name them."""
    given: Callable[[Asked], Value | None] = lambda asked: None
    """Its value in the simulation as given, if it has one."""
    needs: str = ""
    is_possible: Callable[[Asked], bool] = lambda asked: True
    is_geometric: bool = False
    is_load: bool = False
    """Whether it sets the rate of arrivals; all others leave it at that of the simulation as given."""


def _link(asked: Asked) -> LinkTable | None:
    return asked.scenario.parsed.links[0] if asked.experiment.deployment.link else None


def _bandwidth(asked: Asked, value: Value) -> Changes:
    """What the link carries, whatever it was seen to carry before."""
    link = _link(asked)
    if link is None:
        return {}
    place = f"scenario.links.{link.name}"
    seen = {} if link.achieved_bps is None else {f"{place}.achieved_bps": None}
    return {f"{place}.bandwidth_bps": value} | seen


def _bandwidths(asked: Asked) -> Range | None:
    """From half of what crosses in steady state to all that the link carries, or ten times as much as crosses."""
    steady, link = evaluate(asked.experiment.deployment), asked.experiment.deployment.link
    if link is None or not 0 < steady.lambda_max_rps < math.inf:
        return None
    crosses = max(steady.egress_bps * asked.experiment.rate_rps / steady.lambda_max_rps, LEAST_BPS)
    return _range(crosses / 2, link.usable_bps if crosses < link.usable_bps < math.inf else 10 * crosses)


def _thresholds(asked: Asked) -> Range | None:
    given = asked.experiment.deployment.threshold_tokens
    return Range(lowest=given / AROUND, highest=given * AROUND, points=POINTS) if 0 < given < math.inf else None


def _cv(asked: Asked) -> float | None:
    """Of a process of independent times between arrivals."""
    arrivals = asked.scenario.parsed.traffic.arrivals
    if isinstance(arrivals, RenewalArrivals):
        return arrivals.cv
    return 1.0 if isinstance(arrivals, PoissonArrivals) else None


def _rates(asked: Asked) -> Range | None:
    most_rps = evaluate(asked.experiment.deployment).lambda_max_rps
    if not 0 < most_rps < math.inf:
        return None
    return _range(LOADS.lowest * most_rps, LOADS.highest * most_rps, LOADS.points)


def policies(asked: Asked) -> list[Value]:
    """Routing policies that the scenario can have and that route differently, its own first; without PrfaaS there is
    its own alone."""
    same = _as_given(asked)
    names = get_args(Run.model_fields["policy"].annotation)
    return [name for name in names if name != same and _can(asked, name)]


def _as_given(asked: Asked) -> str | None:
    """The policy that is the scenario's own under another name."""
    deployed = asked.experiment.deployment
    if deployed.remote_share is not None:
        return {0.0: "all_local", 1.0: "all_remote"}.get(deployed.remote_share)
    if deployed.prfaas is None or math.isinf(deployed.threshold_tokens):
        return "all_local"
    return "all_remote" if deployed.threshold_tokens == 0 else None


def _has_policies(asked: Asked) -> bool:
    return len(policies(asked)) > 1


def _can(asked: Asked, policy: str) -> bool:
    try:
        simulations.loaded(asked.raw | {"policy": policy})
    except DocumentError:
        return False
    return True


def _usable(asked: Asked) -> float | None:
    link = _link(asked)
    return link.usable_bps if link else None


def _has_threshold(asked: Asked) -> bool:
    judged = asked.run.policy in ("as_given", "bandwidth_aware") and asked.run.threshold_track is None
    return judged and asked.scenario.parsed.routing.policy == "threshold"


QUANTITIES = {
    quantity.name: quantity
    for quantity in (
        Quantity("load", "Load", "of Λ_max", is_load=True,
            changes=lambda asked, value: {"load": value, "rate_rps": None}, suits=lambda asked: LOADS),
        Quantity("rate_rps", "Rate", "req/s", is_load=True,
            changes=lambda asked, value: {"load": None, "rate_rps": value}, suits=_rates),
        Quantity("threshold_tokens", "Threshold t", "tokens", is_geometric=True,
            changes=lambda asked, value: {"scenario.routing.threshold_tokens": value}, suits=_thresholds,
            given=lambda asked: asked.scenario.parsed.routing.threshold_tokens,
            needs="needs routing.policy threshold in the scenario, and policy as_given or bandwidth_aware",
            is_possible=_has_threshold),
        Quantity("bandwidth_bps", "Link bandwidth", "bit/s", is_geometric=True,
            changes=_bandwidth, suits=_bandwidths, given=_usable,
            needs="needs a link", is_possible=lambda asked: _link(asked) is not None),
        Quantity("arrivals_cv", "Burstiness", "CV of the times between arrivals", is_geometric=True,
            changes=lambda asked, value: {"scenario.traffic.arrivals": {"process": "renewal", "cv": value}},
            suits=lambda asked: BURSTS, given=_cv),
        Quantity("policy", "Routing policy", "",
            changes=lambda asked, value: {"policy": value}, suits=policies,
            needs="needs a cluster of role prfaas, and policies that route differently",
            is_possible=_has_policies),
    )
}  # fmt: skip


def quantity(name: str) -> Quantity:
    """By its name, or of the field at a dotted path. Raises DocumentError on what all variants must share."""
    if found := QUANTITIES.get(name):
        return found
    top = name.split(".")[0]
    if name in SAME or top not in Run.model_fields:
        known = ", ".join([*QUANTITIES, *(field for field in Run.model_fields if field not in (*SAME, *QUANTITIES))])
        raise refuse("vary", name, f"cannot be varied; known: {known}, and paths that begin with scenario.")
    return Quantity(name, name, "", lambda asked, value: {name: value}, suits=lambda asked: None)


def grid(within: Range, is_geometric: bool) -> list[Value]:
    """Its values. Raises DocumentError where its ends are not in order."""
    if not within.lowest < within.highest:
        raise refuse("range.highest", within.highest, f"must be above the lowest, {within.lowest:g}")
    spaced = np.geomspace if is_geometric else np.linspace
    found = spaced(within.lowest, within.highest, within.points)
    digits = 2 - math.floor(math.log10(float(np.diff(found).min())))
    # the ends are somebody's; what lies between is told apart by three digits of a step
    return [within.lowest, *np.round(found[1:-1], digits).tolist(), within.highest]


def _range(lowest: float, highest: float, points: int = POINTS) -> Range:
    """Of figures that nobody typed: three digits are enough."""
    low, high = (float(f"{value:.3g}") for value in (lowest, highest))
    return Range(lowest=low, highest=high, points=points)


def values(asked: Asked, of: Quantity, given: Iterable[Value] | None, within: Range | None) -> list[Value]:
    """What is tried, as it was given or as it suits. Raises DocumentError."""
    if given is not None and within is not None:
        raise refuse("range", None, "stands beside values: give one of them")
    if given is not None:
        return list(given)
    found = within or of.suits(asked)
    if found is None:
        raise refuse("values", None, f"is missing: what {of.name} is in each variant")
    return grid(found, of.is_geometric) if isinstance(found, Range) else list(found)
