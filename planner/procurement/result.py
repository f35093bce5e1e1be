"""From the engine's answers to result documents, with units in the names and the evidence that they rest on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from planner import __version__, evaluation
from planner.documents.fields import PROVENANCE_KINDS
from planner.engine import equal_cost
from planner.engine.break_even import Tie
from planner.engine.cost import Cost, per_million
from planner.engine.front import Point
from planner.engine.latency import LoadedTtft
from planner.engine.lengths import mean
from planner.engine.marginal import Step
from planner.engine.options import Space
from planner.engine.purchasing import Answer, Purchase
from planner.engine.throughput import Form, Stage, evaluate
from planner.procurement import build, filled
from planner.procurement.document import Asked
from planner.scenario import Scenario
from planner.scenario.build import deployment

FULL = 0.99
"""Utilisation from which a queue is as good as endless."""
STAGES = {Stage.PRFAAS: "PrfaaS", Stage.LINK: "the link", Stage.PD_P: "PD prefill", Stage.PD_D: "decode"}


def answer_document(asked: Asked, space: Space, answer: Answer, budget_usd_per_h: float | None) -> dict[str, Any]:
    """The answer to a question of equal or of least cost."""
    best, alone = answer.best, answer.alone
    head = _head(asked)
    head["notes"] += _notes_on(answer, asked.question.rate_rps)
    return {
        **head,
        "budget_usd_per_h": budget_usd_per_h,
        "rate_rps": asked.question.rate_rps,
        "best": purchase_document(asked, space, best) if best else None,
        "without_prfaas": purchase_document(asked, space, alone) if alone else None,
        "given": given_document(asked, asked.question.rate_rps),
        "given_at_best": _given_at_best(asked, answer),
        "gain": _gain(asked, best, alone) if best and alone else None,
        "listed": _listed_document(asked, answer.listed_gains),
        "bound": None if answer.bound is None or asked.question.promise else evaluation.number(answer.bound),
        "distance_to_bound": _distance(asked, answer),
        "next": [_step_document(asked, space, step) for step in answer.steps],
        "buy_next": _buy_next(asked, space, answer.steps),
        "most": purchase_document(asked, space, answer.most) if answer.most else None,
        "refusal": _refusal(asked, answer, budget_usd_per_h),
        "reserve": reserve_words(asked),
        "combinations": answer.combinations,
        "searched": searched_document(answer.tried, answer.pruned, answer.gap),
        "scenario_document": filled.scenario_of(asked, space, best.bought).document() if best else None,
    }


def tie_document(asked: Asked, tie: Tie) -> dict[str, Any]:
    """The gain of the scenario's deployment over the best one without PrfaaS, over a parameter."""
    vary = asked.question.vary
    return {
        **_head(asked),
        "parameter": vary.parameter if vary else "",
        "values": tie.values.tolist(),
        "gain": evaluation.numbers(tie.gain),
        "ties": list(tie.ties),
        "given": given_document(asked),
    }


def _no_points(asked: Asked, most_rps: float | None) -> str:
    least = (asked.question.rate_rps or 0.0) / asked.question.rates
    most = "nothing" if most_rps is None else f"at most {most_rps:.4g} req/s"
    return f"What may be bought carries {most}; the least of these rates is {least:.4g} req/s. Allow more of it."


def _given_at_best(asked: Asked, answer: Answer) -> dict[str, Any] | None:
    """What the scenario would carry at its best split and threshold, beside the best without PrfaaS for its money."""
    given = answer.given
    if given is None or answer.given_gain is None:
        return None
    return {
        "prefill_instances": given.bought.prefill_instances,
        "decode_instances": given.bought.decode_instances,
        "threshold_tokens": evaluation.number(given.bought.threshold_tokens),
        "lambda_max_rps": given.limit.lambda_max_rps,
        "usd_per_h": given.cost.usd_per_h,
        "gain": evaluation.number(answer.given_gain),
    }


def _listed_document(asked: Asked, gains: Sequence[float]) -> list[dict[str, Any]]:
    """How the scenario as given compares with the best without PrfaaS for the same money at the catalogue's cheapest
    and at its dearest prices; empty where it does not list all the chips, or there is no PrfaaS."""
    fields = {"listed": asked.question.listed, "listed_dearest": asked.question.listed_dearest}
    return [
        {
            "gain": evaluation.number(gain),
            "prices": [
                {
                    "hardware": price.name,
                    "usd_per_gpu_hour": price.usd_per_gpu_hour,
                    **asked.provenance(f"{field}.{price.name}"),
                }
                for price in prices
            ],
        }
        for gain, (field, prices) in zip(gains, fields.items(), strict=bool(gains))
    ]


