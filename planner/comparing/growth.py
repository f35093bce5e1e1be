"""What becomes of the same fleets under more traffic and with faster prefill chips, and when their links bind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from planner import __version__
from planner.comparing.facts import weaker
from planner.comparing.inputs import inputs, kind_under, subject
from planner.comparing.questions import GrowthAsked
from planner.comparison import Asked
from planner.engine import growth
from planner.engine.growth import Limits
from planner.engine.throughput import Stage
from planner.engine.varying import Outcome, Subject, tuned
from planner.evaluation import number

STAGES = {Stage.PRFAAS: "PrfaaS", Stage.LINK: "The link", Stage.PD_P: "PD prefill", Stage.PD_D: "Decode"}
BASE_LOAD = 0.85
"""Share of Λ_max that is taken as today's traffic where nobody says what it is."""


def grown(asked: Asked, question: GrowthAsked) -> dict[str, Any]:
    """The result document, in SI units; null for what a deployment does not have."""
    found = [_scenario(asked, place, question) for place in range(len(asked.scenarios))]
    return {
        "comparison": asked.comparison.name,
        "form": asked.comparison.form,
        "traffic": question.traffic,
        "chips": question.chips,
        "remote_only": question.remote_only,
        "retuned": question.retuned,
        "scenarios": found,
        "provenance": weaker(*(each["kind"] for each in found)),
        "notes": _notes(question),
        "version": __version__,
    }


def _scenario(asked: Asked, place: int, question: GrowthAsked) -> dict[str, Any]:
    given = asked.scenarios[place]
    now = subject(asked, given)
    offered = given.parsed.traffic.rate_rps
    base_rps = growth.limits(now).lambda_max_rps * BASE_LOAD if offered is None else offered
    tuned_from = growth.link_binds_from_tuned(now, question.remote_only) if question.retuned else None
    alone = growth.link_binds_from(now, question.remote_only)
    before = growth.before_link(now, question.remote_only)
    return {
        "name": given.name,
        "title": asked.titles[place],
        "base_rps": base_rps,
        "base": f"{BASE_LOAD:.0%} of Λ_max as given" if offered is None else "traffic.rate_rps",
        "link_usable_bps": number(now.deployment.usable_bps) if now.deployment.prfaas else None,
        "link_binds_from": {"as_given": None if before else alone, "other_stages_aside": alone, "retuned": tuned_from},
        "binds_before_link": [stage.value for stage in before] if alone else [],
        "sentence": _sentence(now, alone, before, question.remote_only),
        "speeds": [_speed(now, speed_up, base_rps, question) for speed_up in question.chips],
        "kind": kind_under(inputs(asked, given, now), Outcome.LAMBDA_MAX),
    }


def _speed(now: Subject, speed_up: float, base_rps: float, question: GrowthAsked) -> dict[str, Any]:
    """A fleet with faster chips, under each traffic."""
    faster = growth.faster(now, speed_up, question.remote_only)
    limits = growth.limits(tuned(faster) if question.retuned else faster)
    usable_bps = now.deployment.usable_bps
    return {
        "chips": speed_up,
        "threshold_tokens": number(limits.threshold_tokens),
        "offload_fraction": limits.offload_fraction,
        "lambda_max_rps": limits.lambda_max_rps,
        "stage_lambda_rps": {stage.value: number(rate) for stage, rate in limits.stage_rps.items()},
        "binding": [stage.value for stage in limits.binding],
        "saturates_at": {stage.value: number(rate / base_rps) if base_rps else None
                         for stage, rate in limits.stage_rps.items()},
        "cells": [_cell(limits, traffic, base_rps * traffic, usable_bps) for traffic in question.traffic],
    }  # fmt: skip


def _cell(limits: Limits, traffic: float, offered_rps: float, usable_bps: float) -> dict[str, Any]:
    """One traffic on one fleet: what is carried of it, and how full each stage is then."""
    carried = min(offered_rps, limits.lambda_max_rps)
    egress_bps = carried * limits.link_bits
    return {
        "traffic": traffic,
        "offered_rps": offered_rps,
        "carried_rps": carried,
        "is_carried": offered_rps <= limits.lambda_max_rps,
        "utilisation": {stage.value: carried / rate if rate > 0 else 1.0 for stage, rate in limits.stage_rps.items()},
        "egress_bps": egress_bps,
        "link_share": egress_bps / usable_bps if 0 < usable_bps < math.inf else None,
    }


def _sentence(now: Subject, alone: float | None, before: Sequence[Stage], remote_only: bool) -> str:
    if now.deployment.prfaas is None:
        return "It has no link."
    if now.deployment.usable_bps == 0:
        return "Its link is down: nothing crosses it, however fast chips are."
    if alone is None:
        why = "it is unlimited" if math.isinf(now.deployment.usable_bps) else "nothing crosses it"
        return f"Its link never binds: {why}."
    chips = "PrfaaS chips" if remote_only else "prefill chips"
    if before:
        names = " and ".join(STAGES[stage] for stage in before)
        return f"{names} saturates before the link, however fast {chips} are; were it no limit: at {alone:.3g} ×."
    if alone <= 1:
        return f"The link binds already, and would with {chips} {alone:.3g} times as fast."
    return f"The link binds once {chips} are {alone:.3g} times as fast, at the given t."


def _notes(question: GrowthAsked) -> list[str]:
    where = "of PrfaaS" if question.remote_only else "of PrfaaS and of PD-P"
    t = "The threshold is the one that carries the most in each case." if question.retuned else "t stays as given."
    return [
        f"Faster chips divide T_prefill {where} by the factor; decode, the link and S_kv stay as they are.",
        t,
        "Carried is the lesser of the traffic and Λ_max; egress is carried · p · E[S_kv | offloaded].",
    ]
