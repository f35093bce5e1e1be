"""The deployments of a comparison made as large as its baseline: in cost, in power or in GPUs.

Each keeps its chips, its link and its kind of routing; instances, split and threshold are those that carry the most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from planner import scenario
from planner.catalog import SHIPPED
from planner.comparing import costs
from planner.comparison import Asked
from planner.documents.errors import DocumentError
from planner.engine import full_load
from planner.engine.options import Loads, Space, loads
from planner.engine.priced import Prices, cost
from planner.engine.throughput import Form, evaluate
from planner.procurement import build, document, filled
from planner.procurement.schema import MOST_INSTANCES
from planner.scenario import Scenario
from planner.scenario.build import deployment

type Measure = Callable[[Asked, Scenario], Prices | None]
MEASURES: dict[str, tuple[Measure, str]] = {
    "cost": (costs.prices, "a chip has no price"),
    "power": (costs.draws_w, "the power of a chip is not known"),
    "gpus": (lambda _, given: costs.gpus(given), ""),
}
"""What an instance counts for, and what is missing where it counts for nothing."""


def rescaled(asked: Asked) -> tuple[Asked, dict[str, str]]:
    """The comparison with every deployment as large as the baseline, and why some are as they were, by scenario."""
    if asked.comparison.scale == "as_given":
        return asked, {}
    measure, missing = MEASURES[asked.comparison.scale]
    baseline = asked.scenarios[asked.baseline]
    each = measure(asked, baseline)
    if each is None:
        return asked, {name: f"The baseline cannot be measured: {missing}." for name in asked.names}
    budget = _size(baseline, each, asked.comparison.form)
    found: list[Scenario] = []
    reasons = {}
    for place, given in enumerate(asked.scenarios):
        changed: Scenario | str = (
            given if place == asked.baseline else _as_large(asked, given, measure, missing, budget)
        )
        if isinstance(changed, str):
            reasons[given.name] = changed
        found.append(given if isinstance(changed, str) else changed)
    return replace(asked, scenarios=tuple(found)), reasons


def _size(given: Scenario, each: Prices, form: str) -> float:
    """USD an hour, watts or GPUs, at Λ_max."""
    deployed = deployment(given)
    return cost(deployed, each, evaluate(deployed, Form(form)).egress_bps).usd_per_h


def _as_large(asked: Asked, given: Scenario, measure: Measure, missing: str, budget: float) -> Scenario | str:
    each = measure(asked, given)
    if each is None:
        return f"Not rescaled: {missing}."
    if given.parsed.routing.policy == "blind":
        return "Not rescaled: its router knows no lengths, and which share it sends is not searched."
    # a scenario's document is all that matters of it
    return _searched(_Key(given.document()), each, budget, asked.comparison.form)


class _Key(dict[str, Any]):
    """A document as the key of a cache."""

    def __hash__(self) -> int:  # type: ignore[override] # documents here are never changed
        return hash(repr(self))


@lru_cache(maxsize=256)
def _searched(given: _Key, each: Prices, budget: float, form: str) -> Scenario | str:
    """The scenario with the instances, split and threshold that carry the most for a budget, or why there are none."""
    question = {"problem": "equal_cost", "form": form, "scenario": dict(given), "budget_usd_per_h": budget}
    try:
        asked = document.parse(question, SHIPPED)
        space = _space(asked, each, budget)
    except DocumentError as problem:
        return f"Not rescaled: {problem.errors[0].message}."
    bought = full_load.best(space, budget, _loads(space, asked.scenario))
    if bought is None:
        return "Not rescaled: not even its least deployment fits."
    return _named(asked.scenario, filled.scenario_of(asked, space, bought))


def _space(asked: document.Asked, each: Prices, budget: float) -> Space:
    """Its own chips and link, counted as `each` says, and as many of them as the budget pays for."""
    space = build.own_space(asked, asked.scenario)

    def most(unit: float) -> int:
        return int(min(budget / unit if unit > 0 else MOST_INSTANCES, MOST_INSTANCES)) or 1

    return replace(
        space,
        prfaas=tuple(
            replace(option, usd_per_h=each.prfaas_usd_per_h, most=most(each.prfaas_usd_per_h))
            for option in space.prfaas
        ),
        pd=tuple(replace(option, usd_per_h=each.pd_usd_per_h, most=most(each.pd_usd_per_h)) for option in space.pd),
        links=tuple(replace(link, rate=each.link) for link in space.links),
    )


def _loads(space: Space, given: Scenario) -> Loads:
    """At the thresholds that its kind of routing has: all requests leave, some do, or none."""
    policy = given.parsed.routing.policy
    if policy == "all_remote":
        return loads(space, np.array([0.0]))
    if policy == "all_local" or not space.prfaas:
        return loads(space, np.array([np.inf]))
    found = loads(space)
    leaving = found.link_bits > 0
    return Loads(
        found.thresholds[leaving], found.prfaas_s[:, leaving], found.pd_p_s[:, leaving], found.link_bits[leaving]
    )


def _named(given: Scenario, found: Scenario) -> Scenario:
    """The scenario found, with the routing of the one that it stands for where that has no threshold."""
    if given.parsed.routing.policy == "threshold":
        return found
    changed = found.document()
    changed["routing"] = given.document()["routing"]
    if given.parsed.routing.policy == "all_remote":
        changed["free"] = [path for path in changed["free"] if not path.startswith("routing.")]
    return scenario.parse(changed)