def _notes_on(answer: Answer, rate_rps: float | None) -> list[str]:
    """What a reader of the answer must know beside its figures."""
    if answer.best is None or rate_rps is None or rate_rps < FULL * answer.best.limit.lambda_max_rps:
        return []
    return [
        "At this rate a stage is busy nearly all the time, so that its queue hardly ever empties and TTFT under load "
        "says little. Plan for a target utilisation below 100 %, or promise a TTFT."
    ]


def reserve_words(asked: Asked) -> str:
    """What a purchase was planned with that the scenario made of it does not say; empty where that is nothing."""
    reserve = asked.question.reserve
    words = [
        f"{reserve.target_utilisation:.4g} target utilisation" if reserve.target_utilisation < 1 else "",
        f"{reserve.spare_instances} spare instances of each role" if reserve.spare_instances else "",
        f"{reserve.spare_lines} spare lines of the link" if reserve.spare_lines else "",
        f"{reserve.link_headroom:.4g} of the link kept free" if reserve.link_headroom else "",
    ]
    said = ", ".join(word for word in words if word)
    return (
        f"Planned with {said}: evaluated by itself the scenario carries more, since it uses that too." if said else ""
    )


def searched_document(tried: int, pruned: int, gap: float) -> dict[str, Any]:
    """What a search took: what was tried, what was left out because it could not be better, and the gap that is left.

    `gap` is by what share a cheaper purchase may have been missed for want of time, null where none was found at all.
    """
    return {"tried": tried, "pruned": pruned, "gap": evaluation.number(gap)}


def front_document(
    asked: Asked, points: list[dict[str, Any]], parts: list[dict[str, Any]], most_rps: float | None
) -> dict[str, Any]:
    """The front of cost, rate and TTFT: points by rate, then cost; `parts` are what each rate took."""
    gaps = [part["gap"] for part in parts]
    return {
        **_head(asked),
        "percentile": asked.question.percentile,
        "points": points,
        "searched": {
            "tried": sum(part["tried"] for part in parts),
            "pruned": sum(part["pruned"] for part in parts),
            "gap": None if None in gaps else max(gaps, default=0.0),
        },
        "refusal": "" if points else _no_points(asked, most_rps),
        "given": given_document(asked),
    }


def point_document(asked: Asked, space: Space, point: Point) -> dict[str, Any]:
    """A point of a front: a purchase at a rate, its cost there and its TTFT under load."""
    limit = evaluate(equal_cost.deployment(space, point.bought))
    share = min(point.rate_rps / limit.lambda_max_rps, 1.0)
    cost = equal_cost.cost(space, point.bought, limit.egress_bps * share)
    purchase = Purchase(point.bought, limit, cost, point.ttft)
    return {"rate_rps": point.rate_rps} | purchase_document(asked, space, purchase, point.rate_rps)


def standing(point: dict[str, Any], percentile: int) -> tuple[float, float, float]:
    """What a point is compared by: rate, USD an hour, seconds."""
    return point["rate_rps"], point["cost"]["usd_per_h"], point["ttft_loaded_s"][f"p{percentile}"]


def _head(asked: Asked) -> dict[str, Any]:
    kinds = [asked.provenance(f"prices.{price.name}")["kind"] for price in asked.question.prices]
    rests_on = evaluation.evaluate(asked.scenario, asked.question.form)["provenance"]
    return {
        "scenario": asked.scenario.name,
        "problem": asked.question.problem,
        "form": asked.question.form,
        "prices": [
            {
                "hardware": price.name,
                "usd_per_gpu_hour": price.usd_per_gpu_hour,
                **asked.provenance(f"prices.{price.name}"),
            }
            for price in asked.question.prices
        ],
        "provenance": max([rests_on, *kinds], key=PROVENANCE_KINDS.index),
        "notes": list(_notes(asked)),
        "version": __version__,
    }


def _notes(asked: Asked) -> Iterable[str]:
    remote, _, links = build.choices(asked)
    free = [link.name for link in links if link.price is None]
    if remote and free:
        yield f"No price is given for {', '.join(free)}: the link counts as free, by the month and by the byte."
    local = asked.scenario.parsed.slo.tokens_per_s
    if local and asked.scenario.parsed.decode.step_s * local > 1 + 1e-9:
        yield f"Decode gives {1 / asked.scenario.parsed.decode.step_s:.4g} tokens/s, below the {local:.4g} promised."
    if asked.scenario.parsed.routing.policy == "blind":
        yield "The scenario as given sends a share of all requests to PrfaaS; everything else here is routed by length."


