"""Each problem from its question to its result: what a worker loads, has computed in a child, and saves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from planner import scenario
from planner.engine import equal_cost, front, purchasing
from planner.engine.curves import Array
from planner.engine.options import Space
from planner.engine.slo import Promise
from planner.procurement import build, filled, result
from planner.procurement.document import Asked
from planner.procurement.schema import Question, Vary
from planner.scenario import Scenario
from planner.scenario.build import cluster_of_role


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
            return _for_budget(asked, space)
        case "least_cost":
            around, rate_rps = build.circumstances(asked), asked.question.rate_rps or 0.0
            return purchasing.ForRate(space, rate_rps, around, _promise(asked), _seconds(asked))
        case "break_even":
            return _compared(asked, asked.question.vary or Vary(parameter="price_ratio", lowest=1, highest=5))
    raise ValueError(f"{asked.question.problem} is asked in parts")


def require_answerable(asked: Asked) -> None:
    """Raises DocumentError on what a job would fail for: a chip without a price, lengths that cannot be varied."""
    if asked.question.problem == "front":
        shards(asked)
        build.space(asked)
    else:
        problem(asked)


def answered(asked: Asked, posed: purchasing.Problem, answer: Any) -> dict[str, Any]:
    """The result document."""
    if isinstance(posed, purchasing.Compared):
        return result.tie_document(asked, answer)
    usd = posed.budget_usd_per_h if isinstance(posed, purchasing.ForBudget) else None
    return result.answer_document(asked, posed.space, answer, usd)


def _promise(asked: Asked) -> Promise | None:
    given = asked.question.promise
    return Promise(given.ttft_s, given.percentile / 100) if given else None


def _for_budget(asked: Asked, space: Space) -> purchasing.ForBudget:
    """With the scenario's own deployment, and its chips at listed prices, where it has PrfaaS."""
    if cluster_of_role(asked.scenario.parsed, "prfaas") is None:
        return purchasing.ForBudget(space, budget(asked))
    own, question = build.own_space(asked, asked.scenario), asked.question
    prices = (question.listed, question.listed_dearest) if question.listed else ()
    listed = tuple(build.own_space(asked, asked.scenario, each) for each in prices)
    return purchasing.ForBudget(space, budget(asked), build.bought(asked.scenario), own, listed)


def _seconds(asked: Asked) -> float:
    return asked.question.seconds or float("inf")


# --- a front, rate by rate ---------------------------------------------------------------------------------------


def shards(asked: Asked) -> list[dict[str, Any]]:
    """The inputs of a front's parts: each the same question at one rate."""
    rates = front.rates(asked.question.rate_rps or 0.0, asked.question.rates)
    return [asked.frozen() | {"rate_rps": float(rate)} for rate in rates]


def shard(asked: Asked, rate_rps: float) -> front.Shard:
    """The engine's question about one rate of a front."""
    share = asked.question.percentile / 100
    return front.Shard(build.space(asked), rate_rps, share, build.circumstances(asked), _seconds(asked))


def shard_answered(asked: Asked, posed: front.Shard, found: front.Found) -> dict[str, Any]:
    """The result document of one rate."""
    return {
        "rate_rps": posed.rate_rps,
        "points": [result.point_document(asked, posed.space, point) for point in found.points],
        "searched": result.searched_document(found.tried, found.pruned, found.gap),
    }


def merged(asked: Asked, parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The result document of a front, from those of its rates in their order."""
    points = [point for part in parts for point in part["points"]]
    kept = front.unbeaten([result.standing(point, asked.question.percentile) for point in points])
    most = None if points else equal_cost.best(build.space(asked), float("inf"))
    most_rps = most.limit.lambda_max_rps if most else None
    return result.front_document(asked, [points[at] for at in kept], [part["searched"] for part in parts], most_rps)


def point_scenario(asked: Asked, point: Mapping[str, Any]) -> Scenario:
    """The scenario of a purchase in a result document."""
    return filled.scenario_of(asked, build.space(asked), filled.from_json(point["bought"]))


def answer_all(asked: Asked) -> dict[str, Any]:
    """The answer at once, without a job: of a front, one rate after another."""

    def unheard(done: int, total: int, message: str) -> None: ...

    if asked.question.problem == "front":
        posed = [shard(asked, each["rate_rps"]) for each in shards(asked)]
        return merged(asked, [shard_answered(asked, each, front.at_rate(each, unheard)) for each in posed])
    asks = problem(asked)
    return answered(asked, asks, purchasing.solve(asks, unheard))


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
