"""Where a candidate's gain over a baseline comes from, each part of it between two deployments that can be opened."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from planner import __version__, scenario
from planner.comparing import attribution_words as words
from planner.comparing import costs
from planner.comparing.ends import End, in_one_shape
from planner.comparing.facts import facts, weaker
from planner.comparing.hybrids import Hybrid, Pair, hybrid
from planner.comparison import Asked
from planner.documents.errors import refuse
from planner.engine import attribution as division
from planner.engine.cost import per_million
from planner.engine.lengths import mean
from planner.engine.priced import cost
from planner.engine.throughput import BINDING_TOLERANCE, Form, Stage, egress, stage_rates, work
from planner.engine.ttft import percentiles
from planner.evaluation import number
from planner.scenario import Scenario
from planner.scenario.build import deployment
from planner.scenario.evidence import evidence

METRICS = tuple(words.UNITS)
COST = "usd_per_million_tokens"
SCHEDULING = ("split", "routing")
"""Of the factors, those that say who does what with the same machines."""
ROUNDING = 1e-12
"""Relative to the greatest value; two ends that are nearer to one another are the same."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be attributed: the gain of one scenario of a comparison over its baseline, in one metric."""

    candidate: str
    metric: str = METRICS[0]
    order: Sequence[str] | None = None
    tuned: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """A deployment with its value in the metric's unit, None where it has none; what binds; the weakest evidence."""

    hybrid: Hybrid
    value: float | None
    lambda_max_rps: float
    bound_by: list[str]
    kind: str


@dataclass(frozen=True)
class Attributed:
    """Every deployment between two ends, by the subset of the factors in which it has the candidate's parts."""

    asked: Asked
    question: Question
    pair: Pair
    measured: tuple[Measured, ...]

    @cached_property
    def undefined(self) -> str:
        """Why nothing can be divided; empty where it can."""
        missing = _unpriced(self.asked, self.pair) if self.question.metric == COST else ""
        return missing or _without_value(self.measured)

    @cached_property
    def values(self) -> list[float]:
        """In the metric's unit; none where the metric is undefined."""
        return [] if self.undefined else [each.value for each in self.measured if each.value is not None]

    @cached_property
    def shares(self) -> division.Shares | None:
        """By factor."""
        return division.shares(self.values) if self.values else None

    @property
    def total(self) -> float | None:
        """What the candidate has more than the baseline."""
        return self.values[-1] - self.values[0] if self.values else None


def attribution(asked: Asked, question: Question) -> dict[str, Any]:
    """The result document, in SI units; null, with the reason, where the metric has no value.

    Raises DocumentError where the two are no deployments of one workload, or cannot be written in one shape.
    """
    pair = _pair(asked, question)
    order = _order(pair, question.order)
    every = [hybrid(pair, _taken(pair, mask)) for mask in range(1 << len(pair.factors))]
    found = Attributed(asked, question, pair, tuple(_measured(asked, question.metric, each) for each in every))
    result = {
        "baseline": pair.baseline.original.name,
        "candidate": pair.candidate.original.name,
        "form": pair.form.value,
        "metric": question.metric,
        "unit": words.UNITS[question.metric],
        "tuned": question.tuned,
        "from": found.values[0] if found.values else None,
        "to": found.values[-1] if found.values else None,
        "total": found.total,
        "undefined": found.undefined or None,
        "factors": [_factor(found, at) for at in range(len(pair.factors))],
        "groups": _groups(found),
        "order": list(order),
        "start": _start(found),
        "steps": _steps(found, order),
        "end": _given(found, pair.candidate),
        "provenance": weaker(*(each.kind for each in found.measured), *_kinds_of_prices(found)),
        "notes": words.notes(pair, _idle(found), asked.comparison.scale),
        "version": __version__,
    }
    return {**result, "sentence": words.sentence(result)}


def between(asked: Asked, question: Question, taken: Sequence[str]) -> Scenario:
    """The deployment that has the candidate's part in the factors `taken` and the baseline's in the others.

    Raises DocumentError.
    """
    pair = _pair(asked, question)
    for factor in taken:
        if factor not in pair.factors:
            known = ", ".join(pair.factors) or "none"
            raise refuse("factors", factor, f"is no factor in which they differ; there are: {known}")
    return scenario.parse(hybrid(pair, frozenset(taken)).document())


def _pair(asked: Asked, question: Question) -> Pair:
    name, form = question.candidate, Form(asked.comparison.form)
    others = [each for each in asked.names if each != asked.comparison.baseline]
    if name not in others:
        raise refuse("candidate", name, f"must be one of the comparison beside its baseline: {', '.join(others)}")
    ends = asked.scenarios[asked.baseline], asked.scenarios[asked.names.index(name)]
    return Pair(*in_one_shape(*ends, form, question.tuned), form, question.tuned)


def _order(pair: Pair, given: Sequence[str] | None) -> tuple[str, ...]:
    if given is None:
        return pair.factors
    if sorted(map(str, given)) != sorted(pair.factors):
        known = ", ".join(pair.factors) or "none"
        raise refuse("order", ", ".join(map(str, given)), f"must name each factor in which they differ once: {known}")
    return tuple(given)


def _taken(pair: Pair, mask: int) -> frozenset[str]:
    return frozenset(factor for at, factor in enumerate(pair.factors) if mask >> at & 1)


# --- one deployment ----------------------------------------------------------------------------------------------