# --- one purchase ------------------------------------------------------------------------------------------------


def purchase_document(asked: Asked, space: Space, purchase: Purchase, rate_rps: float | None = None) -> dict[str, Any]:
    """A purchase: what it is, what it carries at its limit, and what it costs at the rate asked for, or there."""
    bought, limit = purchase.bought, purchase.limit
    prfaas = None if bought.prfaas is None else space.prfaas[bought.prfaas]
    served_rps = min(rate_rps or asked.question.rate_rps or limit.lambda_max_rps, limit.lambda_max_rps)
    return {
        "prfaas": _instances(asked, prfaas.name, bought.prfaas_instances) if prfaas else None,
        "pd": _instances(asked, space.pd[bought.pd].name, bought.prefill_instances + bought.decode_instances)
        | {"prefill_instances": bought.prefill_instances, "decode_instances": bought.decode_instances},
        "link": None if bought.link is None else space.links[bought.link].name,
        "threshold_tokens": evaluation.number(bought.threshold_tokens) if prfaas else None,
        "lambda_max_rps": limit.lambda_max_rps,
        "binding": [stage.value for stage in limit.binding],
        "offload_fraction": limit.offload_fraction,
        "egress_bps": limit.egress_bps,
        "ttft_unloaded_s": {
            "mean": limit.ttft.mean,
            "p50": limit.ttft.p50,
            "p90": limit.ttft.p90,
            "p99": limit.ttft.p99,
        },
        "ttft_loaded_s": _ttft_document(purchase.ttft) if purchase.ttft else None,
        "bought": filled.as_json(bought),
        "cost": cost_document(purchase.cost, served_rps, *_tokens(asked)),
    }


def _ttft_document(ttft: LoadedTtft) -> dict[str, Any]:
    """TTFT under load, by approximation, and the mean wait at each stage; null where a queue never ends."""
    return {
        **{name: evaluation.number(getattr(ttft, name)) for name in ("mean", "p50", "p90", "p99")},
        "waits_s": {stage.value: evaluation.number(wait) for stage, wait in ttft.waits_s.items()},
    }


def _instances(asked: Asked, profile: str, instances: float) -> dict[str, Any]:
    found = build.named(asked.scenario, profile)
    return {
        "profile": profile,
        "hardware": found.hardware,
        "gpus_per_instance": found.gpus_per_instance,
        "instances": instances,
        "usd_per_h": build.usd_per_h(asked, found),
    }


def _tokens(asked: Asked) -> tuple[float, float]:
    """Mean tokens in, as users send them, and out, of a request."""
    traffic = asked.scenario.parsed.traffic
    return mean(traffic.input_tokens.lengths()), traffic.mean_output_tokens()


def cost_document(cost: Cost, rate_rps: float, input_tokens: float, output_tokens: float) -> dict[str, Any]:
    """USD an hour and the share of each part; prefill and link by input tokens, decode by output tokens."""
    parts = {
        "prfaas": cost.prfaas,
        "prefill": cost.prefill,
        "decode": cost.decode,
        "link_time": cost.link_time,
        "link_volume": cost.link_volume,
    }
    total = cost.usd_per_h
    return {
        "usd_per_h": total,
        "parts_usd_per_h": parts,
        "shares": {part: usd / total if total > 0 else 0.0 for part, usd in parts.items()},
        "usd_per_million_input_tokens": evaluation.number(per_million(cost.input_usd_per_h, rate_rps * input_tokens)),
        "usd_per_million_output_tokens": evaluation.number(per_million(cost.decode, rate_rps * output_tokens)),
    }


def given_document(asked: Asked, rate_rps: float | None = None) -> dict[str, Any]:
    """What the scenario carries as it is given, at its own threshold and split, and what it costs, at its limit or at
    the rate that was asked about, if it carries that."""
    scenario = asked.scenario
    result = evaluation.result_document(scenario, deployment(scenario), Form(asked.question.form))
    served_rps = min(rate_rps or result["lambda_max_rps"], result["lambda_max_rps"])
    cost = scenario_cost(asked, scenario, served_rps)
    traffic = scenario.parsed.traffic
    tokens = mean(traffic.input_tokens.lengths()), traffic.mean_output_tokens()
    return {
        "scenario": scenario.name,
        "lambda_max_rps": result["lambda_max_rps"],
        "instances": result["instances"],
        "egress_bps": result["egress_bps"],
        "cost": cost_document(cost, served_rps, *tokens),
    }


