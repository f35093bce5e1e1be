"""What came of a simulation, as people read it, beside what the formulas say."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from frontend import figures, words
from frontend.simulator.charts import charts
from frontend.simulator.parting import partings
from frontend.simulator.parts import ORDERS, POLICIES
from planner import evaluation
from planner.engine.latency import Circumstances, LoadedTtft, under_load
from planner.simulating.document import Asked

type Document = dict[str, Any]
type Estimate = Mapping[str, float | None]
type Write = Callable[[float | None], str]

PERCENTILES = {"mean": "mean", "p50": "P50", "p90": "P90", "p99": "P99"}
ROUTES = {"local": "prefilled locally", "remote": "prefilled by PrfaaS"}
WAITS = {
    "prfaas": "wait for an instance",
    "link": "tail of the transfer: from the end of the prefill until its KVCache is across",
    "pd_p": "wait for an instance",
    "pd_d": "wait for a slot",
}
"""What a request waits for at each stage."""


@dataclass(frozen=True, slots=True)
class Row:
    """A quantity: as it was simulated, and as others have it."""

    label: str
    formula: str
    cells: tuple[str, ...]
    unit: str = ""
    stage: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the page shows of a result."""

    headline: str
    notes: tuple[str, ...]
    ttft_columns: tuple[str, ...]
    ttft: tuple[Row, ...]
    """Empty where the load is not stable."""
    stages: tuple[Row, ...]
    flows: tuple[Row, ...]
    partings: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    has_intervals: bool
    chart: Document


def answer(result: Document, asked: Asked) -> Answer:
    """The page of a result."""
    formulas = evaluation.evaluate(asked.scenario)
    loaded = approximation(asked) if result["stable"] else None
    routes = [route for route in ROUTES if result["ttft_by_route_s"].get(route)]
    return Answer(
        headline=headline(result),
        notes=tuple(_notes(result, asked)),
        ttft_columns=("all requests", *(ROUTES[route] for route in routes)),
        ttft=tuple(_ttft(result, routes, loaded)),
        stages=tuple(_stages(result, formulas, loaded)),
        flows=tuple(_flows(result)),
        partings=tuple(partings(result, asked)),
        facts=tuple(_facts(result, asked)),
        has_intervals=result["replications"] > 1,
        chart=charts(result, asked, loaded),
    )


def headline(result: Document) -> str:
    """The sentence that a reader takes away."""
    load = "" if result["load"] is None else f", {figures.share(result['load'])} % of capacity"
    at = f"{figures.rate(result['rate_rps'])} req/s{load}"
    if not result["stable"]:
        return f"Not stable: at {at}, {_grows(result)}."
    if not result["ttft_s"]:
        return f"At {at}, no request was counted."
    p90 = interval(result["ttft_s"]["p90"], figures.seconds, " s")
    unloaded = figures.seconds(result["steady"]["ttft_unloaded_s"]["p90"])
    return f"At {at}, P90 TTFT is {p90}; unloaded it would be {unloaded} s.{_kept(result)}"


def _kept(result: Document) -> str:
    """How many requests keep the promise, if one was given; jobs of before promises have none."""
    kept = result.get("goodput")
    if not kept:
        return ""
    return (
        f" {interval(kept['share'], figures.percent, ' %')} of requests have their first token within {_within(kept)}."
    )


def _within(kept: Document) -> str:
    return f"{kept['ttft_within_s']:g} s"


def _notes(result: Document, asked: Asked) -> list[str]:
    """What a reader must know, and the headline does not say."""
    if result["stable"]:
        return list(result["notes"])
    found = ["There is no TTFT then: it would say how long was simulated, and not how long requests take."]
    if asked.run.brown_out:
        found.append("The brown-out is part of what is counted: more requests show whether the queues come down after.")
    return found


def _grows(result: Document) -> str:
    """What does not come to an end."""
    if result["unfinished"]:
        return f"{result['unfinished']:,} requests were never finished"
    return f"{interval(result['growth_rps'], figures.rate)} requests more are in the system every second"


def interval(estimate: Estimate | None, write: Write, unit: str = "") -> str:
    """A mean with its 95 % confidence interval: `7.34 s [7.10, 7.57]`."""
    if estimate is None:
        return figures.NONE
    mean, low, high = (estimate[name] for name in ("mean", "low", "high"))
    bounds = "" if low is None or high is None else f" [{write(low)}, {write(high)}]"
    return f"{write(mean)}{unit}{bounds}"


