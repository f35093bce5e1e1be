"""From what replications counted to a result document, beside what the steady-state formulas say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from planner import __version__, evaluation
from planner.engine.simulation import Estimate, Experiment, Replication, Report, Times, goodput, report
from planner.engine.throughput import evaluate
from planner.scenario.evidence import evidence
from planner.simulating.document import Asked

SERIES = (
    "egress_bps",
    "egress_min_bps",
    "egress_max_bps",
    "capacity_bps",
    "resent_fraction",
    "threshold_tokens",
    "in_system",
    "waiting",
    "prfaas_instances",
    "prefill_instances",
    "decode_instances",
)
LEAST_ANSWERS = 10
"""Times that an answer takes: a run that is not longer has much to do with an empty system."""


def document(asked: Asked, replications: Sequence[Replication], is_window: bool = False) -> dict[str, Any]:
    """The result of all replications together, in SI units; null where there is nothing to say.

    Of a window of time that is over, TTFT is told even where queues grew in it: how long it lasts is not our choice.
    """
    found, experiment = report(asked.experiment, replications), asked.experiment
    has_times = found.stable or (is_window and not found.unfinished)
    steady = evaluate(experiment.deployment)
    rests_on = evidence(
        asked.scenario, {stage.value for stage in evaluation.used_stages(experiment.deployment, steady)}
    )
    return {
        "scenario": asked.scenario.name,
        "rate_rps": experiment.rate_rps,
        "load": experiment.rate_rps / steady.lambda_max_rps if steady.lambda_max_rps > 0 else None,
        "policy": asked.run.policy,
        "decode": "by_iteration" if asked.run.decode.iterations else "by_request",
        "replications": found.replications,
        "requests": found.requests,
        "seed": asked.run.seed,
        "stable": found.stable,
        "recovering": found.recovering,
        "growth_rps": _estimate(found.growth_rps),
        "unfinished": found.unfinished,
        "throughput_rps": _estimate(found.throughput_rps),
        "ttft_s": _times(found.ttft_s) if has_times else None,
        "tpot_s": _tpot(found, asked) if has_times else None,
        "tpot_by_route_s": {route: _times(times) for route, times in found.tpot_by_route_s.items() if has_times},
        "ttft_by_route_s": {route: _times(times) for route, times in found.ttft_by_route_s.items() if has_times},
        "goodput": _goodput(asked, replications) if has_times else None,
        "waits_s": {stage.value: _estimate(wait.mean_s) for stage, wait in found.waits.items() if has_times},
        "utilisation": {stage.value: _estimate(busy) for stage, busy in found.utilisation.items()},
        "offload_fraction": _estimate(found.offload_fraction),
        "egress_bps": _estimate(found.egress_bps),
        "resent_fraction": _optional(found.resent_fraction),
        "cached_fraction": _optional(found.cached_fraction),
        "copied_bps": _estimate(found.copied_bps),
        "restarted_fraction": _estimate(found.restarted_fraction),
        "conversions": _estimate(found.conversions),
        "series": _series(found),
        "steady": {
            "lambda_max_rps": steady.lambda_max_rps,
            "offload_fraction": steady.offload_fraction,
            "egress_bps": experiment.rate_rps / steady.lambda_max_rps * steady.egress_bps
            if 0 < steady.lambda_max_rps < math.inf
            else None,
            "ttft_unloaded_s": {
                "mean": steady.ttft.mean,
                "p50": steady.ttft.p50,
                "p90": steady.ttft.p90,
                "p99": steady.ttft.p99,
            },
        },
        "provenance": rests_on.weakest,
        "notes": [] if is_window else _notes(found, experiment),
        "version": __version__,
    }


def _goodput(asked: Asked, replications: Sequence[Replication]) -> dict[str, Any] | None:
    """Requests that keep the promise that was given, if one was."""
    within_s = asked.run.ttft_within_s
    found = None if within_s is None else goodput(replications, within_s)
    if found is None:
        return None
    return {"ttft_within_s": within_s, "share": _estimate(found.share), "rate_rps": _estimate(found.rate_rps)}


def _tpot(found: Report, asked: Asked) -> dict[str, Any] | None:
    """Time between tokens; by request it is the step that the scenario says, of every request."""
    if asked.run.decode.iterations:
        return _times(found.tpot_s)
    step = _estimate(Estimate(asked.experiment.deployment.decode.step_s))
    return dict.fromkeys(("mean", "p50", "p90", "p99"), step) if found.ttft_s else None


def _optional(value: Estimate | None) -> dict[str, float | None] | None:
    return None if value is None else _estimate(value)


def _estimate(value: Estimate) -> dict[str, float | None]:
    """Mean and 95 % confidence interval; without bounds of one replication alone."""
    return {
        name: None if (number := getattr(value, name)) is None else evaluation.number(number)
        for name in ("mean", "low", "high")
    }


def _times(times: Times | None) -> dict[str, Any] | None:
    if times is None:
        return None
    return {name: _estimate(getattr(times, name)) for name in ("mean", "p50", "p90", "p99")}


def _series(found: Report) -> dict[str, Any]:
    series = found.series
    return {
        "bin_s": series.bin_s,
        **{name: evaluation.numbers(getattr(series, name)) for name in SERIES},
    }


def _notes(found: Report, experiment: Experiment) -> list[str]:
    return [*_on_stability(found), *_on_shortness(experiment)]


def _on_shortness(experiment: Experiment) -> list[str]:
    """Of a run that ends before the system has been full for long."""
    decode = experiment.deployment.decode
    span_s, answer_s = experiment.requests / experiment.rate_rps, decode.output_tokens * decode.step_s
    if span_s > LEAST_ANSWERS * answer_s:
        return []
    return [
        f"A short run: requests come for {span_s:,.0f} s, and an answer takes {answer_s:,.0f} s, so that the system is "
        "seldom as full as it will be; simulate more requests."
    ]


def _on_stability(found: Report) -> list[str]:
    if found.recovering:
        return [
            f"Queues were still coming down when the last request came, with {found.series.in_system[-1]:,.0f} in the "
            f"system and {found.series.in_system.max():,.0f} at most: of more requests fewer would have met them."
        ]
    if found.stable:
        return []
    never = f" {found.unfinished:,} requests were never finished: what they waited for never came, or had no room."
    return [
        f"Not stable: {found.growth_rps.mean:.3g} requests more are in the system every second. There is no TTFT then: "
        f"it would say how long was simulated and not how long requests take.{never if found.unfinished else ''}"
    ]