def scenario_cost(asked: Asked, scenario: Scenario, rate_rps: float | None = None) -> Cost:
    """What a scenario costs an hour, at its Λ_max or another rate. Raises DocumentError where a chip has no price."""
    limit = evaluate(deployment(scenario), Form(asked.question.form))
    share = 1.0 if rate_rps is None or limit.lambda_max_rps <= 0 else rate_rps / limit.lambda_max_rps
    return equal_cost.cost(build.own_space(asked, scenario), build.bought(scenario), limit.egress_bps * share)


# --- in words ----------------------------------------------------------------------------------------------------


def _gain(asked: Asked, best: Purchase, alone: Purchase) -> float:
    """How many times as much is carried for the budget, or how many times as much it costs without PrfaaS."""
    if asked.question.problem == "least_cost":
        return alone.cost.usd_per_h / best.cost.usd_per_h
    return best.limit.lambda_max_rps / alone.limit.lambda_max_rps


def _distance(asked: Asked, answer: Answer) -> float | None:
    """How far whole instances are from fractions, as a share."""
    if answer.best is None or not answer.bound or asked.question.promise:
        return None
    if asked.question.problem == "least_cost":
        return 1 - answer.bound / answer.best.cost.usd_per_h
    return answer.bound / answer.best.limit.lambda_max_rps - 1


def _step_document(asked: Asked, space: Space, step: Step) -> dict[str, Any]:
    return {
        "what": step.what,
        "text": _what(asked, space, step),
        "gain_rps": step.gain_rps,
        "usd_per_h": step.usd_per_h,
        "rps_per_usd_per_h": evaluation.number(step.rps_per_usd_per_h),
    }


def _what(asked: Asked, space: Space, step: Step) -> str:
    if step.what == "link" and step.bought.link is not None:
        return f"link {space.links[step.bought.link].name}"
    at = step.bought.prfaas if step.what == "prfaas" else step.bought.pd
    option = (space.prfaas if step.what == "prfaas" else space.pd)[at or 0]
    found = build.named(asked.scenario, option.name)
    side = "PrfaaS" if step.what == "prfaas" else "PD"
    return f"one {side} instance ({found.gpus_per_instance} × {found.hardware})"


def _buy_next(asked: Asked, space: Space, steps: tuple[Step, ...]) -> str:
    """The sentence that a planner takes away."""
    if not steps or steps[0].gain_rps <= 0:
        return ""
    first = steps[0]
    brings = f"{first.gain_rps:.3g} req/s for {first.usd_per_h:.4g} USD/h"
    return f"Buy next: {_what(asked, space, first)}, which brings {brings}."


def _refusal(asked: Asked, answer: Answer, budget_usd_per_h: float | None) -> str:
    """Why there is no purchase: which constraint, and by how much."""
    if answer.best is not None:
        return ""
    if answer.gap > 0:
        return "Nothing was found in the time that was given: allow more seconds, or fewer options."
    if asked.question.problem == "equal_cost":
        least = answer.least_usd_per_h
        costs = "nothing may be bought that carries any" if least is None else f"the least that does costs {least:,.4g}"
        return f"{budget_usd_per_h:,.4g} USD an hour pay for no deployment: with the reserve, {costs}."
    most, wanted = answer.most, asked.question.rate_rps or 0.0
    promise = asked.question.promise
    if promise and answer.least_s is not None and answer.least_s > promise.ttft_s:
        return (
            f"Not feasible: P{promise.percentile} TTFT cannot be less than {answer.least_s:.3g} s, which prefill and "
            f"transfer take without any queue; {promise.ttft_s:g} s were promised. What binds is prefill: take a "
            "faster chip, or promise more."
        )
    if promise and most is not None and most.limit.lambda_max_rps > wanted:
        return (
            f"Not feasible: {wanted:.4g} req/s can be carried, but not with P{promise.percentile} TTFT within "
            f"{promise.ttft_s:g} s by the instances that may be bought. Allow more of them, or promise more."
        )
    if most is None:
        return "Nothing can be bought that carries any request."
    bound = " and ".join(STAGES[stage] for stage in most.limit.binding)
    short = wanted - most.limit.lambda_max_rps
    return (
        f"Not feasible: with all that may be bought Λ_max is {most.limit.lambda_max_rps:.4g} req/s, "
        f"{short:.4g} req/s short of {wanted:.4g}; what binds is {bound}. Allow more instances or a wider link."
    )
