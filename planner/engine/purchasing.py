"""The questions of cost as jobs: what a worker's child process computes, with progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from planner.engine import break_even, equal_cost
from planner.engine.cost import Cost
from planner.engine.critical import critical
from planner.engine.curves import Array
from planner.engine.latency import Circumstances, LoadedTtft
from planner.engine.least_cost import Bought, all_cheapest, cheapest
from planner.engine.marginal import Step, steps
from planner.engine.options import ROUNDING, Space, loads
from planner.engine.search import Report
from planner.engine.slo import Kept, Promise, cheapest_keeping, least_percentile, ttft
from planner.engine.throughput import Throughput, evaluate

LEAST_RPS = 1e-9
"""As good as no request at all."""


@dataclass(frozen=True, slots=True)
class Purchase:
    """A purchase at the threshold where it carries the most, what it carries there, and what it costs there."""

    bought: Bought
    limit: Throughput
    cost: Cost
    ttft: LoadedTtft | None = None
    """Under load at the rate that was asked for."""


@dataclass(frozen=True, slots=True)
class ForBudget:
    """Question: what carries the most for a budget in USD an hour."""

    space: Space
    budget_usd_per_h: float
    given: Bought | None = None
    own: Space | None = None
    listed: tuple[Space, ...] = ()
    """What is deployed now, the space of its own options, and the same at listed prices."""


@dataclass(frozen=True, slots=True)
class ForRate:
    """Question: what costs the least and carries a rate in req/s, under a promise if there is one."""

    space: Space
    rate_rps: float
    around: Circumstances
    promise: Promise | None = None
    seconds: float = float("inf")
    """Time for the search under a promise."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The best purchase and the best one without PrfaaS; None where there is none.

    `bound` is that of fractions of instances: the greatest rate in req/s, or the least cost in USD an hour.
    """

    best: Purchase | None
    alone: Purchase | None
    bound: float | None
    steps: tuple[Step, ...]
    combinations: int
    tried: int
    """What it took to compare them: prices of chips and links at a threshold, or TTFTs of deployments."""
    pruned: int = 0
    """Choices of threshold, chips and link that could not be cheaper, and were not tried."""
    gap: float = 0.0
    """By what share a cheaper purchase may have been missed, for want of time."""
    given: Purchase | None = None
    """What is deployed now, at its best split and threshold."""
    given_gain: float | None = None
    """Its Λ_max over that of the best without PrfaaS for the same money, in whole instances."""
    listed_gains: tuple[float, ...] = ()
    """The same at each of the listed prices."""
    least_usd_per_h: float | None = None
    """What carrying any request at all costs, where the budget pays for none."""
    most: Purchase | None = None
    """What carries the most at any price, where nothing carries the rate that was asked for."""
    least_s: float | None = None
    """The least percentile of TTFT that endless instances would keep, where nothing keeps the promise."""


def for_budget(asked: ForBudget, report: Report) -> Answer:
    """The purchase that carries the most for the budget."""
    report(0, 3, f"{asked.space.combinations(equal_cost.GRID + 1):,} deployments")
    found = equal_cost.best(asked.space, asked.budget_usd_per_h)
    report(1, 3, "the same without PrfaaS")
    alone = equal_cost.best(without_prfaas(asked.space), asked.budget_usd_per_h)
    report(2, 3, "what to buy next")
    next_ = steps(asked.space, found.bought) if found else []
    given = _given(asked)
    listed = [whole_gain(space, asked.given) for space in asked.listed] if asked.given else []
    report(3, 3, "done")
    return Answer(
        given=given,
        given_gain=whole_gain(asked.own, asked.given) if asked.own and asked.given else None,
        listed_gains=tuple(listed),
        least_usd_per_h=None if found else _least_usd(asked.space),
        best=Purchase(found.bought, found.limit, found.cost) if found else None,
        alone=Purchase(alone.bought, alone.limit, alone.cost) if alone else None,
        bound=found.bound_rps if found else None,
        steps=tuple(next_),
        combinations=found.combinations if found else asked.space.combinations(equal_cost.GRID + 1),
        tried=found.tried if found else 0,
    )


def _given(asked: ForBudget) -> Purchase | None:
    if asked.own is None or asked.given is None:
        return None
    bought, limit = equal_cost.at_best_split(asked.own, asked.given)
    return Purchase(bought, limit, equal_cost.cost(asked.own, bought, limit.egress_bps))


def whole_gain(space: Space, bought: Bought) -> float:
    """Λ_max of a purchase at its best split and threshold over that of the best whole deployment without PrfaaS that
    costs no more; infinite where no money is enough for one."""
    at, limit = equal_cost.at_best_split(space, bought)
    usd_per_h = equal_cost.cost(space, at, limit.egress_bps).usd_per_h
    alone = equal_cost.best(without_prfaas(space), usd_per_h)
    return limit.lambda_max_rps / alone.limit.lambda_max_rps if alone else float("inf")


def _least_usd(space: Space) -> float | None:
    """USD an hour of the cheapest deployment that carries anything."""
    found = cheapest(space, loads(space), LEAST_RPS)
    return found.usd_per_h if found else None


def for_rate(asked: ForRate, report: Report) -> Answer:
    """The cheapest purchase that carries the rate and keeps the promise; where none does, how far that is."""
    space, rate_rps = asked.space, asked.rate_rps
    report(0, 3, f"{space.combinations(equal_cost.GRID + 1):,} deployments")
    kept = None if asked.promise is None else _keeping(asked, asked.promise)
    best = _carrying(asked, kept)
    report(1, 3, "the same without PrfaaS")
    near = replace(asked, space=without_prfaas(space))
    alone = _carrying(near, None if asked.promise is None else _keeping(near, asked.promise))
    report(2, 3, "what to buy next" if best else "the most that there is")
    bound = cheapest(space, loads(space), rate_rps, whole=False)
    most = None if best else equal_cost.best(space, float("inf"))
    answer = Answer(
        best=best,
        alone=alone,
        bound=bound.usd_per_h if bound else None,
        steps=tuple(steps(space, best.bought)) if best else (),
        combinations=space.combinations(equal_cost.GRID + 1),
        tried=kept.tried if kept else _priced(space),
        pruned=kept.pruned if kept else 0,
        gap=kept.gap if kept else 0.0,
        most=Purchase(most.bought, most.limit, most.cost) if most else None,
        least_s=None if best else _least_s(asked),
    )
    report(3, 3, "done")
    return answer


def _least_s(asked: ForRate) -> float | None:
    if asked.promise is None:
        return None
    return least_percentile(asked.space, asked.rate_rps, asked.promise.share, asked.around)


def _priced(space: Space) -> int:
    """Prices that one pass over the thresholds works out."""
    return (equal_cost.GRID + 1) * (len(space.prfaas) + len(space.links) + len(space.pd))


def _carrying(asked: ForRate, kept: Kept | None) -> Purchase | None:
    """The cheapest purchase, which was searched for already if it keeps a promise; it costs what the rate does."""
    bought = kept.bought if kept else _cheapest(asked)
    if bought is None:
        return None
    limit = evaluate(equal_cost.deployment(asked.space, bought), asked.space.form)
    share = min(asked.rate_rps / limit.lambda_max_rps, 1.0)
    cost = equal_cost.cost(asked.space, bought, limit.egress_bps * share)
    return Purchase(bought, limit, cost, ttft(asked.space, bought, asked.rate_rps, asked.around))


def _keeping(asked: ForRate, promise: Promise) -> Kept:
    return cheapest_keeping(asked.space, asked.rate_rps, promise, asked.around, seconds=asked.seconds)


def _cheapest(asked: ForRate) -> Bought | None:
    """Without a promise: of all that cost the least at the rate the one that could carry the most, then the soonest."""
    space, grid = asked.space, loads(asked.space)
    exactly = loads(space, critical(space, grid, asked.rate_rps))
    found = [priced for each in (grid, exactly) for priced in all_cheapest(space, each, asked.rate_rps)]
    if not found:
        return None
    least = min(priced.usd_per_h for priced in found)
    equal = [_settled(space, priced.bought) for priced in found if priced.usd_per_h <= least * (1 + ROUNDING)]
    most = max(rate_rps for _, rate_rps in equal)
    tied = [bought for bought, rate_rps in equal if rate_rps >= most * (1 - equal_cost.CLOSE)]
    return min(tied, key=lambda bought: ttft(space, bought, asked.rate_rps, asked.around).mean)


def _settled(space: Space, bought: Bought) -> tuple[Bought, float]:
    """The purchase at the threshold that carries the most, and how much: its own where each byte is paid for."""
    if bought.link is not None and space.links[bought.link].rate.usd_per_byte > 0:
        return bought, evaluate(equal_cost.deployment(space, bought), space.form).lambda_max_rps
    at, limit = equal_cost.at_its_limit(space, bought, float("inf"))
    return at, limit.lambda_max_rps


def without_prfaas(space: Space) -> Space:
    """The space with PD instances only."""
    return replace(space, prfaas=(), links=())


# --- break-even --------------------------------------------------------------------------------------------------

VARIED: dict[str, Callable[[Space, float], Space]] = {
    "price_ratio": break_even.prfaas_price,
    "link_usd_per_gb": break_even.volume_price,
    "bandwidth_bps": break_even.bandwidth,
    "length_factor": break_even.length,
    "kv_factor": break_even.kv_size,
}
"""What can be varied, by the name that a question has for it."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Question: how a purchase compares with the best one without PrfaaS over a parameter."""

    space: Space
    bought: Bought
    parameter: str
    values: Array


def compare(asked: Compared, report: Report) -> break_even.Tie:
    """The gain at each value, and where it is 1."""
    vary, done = VARIED[asked.parameter], 0

    def told(space: Space, value: float) -> Space:
        nonlocal done
        done += 1
        report(min(done, asked.values.size), asked.values.size, f"{asked.parameter} {value:.4g}")
        return vary(space, value)

    return break_even.tie(asked.space, asked.bought, told, np.asarray(asked.values, dtype=float))


type Problem = ForBudget | ForRate | Compared


def solve(asked: Problem, report: Report) -> Answer | break_even.Tie:
    """The answer to any of the questions."""
    match asked:
        case ForBudget():
            return for_budget(asked, report)
        case ForRate():
            return for_rate(asked, report)
        case Compared():
            return compare(asked, report)
