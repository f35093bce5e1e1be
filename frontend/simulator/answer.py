"""What came of a simulation, as people read it, beside what the formulas say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from frontend import figures, words
from frontend.simulator.charts import charts
from frontend.simulator.flows import PERCENTILES, Row, carried_rps, flows, interval, share
from frontend.simulator.parting import partings
from frontend.simulator.parts.routing import ORDERS, POLICIES
from frontend.simulator.unheard import approximation
from planner import evaluation
from planner.engine.latency import LoadedTtft
from planner.engine.throughput import Form
from planner.management import simulated_facts
from planner.management.idle import idle
from planner.simulating.document import Asked

type Document = dict[str, Any]

WAITS = {
    "prfaas": "wait for an instance",
    "link": "tail of the transfer: from the end of the prefill until its KVCache is across",
    "pd_p": "wait for an instance",
    "pd_d": "wait for a slot; by iteration, for the end of a step too",
}
"""What a request waits for at each stage."""
NARROW, ALIKE = 0.9, 0.01
"""Of the most that the link could carry: below the one it was narrow, within the other as narrow as it ever was."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the page shows of a result."""

    headline: str
    decoding: str
    """By request or by iteration: it stands wherever a TTFT does."""
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
    formulas = evaluation.result_document(asked.scenario, asked.experiment.deployment, Form.EXACT)
    loaded = approximation(asked) if result["stable"] else None
    routes = [route for route in words.ROUTES if result["ttft_by_route_s"].get(route)]
    return Answer(
        headline=headline(result),
        decoding=simulated_facts.decoding(asked.run),
        notes=tuple(_notes(result, asked)),
        ttft_columns=("all requests", *(words.ROUTES[route] for route in routes)),
        ttft=tuple(_ttft(result, routes, loaded)),
        stages=tuple(_stages(result, formulas, loaded)),
        flows=tuple(flows(result, asked)),
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
    return f" {share(kept['share'], ' %')} of requests have their first token within {_within(kept)}."


def _within(kept: Document) -> str:
    return f"{kept['ttft_within_s']:g} s"


def _notes(result: Document, asked: Asked) -> list[str]:
    """What a reader must know, and the headline does not say."""
    does_nothing = list(idle(asked))
    if result["stable"]:
        return [*result["notes"], *does_nothing]
    found = ["There is no TTFT then: it would say how long was simulated, and not how long requests take."]
    if asked.run.brown_out or asked.run.faults or (asked.run.weather and asked.run.weather.windows):
        what = "The brown-out" if asked.run.brown_out else "What happens meanwhile"
        found.append(f"{what} is part of what is counted: more requests show whether the queues come down after.")
    return [*found, *does_nothing]


def _grows(result: Document) -> str:
    """What does not come to an end."""
    if result["unfinished"]:
        return f"{result['unfinished']:,} requests were never finished"
    return f"{interval(result['growth_rps'], figures.rate)} requests more are in the system every second"


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
        expected = carried_rps(result) / at["lambda_rps"] if at and at["lambda_rps"] else None
        # The formula's wait for the link is for its turn, which is not a transfer's tail.
        by_formula = None if stage == "link" else approximate.get(stage)
        cells = (
            share(busy),
            figures.percent(expected),
            interval(wait, figures.milli),
            figures.milli(by_formula),
        )
        what = WAITS[stage] + (_of_the_link(result) if stage == "link" else "")
        rows.append(Row(title, what, cells, stage=stage))
    return rows


def _of_the_link(result: Document) -> str:
    """What its utilisation is of, where it could not carry the same at any time."""
    series = result["series"]
    known = series.get("capacity_bps") or []
    pairs = [(bps, crossed) for bps, crossed in zip(known, series["egress_bps"], strict=False) if bps is not None]
    widest, least = (of((bps for bps, _ in pairs), default=0.0) for of in (max, min))
    if least >= NARROW * widest:
        return ""
    said = ". Busy is what crossed of all that could have crossed, over all of the time together"
    narrow = [(bps, crossed) for bps, crossed in pairs if bps <= least + ALIKE * widest]
    possible_bps, crossed_bps = (sum(column) / len(narrow) for column in zip(*narrow, strict=True))
    if figures.gbps(possible_bps) == figures.gbps(0.0):
        return f"{said}; nothing could cross for a while"
    most = min(1.0, crossed_bps / possible_bps)
    return f"{said}; while it was narrowest, {figures.gbps(possible_bps)} Gbps, {figures.percent(most)} %"


def _facts(result: Document, asked: Asked) -> list[tuple[str, str]]:
    """How it was simulated."""
    run = asked.run
    found = [
        ("Counted requests", f"{result['requests']:,}"),
        ("Replications", f"{run.replications:,} of {run.requests:,} requests"),
        ("Warm-up, not counted", f"{figures.share(run.warm_up)} %"),
        ("Seed", str(run.seed)),
        simulated_facts.arrivals(asked),
        ("Policy", POLICIES[run.policy][0]),
        ("Order", ORDERS[run.order][0]),
    ]
    if asked.experiment.deployment.link:
        found.append(("Pipelining", f"{run.chunks:,} chunks" if run.chunks > 1 else "none: sent after the prefill"))
    if run.connection_bps:
        found.append(("Most one transfer gets", f"{figures.gbps(run.connection_bps)} Gbps"))
    found += simulated_facts.facts(asked)
    if speed := result.get("requests_per_wall_second"):
        found.append(("Speed", f"{speed:,.0f} requests a second"))
    return found
