"""The numbers that the charts of a simulation draw."""

from __future__ import annotations

import math
from typing import Any

from frontend.simulator.flows import carried_rps, steady_egress_bps
from planner import evaluation
from planner.engine.latency import LoadedTtft
from planner.management import possible, simulated_facts
from planner.simulating.document import Asked

type Document = dict[str, Any]

SOURCE = "the weakest kind of figure that it rests on"


def charts(result: Document, asked: Asked, loaded: LoadedTtft | None) -> Document:
    """One document for all of them, in SI units."""
    run, experiment = asked.run, asked.experiment
    given = experiment.deployment.threshold_tokens
    return {
        "ttft": shown_times(result["ttft_s"]),
        "decoding": simulated_facts.decoding(run),
        "routes": {route: shown_times(times) for route, times in result["ttft_by_route_s"].items()},
        "unloaded": result["steady"]["ttft_unloaded_s"],
        "approximation": {name: getattr(loaded, name) for name in ("mean", "p50", "p90", "p99")} if loaded else None,
        "series": result["series"],
        "capacity": capacity(result, asked),
        "steady_egress_bps": steady_egress_bps(result),
        "steady_rate_rps": carried_rps(result),
        "has_link": experiment.deployment.link is not None,
        "given_threshold_tokens": evaluation.number(given),
        "remote_share": experiment.remote_share,
        "growth_rps": result["growth_rps"],
        "stable": result["stable"],
        "replications": result["replications"],
        "warm_up_s": run.warm_up * run.requests / experiment.rate_rps,
        "provenance": {"kind": result["provenance"], "source": SOURCE},
    }


def shown_times(times: Document | None) -> Document | None:
    """Times with bounds that can be."""
    return times and {name: possible.clipped(estimate) for name, estimate in times.items()}


def capacity(result: Document, asked: Asked) -> Document | None:
    """What the link carries from each time on; None where there is no link, or no end to what it carries.

    Where it changes, by the bins of the time series, averaged over replications.
    """
    link, paths = asked.experiment.deployment.link, asked.experiment.transport.paths
    if link is None or not math.isfinite(link.usable_bps):
        return None
    series = result["series"]
    if not any(path.weather for path in paths) or not series.get("capacity_bps"):
        return {"seconds": [0.0], "bps": [link.usable_bps]}
    bins = len(series["capacity_bps"])
    return {"seconds": [series["bin_s"] * number for number in range(bins)], "bps": series["capacity_bps"]}