def approximation(asked: Asked) -> LoadedTtft | None:
    """TTFT under load by formula; None where it knows nothing of what is simulated."""
    run, experiment = asked.run, asked.experiment
    is_plain = run.policy == "as_given" and run.order == "fcfs" and run.chunks > 1
    if not is_plain or run.brown_out or run.connection_bps:
        return None
    around = Circumstances(experiment.arrivals, experiment.transport.rtt_s, experiment.output_scv)
    found = under_load(experiment.deployment, experiment.rate_rps, around)
    return found if math.isfinite(found.mean) else None


def _ttft(result: Document, routes: list[str], loaded: LoadedTtft | None) -> list[Row]:
    if not result["ttft_s"]:
        return []
    simulated = [result["ttft_s"], *(result["ttft_by_route_s"][route] for route in routes)]
    return [
        Row(
            title,
            f"of TTFT: {words.LOADED}",
            (
                *(interval(times[name], figures.seconds) for times in simulated),
                figures.seconds(result["steady"]["ttft_unloaded_s"][name]),
                figures.seconds(getattr(loaded, name) if loaded else None),
            ),
        )
        for name, title in PERCENTILES.items()
    ]


def _stages(result: Document, formulas: Document, loaded: LoadedTtft | None) -> list[Row]:
    """Of the stages that some request passed."""
    approximate = {stage.value: wait for stage, wait in loaded.waits_s.items()} if loaded else {}
    rows = []
    for stage, title in words.STAGES.items():
        busy, wait = result["utilisation"].get(stage), result["waits_s"].get(stage)
        if busy is None:
            continue
        at = formulas["stages"][stage]
        expected = result["rate_rps"] / at["lambda_rps"] if at and at["lambda_rps"] else None
        # The formula's wait for the link is for its turn, which is not a transfer's tail.
        by_formula = None if stage == "link" else approximate.get(stage)
        cells = (
            interval(busy, figures.percent),
            figures.percent(expected),
            interval(wait, figures.milli),
            figures.milli(by_formula),
        )
        rows.append(Row(title, WAITS[stage], cells, stage=stage))
    return rows


def _flows(result: Document) -> list[Row]:
    """What is offloaded, what crosses and what is carried, beside the steady state."""
    steady = result["steady"]
    return [
        Row("Offloaded requests, p", "P(L > t)",
            (interval(result["offload_fraction"], figures.percent), figures.percent(steady["offload_fraction"])), "%"),
        Row("Egress", "rate · p · S_kv of offloaded requests",
            (interval(result["egress_bps"], figures.gbps), figures.gbps(steady["egress_bps"])), "Gbps", "link"),
        Row("Throughput", "requests that leave the system; in steady state as many as arrive, up to Λ_max",
            (interval(result["throughput_rps"], figures.rate), figures.rate(_carried(result))), "req/s"),
        *_goodput(result.get("goodput")),
    ]  # fmt: skip


def _goodput(kept: Document | None) -> list[Row]:
    """Of a promise on TTFT, which steady-state formulas know nothing of."""
    if not kept:
        return []
    within = f"first token within {_within(kept)} of arrival"
    return [
        Row("Promise kept", within, (interval(kept["share"], figures.percent), figures.NONE), "% of requests"),
        Row(
            "Goodput", f"requests a second: {within}", (interval(kept["rate_rps"], figures.rate), figures.NONE), "req/s"
        ),
    ]


def _carried(result: Document) -> float:
    most: float | None = result["steady"]["lambda_max_rps"]
    return float(result["rate_rps"]) if most is None else min(float(result["rate_rps"]), most)


def _facts(result: Document, asked: Asked) -> list[tuple[str, str]]:
    """How it was simulated."""
    run = asked.run
    found = [
        ("Counted requests", f"{result['requests']:,}"),
        ("Replications", f"{run.replications:,} of {run.requests:,} requests"),
        ("Warm-up, not counted", f"{figures.share(run.warm_up)} %"),
        ("Seed", str(run.seed)),
        ("Arrivals", asked.scenario.parsed.traffic.arrivals.process),
        ("Policy", POLICIES[run.policy][0]),
        ("Order", ORDERS[run.order][0]),
    ]
    if asked.experiment.deployment.link:
        found.append(("Pipelining", f"{run.chunks:,} chunks" if run.chunks > 1 else "none: sent after the prefill"))
    if run.connection_bps:
        found.append(("Most one transfer gets", f"{figures.gbps(run.connection_bps)} Gbps"))
    if out := run.brown_out:
        found.append(("Brown-out", f"{figures.gbps(out.bps)} Gbps from {out.begin_s:,g} to {out.end_s:,g} s"))
    if speed := result.get("requests_per_wall_second"):
        found.append(("Speed", f"{speed:,.0f} requests a second"))
    return found