def _measured(asked: Asked, metric: str, found: Hybrid) -> Measured:
    demand = work(found.deployed, found.deployed.threshold_tokens, found.form)
    rates = {stage: float(rate) for stage, rate in stage_rates(found.deployed, demand).items()}
    carried = min(rates.values())
    binding = [stage.value for stage, rate in rates.items() if rate <= carried * (1 + BINDING_TOLERANCE)]
    used = {stage.value for stage, rate in rates.items() if math.isfinite(rate)} | {Stage.PD_D.value}
    rests_on = evidence(found.scenario, used, found.found)
    if metric == "ttft_p90_s":
        return Measured(found, percentiles(found.deployed)[1], carried, binding, rests_on.ttft_unloaded_s)
    value: float | None = carried
    if metric == COST:
        value = _per_million(asked, found, carried, float(egress(carried, demand.link_bits)))
    return Measured(found, value, carried, binding, rests_on.lambda_max_rps)


def _per_million(asked: Asked, found: Hybrid, carried_rps: float, egress_bps: float) -> float | None:
    """USD a million tokens, in and out; None without prices, or where next to nothing is carried."""
    paid = costs.prices(asked, found.scenario)
    if paid is None or carried_rps == 0:
        return None
    traffic = found.scenario.parsed.traffic
    tokens = mean(traffic.input_tokens.lengths()) + traffic.mean_output_tokens()
    return number(per_million(cost(found.deployed, paid, egress_bps).usd_per_h, carried_rps * tokens))


def _unpriced(asked: Asked, pair: Pair) -> str:
    """Why a million tokens have no price; empty where they have one. Raises DocumentError on two prices of a chip."""
    one, other = ends = [end.scenario for end in (pair.baseline, pair.candidate)]
    before, after = ({price.name: price.usd_per_gpu_hour for price in end.parsed.prices} for end in ends)
    for chip in sorted(before.keys() & after.keys()):
        if before[chip] != after[chip]:
            said = f"is {before[chip]:g} USD in {one.name} and {after[chip]:g} in {other.name}; name one price for both"
            raise refuse(f"prices.{chip}", None, said)
    if missing := sorted(_chips(one) - before.keys() | _chips(other) - after.keys()):
        return f"Nobody says what {', '.join(missing)} costs: give a price in USD a GPU-hour."
    unknown = any(costs.prices(asked, end) is None for end in ends)
    return "Electricity is paid apart, and the power of a chip is not known." if unknown else ""


def _chips(given: Scenario) -> set[str]:
    return {cluster.hardware.name for cluster in given.parsed.clusters}


def _without_value(measured: Sequence[Measured]) -> str:
    missing = [each.hybrid.scenario.name for each in measured if each.value is None]
    said = f"{len(missing)} of the deployments carry nothing, so that their tokens have no price: "
    return said + ", ".join(missing[:2]) if missing else ""


def _idle(found: Attributed) -> list[str]:
    return [each.hybrid.scenario.name for each in found.measured if each.lambda_max_rps == 0]


def _kinds_of_prices(found: Attributed) -> list[str]:
    if found.question.metric != COST:
        return []
    return [facts(found.asked, end.original).paid_kind for end in (found.pair.baseline, found.pair.candidate)]


# --- the result --------------------------------------------------------------------------------------------------


def _factor(found: Attributed, at: int) -> dict[str, Any]:
    factor, shares = found.pair.factors[at], found.shares
    share = shares.shapley[at] if shares else None
    return {
        "factor": factor,
        "title": words.title(found.pair, factor),
        "words": words.change(found.pair, factor),
        "share": share,
        "share_of_total": _of_total(found, share),
        "least": shares.least[at] if shares else None,
        "greatest": shares.greatest[at] if shares else None,
        "orders": math.factorial(len(found.pair.factors)),
    }


def _of_total(found: Attributed, share: float | None) -> float | None:
    if share is None or found.total is None or abs(found.total) <= ROUNDING * max(map(abs, found.values)):
        return None
    return number(share / found.total)


def _groups(found: Attributed) -> list[dict[str, Any]]:
    """Factors that belong together, with the sum of their shares."""
    places = [at for at, factor in enumerate(found.pair.factors) if factor in SCHEDULING]
    if not places:
        return []
    share = math.fsum(found.shares.shapley[at] for at in places) if found.shares else None
    factors = [found.pair.factors[at] for at in places]
    return [{"group": "scheduling", "factors": factors, "share": share, "share_of_total": _of_total(found, share)}]


def _given(found: Attributed, end: End) -> dict[str, Any]:
    """An end as it was given: its own value, and how it is written here."""
    own = Hybrid(end.original, deployment(end.original), found.pair.form, ())
    value = None if found.undefined else _measured(found.asked, found.question.metric, own).value
    return {"given_value": value, "words": words.written(end, found.pair.tuned)}


def _start(found: Attributed) -> dict[str, Any]:
    """Step 0: the baseline in the shape of both, beside what it has as it was given."""
    return {**_opened(found, found.measured[0]), **_given(found, found.pair.baseline)}


def _steps(found: Attributed, order: Sequence[str]) -> list[dict[str, Any]]:
    places = [found.pair.factors.index(factor) for factor in order]
    changes = division.steps(found.values, places) if found.values else [None] * len(places)
    steps, mask = [], 0
    for factor, place, change in zip(order, places, changes, strict=True):
        mask |= 1 << place
        steps.append({"factor": factor, "change": change, **_opened(found, found.measured[mask])})
    return steps


def _opened(found: Attributed, each: Measured) -> dict[str, Any]:
    return {
        "value": None if found.undefined else each.value,
        "scenario_document": each.hybrid.document(),
        "bound_by": each.bound_by,
    }
