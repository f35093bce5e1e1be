"""Where a simulation and the steady-state formulas part, and why, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from frontend import figures, words
from planner.simulating.document import Asked

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
    """TTFT against the unloaded one, then what is offloaded and what crosses the link against the steady state."""
    if result["ttft_s"]:
        yield _ttft(result)
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
    if not result["stable"]:
        found.append("requests pile up, and what waits has not been prefilled or sent")
    yield from found or _chance(result)


def _chance(result: Document) -> Iterator[str]:
    yield f"randomness, in {result['requests']:,} counted requests (of twenty intervals one misses)"
    yield "what was under way as the warm-up ended and as counting did"
