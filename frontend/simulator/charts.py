"""The numbers that the charts of a simulation draw."""

from __future__ import annotations

import math
from typing import Any

from planner import evaluation
from planner.engine.latency import LoadedTtft
from planner.simulating.document import Asked

type Document = dict[str, Any]

SOURCE = "the weakest kind of figure that it rests on"


def charts(result: Document, asked: Asked, loaded: LoadedTtft | None) -> Document:
    """One document for all of them, in SI units."""
    run, experiment = asked.run, asked.experiment
    given = experiment.deployment.threshold_tokens
    return {
        "ttft": result["ttft_s"],
        "routes": result["ttft_by_route_s"],
        "unloaded": result["steady"]["ttft_unloaded_s"],
        "approximation": {name: getattr(loaded, name) for name in ("mean", "p50", "p90", "p99")} if loaded else None,
        "series": result["series"],
        "capacity": capacity(asked),
        "steady_egress_bps": result["steady"]["egress_bps"],
        "has_link": experiment.deployment.link is not None,
        "given_threshold_tokens": evaluation.number(given),
        "growth_rps": result["growth_rps"],
        "stable": result["stable"],
        "replications": result["replications"],
        "warm_up_s": run.warm_up * run.requests / experiment.rate_rps,
        "provenance": {"kind": result["provenance"], "source": SOURCE},
    }


def capacity(asked: Asked) -> Document | None:
    """What the link carries from each time on; None where there is no link, or no end to what it carries."""
    link, varying = asked.experiment.deployment.link, asked.experiment.transport.capacity
    if link is None or not math.isfinite(link.usable_bps):
        return None
    if varying is None:
        return {"seconds": [0.0], "bps": [link.usable_bps]}
    return {"seconds": varying.times_s.tolist(), "bps": evaluation.numbers(varying.bps)}
