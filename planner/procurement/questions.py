"""Each problem from its question to its result: what a worker loads, has computed in a child, and saves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from planner import scenario
from planner.engine import purchasing
from planner.engine.curves import Array
from planner.engine.options import Space
from planner.procurement import build, result
from planner.procurement.document import Asked
from planner.procurement.schema import Question, Vary


def loaded(raw: Mapping[str, Any]) -> Asked:
    """A frozen question again."""
    question = Question.model_validate(dict(raw))
    baseline = scenario.parse(question.baseline) if question.baseline else None
    return Asked(question, dict(raw), scenario.parse(question.scenario), baseline)


def problem(asked: Asked) -> purchasing.Problem:
    """What the engine is asked. Raises DocumentError where a chip has no price, or lengths cannot be varied."""
    space = build.space(asked)
    match asked.question.problem:
        case "equal_cost":
            return purchasing.ForBudget(space, budget(asked))
        case "least_cost":
            return purchasing.ForRate(space, asked.question.rate_rps or 0.0)
        case "break_even":
            return _compared(asked, asked.question.vary or Vary(parameter="price_ratio", lowest=1, highest=5))


def answered(asked: Asked, posed: purchasing.Problem, answer: Any) -> dict[str, Any]:
    """The result document."""
    if isinstance(posed, purchasing.Compared):
        return result.tie_document(asked, answer)
    usd = posed.budget_usd_per_h if isinstance(posed, purchasing.ForBudget) else None
    return result.answer_document(asked, posed.space, answer, usd)


def budget(asked: Asked) -> float:
    """USD an hour: as given, or what the baseline costs, or else what the scenario itself does."""
    given = asked.question.budget_usd_per_h
    return given if given is not None else result.scenario_cost(asked, asked.baseline or asked.scenario).usd_per_h


def _compared(asked: Asked, vary: Vary) -> purchasing.Compared:
    space = build.own_space(asked, asked.scenario)
    if vary.parameter == "price_ratio":
        space = _at_equal_gpu_prices(asked, space)
    return purchasing.Compared(space, build.bought(asked.scenario), vary.parameter, _values(vary))


def _values(vary: Vary) -> Array:
    """Evenly spaced, or in equal ratios where the range is wide."""
    if vary.lowest > 0 and vary.highest / vary.lowest > 20:
        return np.geomspace(vary.lowest, vary.highest, vary.points)
    return np.linspace(vary.lowest, vary.highest, vary.points)


def _at_equal_gpu_prices(asked: Asked, space: Space) -> Space:
    """The space with a GPU of PrfaaS at the price of one of PD, so that a factor on it is the ratio of both."""
    (pd,) = space.pd
    usd_per_gpu = pd.usd_per_h / build.named(asked.scenario, pd.name).gpus_per_instance
    remote = tuple(
        replace(option, usd_per_h=usd_per_gpu * build.named(asked.scenario, option.name).gpus_per_instance)
        for option in space.prfaas
    )
    return replace(space, prfaas=remote)
