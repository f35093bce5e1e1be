"""Where a simulation and the steady-state formulas part, and why, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from frontend import figures, words
from frontend.simulator.unheard import unheard
from planner.simulating.document import Asked
from planner.simulating.prompts import SessionPrompts

type Document = dict[str, Any]

CLOSE = 0.005
"""Relative difference within which a single replication is said to agree."""
WAITING = {
    "prfaas": "for a PrfaaS instance",
    "pd_p": "for a PD prefill instance",
    "pd_d": "for a decode slot",
    "link": "for the tail of the transfer",
}
UNWORTHY_S = 0.0005
"""Of a mean wait: what is rounded to nothing."""


def partings(result: Document, asked: Asked) -> Iterator[str]:
    """TTFT against the unloaded one, what the formulas do not know of, then what is offloaded and what crosses the link
    against the steady state."""
    if result["ttft_s"]:
        yield _ttft(result)
    if unknown := unheard(asked):
        yield f"The formulas know nothing of {words.listed(unknown)}."
    steady = result["steady"]
    if result["stable"] and (result["load"] or 0.0) > 1:
        yield _beyond(result, asked)
    flows: list[tuple[str, str, Callable[[float | None], str], str]] = [
        ("The offloaded share", "offload_fraction", figures.percent, "%"),
        ("Egress", "egress_bps", figures.gbps, "Gbps"),
    ]
    if asked.experiment.deployment.prfaas is None:
        return
    for what, field, write, unit in flows:
        if steady[field] is not None:
            yield _flow(what, result[field], steady[field], write, unit, list(_reasons(result, asked)))


def _ttft(result: Document) -> str:
    unloaded, mean = result["steady"]["ttft_unloaded_s"]["p90"], result["ttft_s"]["p90"]["mean"]
    waits = {stage: wait["mean"] for stage, wait in result["waits_s"].items() if wait["mean"] > UNWORTHY_S}
    longest = sorted(waits, key=lambda stage: waits[stage], reverse=True)
    said = [f"{figures.milli(waits[stage])} s {WAITING[stage]}" for stage in longest]
    because = f"requests that pass a stage wait, on average, {words.listed(said)}" if said else "nobody waits"
    return (
        f"P90 TTFT is {mean / unloaded:.2f} times the unloaded one, which leaves queueing and the link out: {because}."
    )


def _beyond(result: Document, asked: Asked) -> str:
    """Why more than Λ_max is carried."""
    most = figures.rate(result["steady"]["lambda_max_rps"])
    others = [name for name in unheard(asked) if asked.run.policy == "as_given" or name != "the routing policy"]
    if others:
        return f"More is carried than Λ_max, {most} req/s: that is by the formulas, without {words.listed(others)}."
    if asked.run.policy == "as_given":
        return f"More arrive than Λ_max, {most} req/s; too few were simulated for the queues to be seen to grow."
    return f"More is carried than Λ_max, {most} req/s: that is of t as given, and the policy routes otherwise."


def _flow(
    what: str,
    simulated: Mapping[str, float | None],
    steady: float,
    write: Callable[[float | None], str],
    unit: str,
    reasons: list[str],
) -> str:
    mean, low, high = (simulated[name] for name in ("mean", "low", "high"))
    if mean is None:
        return f"{what} was not counted."
    if low is None or high is None:
        agrees, within = abs(mean - steady) <= CLOSE * steady, f"to {100 * CLOSE:g} %"
    else:
        agrees, within = low <= steady <= high, "within the interval"
    if agrees:
        return f"{what} is what the formulas say, {within}."
    side = "above" if mean > steady else "below"
    return (
        f"{what}, {write(mean)} {unit}, is {side} the {write(steady)} {unit} of the formulas: {words.listed(reasons)}."
    )


def _reasons(result: Document, asked: Asked) -> Iterator[str]:
    """What the formulas do not know of, or chance where there is nothing of the kind."""
    run, given = asked.run, asked.experiment.deployment.threshold_tokens
    found = []
    if run.policy in ("all_local", "all_remote"):
        found.append(f"the policy prefills everything {'locally' if run.policy == 'all_local' else 'remotely'}")
    raised = max((value for value in result["series"]["threshold_tokens"] if value is not None), default=0.0)
    if run.policy == "bandwidth_aware" and raised > given * (1 + CLOSE):
        found.append(f"the bandwidth-aware policy raised t from {given:,.0f} up to {raised:,.0f} tokens")
    if out := run.brown_out:
        found.append(f"the link carried {figures.gbps(out.bps)} Gbps for {out.end_s - out.begin_s:,g} s")
    found += _of_prompts(result, asked)
    found += _of_conditions(result, asked)
    if not result["stable"]:
        found.append("requests pile up, and what waits has not been prefilled or sent")
    yield from found or _chance(result)


def _of_prompts(result: Document, asked: Asked) -> Iterator[str]:
    """Why other lengths than the formulas' are compared with t, and sent."""
    run = asked.run
    if run.caches and (spared := result.get("cached_fraction")):
        have = "have the caches endless" if isinstance(run.prompts, SessionPrompts) else "have the scenario's lengths"
        yield f"prefix caches spared {figures.percent(spared['mean'])} % of prompts' tokens, and the formulas {have}"
        if run.caches.routing == "length":
            yield "whole prompts are compared with t"
    elif isinstance(run.prompts, SessionPrompts):
        yield "nothing is cached, and the formulas have an endless cache"
    elif run.prompts:
        yield "requests come as they were recorded"


def _of_conditions(result: Document, asked: Asked) -> Iterator[str]:
    """What was not all the time as the formulas have it."""
    run, link = asked.run, asked.experiment.deployment.link
    possible = [value for value in result["series"].get("capacity_bps") or () if value is not None]
    if run.weather and link and possible:
        mean = sum(possible) / len(possible)
        yield f"the link could carry {figures.gbps(mean)} Gbps on average, and not {figures.gbps(link.usable_bps)}"
    if asked.experiment.faults:
        others = ", and others took their requests" if run.failover else ""
        yield f"instances were down for a while{others}"
    if run.roles and (changes := result.get("conversions")) and changes["mean"]:
        follows = ", and t with them" if asked.experiment.best_tokens else ""
        yield f"instances changed their role {changes['mean']:,.1f} times in a replication{follows}"


def _chance(result: Document) -> Iterator[str]:
    yield f"randomness, in {result['requests']:,} counted requests (of twenty intervals one misses)"
    yield "what was under way as the warm-up ended and as counting did"
