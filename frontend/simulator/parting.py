"""Where a simulation and the steady-state formulas part, and why, in sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from frontend import figures, words
from frontend.simulator.flows import steady_egress_bps
from frontend.simulator.unheard import unheard
from planner.engine.throughput import evaluate
from planner.simulating.document import Asked, instances
from planner.simulating.prompts import SessionPrompts

type Document = dict[str, Any]

CLOSE = 0.005
"""Relative difference within which a single replication is said to agree."""
FAR = 0.05
"""Relative change of t that is told of."""
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
    if result["stable"] and (result["load"] or 0.0) > 1:
        yield _beyond(result, asked)
    elif not result["stable"]:
        yield from _more_than_capacity(result, asked)
    if result["stable"]:
        yield from _throughput(result)
    if asked.experiment.deployment.prfaas is None:
        return
    share, egress_bps = result["steady"]["offload_fraction"], steady_egress_bps(result)
    moved = list(moves(result, asked))
    if share is not None:
        why = Why(list(_reasons(result, asked, is_share=True)), moved)
        yield from _flow("The offloaded share", result["offload_fraction"], share, figures.percent, "%", why)
    if egress_bps is not None:
        why = Why(list(_reasons(result, asked)), moved)
        yield from _flow("Egress", result["egress_bps"], egress_bps, figures.gbps, "Gbps", why)


def _ttft(result: Document) -> str:
    unloaded, mean = result["steady"]["ttft_unloaded_s"]["p90"], result["ttft_s"]["p90"]["mean"]
    waits = {stage: wait["mean"] for stage, wait in result["waits_s"].items() if wait["mean"] > UNWORTHY_S}
    longest = sorted(waits, key=lambda stage: waits[stage], reverse=True)
    said = [f"{figures.milli(waits[stage])} s {WAITING[stage]}" for stage in longest]
    because = f"requests that pass a stage wait, on average, {words.listed(said)}" if said else "nobody waits"
    return (
        f"P90 TTFT is {mean / unloaded:.2f} times the unloaded one, which leaves queueing and the link out: {because}."
    )


def _throughput(result: Document) -> Iterator[str]:
    """Of a stable run, in which as many leave as come but for what is left of before, or for later."""
    mean, low, high = (result["throughput_rps"][name] for name in ("mean", "low", "high"))
    offered: float = result["rate_rps"]
    if low is None or low <= offered <= high or figures.rate(mean) == figures.rate(offered):
        return
    when = "as counting began than as it ended" if mean > offered else "as counting ended than as it began"
    side = "above" if mean > offered else "below"
    yield (
        f"Throughput, {figures.rate(mean)} req/s, is {side} the {figures.rate(offered)} req/s that arrive: more "
        f"requests waited {when}."
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


def _more_than_capacity(result: Document, asked: Asked) -> Iterator[str]:
    """Why more leaves than Λ_max though queues grow: that is where the first stage is full, and others are not yet."""
    carried, most = result["throughput_rps"]["mean"], result["steady"]["lambda_max_rps"]
    if most is None or figures.rate(carried) == figures.rate(most) or carried < most:
        return
    others = unheard(asked)
    if others:
        yield f"More is carried than Λ_max, {figures.rate(most)} req/s: that is without {words.listed(others)}."
        return
    at = evaluate(asked.experiment.deployment)
    if not at.theta_prfaas_rps or not math.isfinite(at.theta_prfaas_rps + at.theta_pd_p_rps):
        return
    together = min(at.theta_prfaas_rps + at.theta_pd_p_rps, at.theta_pd_d_rps)
    yield (
        f"More is carried than Λ_max, {figures.rate(most)} req/s: there the first stage is full. Beyond it requests "
        "pile up at that stage while the other stages still take more of theirs, up to "
        f"min(Θ_prfaas + Θ_pd-p, Θ_pd-d) = {figures.rate(together)} req/s; not in the shares in which they arrive."
    )


@dataclass(frozen=True, slots=True)
class Why:
    """What makes flows other than the formulas have them, and what moved meanwhile."""

    reasons: list[str]
    moves: list[str]


def _flow(
    what: str,
    simulated: Mapping[str, float | None],
    steady: float,
    write: Callable[[float | None], str],
    unit: str,
    why: Why,
) -> Iterator[str]:
    mean, low, high = (simulated[name] for name in ("mean", "low", "high"))
    if mean is None:
        yield f"{what} was not counted."
        return
    if low is None or high is None:
        agrees, within = abs(mean - steady) <= CLOSE * steady, f"to {100 * CLOSE:g} %"
    else:
        agrees, within = low <= steady <= high, "within the interval"
    if agrees and why.moves:
        yield (
            f"{what}, {write(mean)} {unit}, is near the {write(steady)} {unit} of the formulas, which have t and "
            f"N_p/N_d as given; but {words.listed(why.moves)}."
        )
    elif agrees:
        yield f"{what} is what the formulas say, {within}."
    elif write(mean) != write(steady):
        side = "above" if mean > steady else "below"
        than = f"is {side} the {write(steady)} {unit} of the formulas"
        yield f"{what}, {write(mean)} {unit}, {than}: {words.listed(why.reasons)}."


def moves(result: Document, asked: Asked) -> Iterator[str]:
    """Between what t and N_p/N_d were over time, where they did not stay."""
    series = result["series"]
    known = [value for value in series["threshold_tokens"] if value is not None]
    if known and max(known) > min(known) * (1 + FAR):
        yield f"t was between {figures.tokens(min(known))} and {figures.tokens(max(known))} tokens"
    roles = {"N_p": series.get("prefill_instances"), "N_d": series.get("decode_instances")}
    for name, values in roles.items() if asked.run.roles else ():
        if values and figures.rounded(min(values), 1) != figures.rounded(max(values), 1):
            yield f"{name} was between {min(values):.3g} and {max(values):.3g}"


def _reasons(result: Document, asked: Asked, is_share: bool = False) -> Iterator[str]:
    """What the formulas do not know of, or chance where there is nothing of the kind; of the offloaded share what
    decides on where a request goes, and not how long it takes to get there."""
    run, given = asked.run, asked.experiment.deployment.threshold_tokens
    found = []
    if run.policy in ("all_local", "all_remote"):
        found.append(f"the policy prefills everything {'locally' if run.policy == 'all_local' else 'remotely'}")
    raised = max((value for value in result["series"]["threshold_tokens"] if value is not None), default=0.0)
    if run.policy == "bandwidth_aware" and raised > given * (1 + CLOSE):
        found.append(f"the bandwidth-aware policy raised t from {given:,.0f} up to {raised:,.0f} tokens")
    found += _of_prompts(result, asked)
    if not is_share or _was_cut_off(asked):
        found += _of_link(result, asked)
    found += _of_conditions(result, asked, is_share)
    if not result["stable"]:
        found.append("requests pile up, and what waits has not been prefilled or sent")
    yield from found or _chance(result)


def _was_cut_off(asked: Asked) -> bool:
    """Whether requests may have stayed because nothing crossed the link."""
    run = asked.run
    weathers = [weather for weather in (run.weather, *(path.weather for path in run.paths)) if weather]
    carried = [window.bps for weather in weathers for window in weather.windows]
    carried += [bps for weather in weathers if weather.recording for bps in weather.recording.bps]
    carried += [run.brown_out.bps] if run.brown_out else []
    return run.failover and (any(weather.outages for weather in weathers) or 0.0 in carried)


def _may_have_handed_over(asked: Asked) -> bool:
    """Whether of some cluster nothing that prefills may have been up, so that the other one took its requests."""
    run, there = asked.run, instances(asked.experiment.deployment)
    down = dict.fromkeys(("prfaas", "pd_p"), 0)
    for each in run.faults:
        if each.place in down:
            down[each.place] += each.instances or there[each.place]
    whole = any(0 < there[place] <= count for place, count in down.items())
    return run.failover and (whole or any(each.place in down for each in run.failures))


def _of_link(result: Document, asked: Asked) -> Iterator[str]:
    """What the link carried."""
    run, link = asked.run, asked.experiment.deployment.link
    if out := run.brown_out:
        yield f"the link carried {figures.gbps(out.bps)} Gbps for {out.end_s - out.begin_s:,g} s"
    possible = [value for value in result["series"].get("capacity_bps") or () if value is not None]
    if run.weather and link and possible:
        mean = sum(possible) / len(possible)
        yield f"the link could carry {figures.gbps(mean)} Gbps on average, and not {figures.gbps(link.usable_bps)}"


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


def _of_conditions(result: Document, asked: Asked, is_share: bool) -> Iterator[str]:
    """What was not all the time as the formulas have it; of where a request goes, faults and roles decide by failover
    and by the t that follows the split."""
    run = asked.run
    if asked.experiment.faults and (not is_share or _may_have_handed_over(asked)):
        took = " (of a cluster with nothing up the other one takes requests)" if _may_have_handed_over(asked) else ""
        yield f"instances were down for a while{took}"
    retunes = run.roles and (run.roles.retunes or not is_share)
    if retunes and (changes := result.get("conversions")) and changes["mean"]:
        moved = list(moves(result, asked))
        between = f" ({words.listed(moved)})" if moved else ""
        yield f"instances changed their role {changes['mean']:,.1f} times in a replication{between}"


def _chance(result: Document) -> Iterator[str]:
    yield f"randomness, in {result['requests']:,} counted requests (of twenty intervals one misses)"
    yield "what was under way as the warm-up ended and as counting did"
