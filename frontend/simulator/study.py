"""What came of a study, as people read it: each variant, how they differ, and where TTFT turns up."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from frontend import figures, words
from frontend.simulator import spoken, varied
from frontend.simulator.flows import PERCENTILES, Estimate, interval, share
from frontend.simulator.parts.routing import ORDERS, POLICIES
from frontend.simulator.study_chart import chart
from frontend.simulator.study_headline import headline
from planner.management import simulated_facts
from planner.management.idle import idle
from planner.simulating.studies import verdict
from planner.simulating.studies.document import Asked
from planner.simulating.studies.features import FEATURES

type Document = dict[str, Any]

DIFFERENCES = {
    "ttft_mean_s": ("mean TTFT", "s", figures.milli),
    "ttft_p90_s": ("P90", "s", figures.milli),
    "ttft_p99_s": ("P99", "s", figures.milli),
    "throughput_rps": ("throughput", "req/s", figures.rate),
    "goodput_rps": ("goodput", "req/s", figures.rate),
}
"""The columns of the table of differences; the document has more."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A number as it is written; `is_soft` where it may be chance."""

    text: str
    is_soft: bool = False
    said: str = ""
    """More of it, for who points at it."""


@dataclass(frozen=True, slots=True)
class Row:
    """A variant's numbers."""

    title: str
    said: str
    cells: tuple[Cell, ...]
    kind: str
    is_base: bool = False
    is_stable: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """Columns as (title, unit), and a row for each variant."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the page shows of a result."""

    headline: str
    notes: tuple[str, ...]
    varied: str
    caption: str
    """Of the table of TTFT."""
    against: str
    """What the table of differences is called."""
    ttft: Table
    flows: Table
    differences: Table | None
    facts: tuple[tuple[str, str], ...]
    has_intervals: bool
    chart: Document


def answer(result: Document, asked: Asked) -> Answer:
    """The page of a result."""
    return Answer(
        headline=headline(result),
        notes=tuple(_notes(result, asked)),
        varied=title(result),
        caption=f"TTFT of all requests, decode {simulated_facts.decoding(asked.base.run)}",
        against=f"Against {varied.name(result, varied.base(result))}" if result["baseline"] else "",
        ttft=_ttft(result),
        flows=_flows(result),
        differences=_differences(result) if result["baseline"] else None,
        facts=tuple(_facts(result, asked)),
        has_intervals=result["replications"] > 1,
        chart=chart(result) | {"headline": headline(result), "decoding": simulated_facts.decoding(asked.base.run)},
    )


def _notes(result: Document, asked: Asked) -> Iterator[str]:
    """What the headline does not say, in the form's words."""
    for note in (*result["notes"], *idle(asked.base, is_rate_known=asked.baseline is not None)):
        yield spoken.in_words(note)


def title(result: Document) -> str:
    """What the variants differ in; its unit stands beside each value."""
    return str(result["title"]) if result["vary"] else "Variant"


# --- tables ------------------------------------------------------------------------------------------------------


def _row(result: Document, variant: Document, cells: tuple[Cell, ...]) -> Row:
    feature = FEATURES.get(variant["name"])
    return Row(
        title=varied.name(result, variant),
        said=feature.said if feature else "",
        cells=cells,
        kind=variant["provenance"],
        is_base=variant["name"] == result["baseline"],
        is_stable=variant["stable"],
    )


def _ttft(result: Document) -> Table:
    bounds = "s [95 %]" if result["replications"] > 1 else "s"
    columns = (*((each, bounds) for each in PERCENTILES.values()), ("P90 unloaded", "s, formulas"))
    rows = []
    for variant in result["variants"]:
        times = variant["ttft_s"]
        cells = [interval(times[each], figures.seconds) if times else figures.NONE for each in PERCENTILES]
        cells.append(figures.seconds(variant["steady"]["ttft_unloaded_s"]["p90"]))
        rows.append(_row(result, variant, tuple(map(Cell, cells))))
    return Table(columns, tuple(rows))


def _flows(result: Document) -> Table:
    """What is carried, offloaded and sent, and how busy each stage is."""
    bounds = " [95 %]" if result["replications"] > 1 else ""
    stages = [stage for stage in words.STAGES if any(stage in each["utilisation"] for each in result["variants"])]
    has_promise = any(variant.get("goodput") for variant in result["variants"])
    columns = [("offered", "req/s"), ("Λ_max", "req/s, formulas"), ("carried", f"req/s{bounds}")]
    columns += [("promise kept", f"%{bounds}"), ("goodput", f"req/s{bounds}")] if has_promise else []
    columns += [("offloaded", f"%{bounds}"), ("egress", f"Gbps{bounds}")]
    columns += [(f"{words.STAGES[stage]} busy", f"%{bounds}") for stage in stages]
    rows = tuple(
        _row(result, variant, tuple(map(Cell, _carried(variant, has_promise, stages))))
        for variant in result["variants"]
    )
    return Table(tuple(columns), rows)


def _carried(variant: Document, has_promise: bool, stages: list[str]) -> Iterator[str]:
    yield figures.rate(variant["rate_rps"])
    yield figures.rate(variant["steady"]["lambda_max_rps"])
    yield interval(variant["throughput_rps"], figures.rate)
    if has_promise:
        kept = variant.get("goodput") or {}
        yield share(kept.get("share"))
        yield interval(kept.get("rate_rps"), figures.rate)
    yield share(variant["offload_fraction"])
    yield interval(variant["egress_bps"], figures.gbps)
    for stage in stages:
        yield share(variant["utilisation"].get(stage))


def _differences(result: Document) -> Table:
    others = [variant for variant in result["variants"] if variant["differences"] is not None]
    measures = [each for each in DIFFERENCES if any(each in variant["differences"] for variant in others)]
    if all(variant["stable"] for variant in result["variants"]):
        # what is stable carries what it is offered
        measures.remove("throughput_rps")
    columns = tuple((DIFFERENCES[each][0], DIFFERENCES[each][1]) for each in measures)
    rows = []
    for variant in others:
        found = [
            difference(variant["differences"].get(each), DIFFERENCES[each][2], variant["replications"])
            for each in measures
        ]
        rows.append(_row(result, variant, tuple(found)))
    return Table(columns, tuple(rows))


def difference(found: Document | None, write: Callable[[float | None], str], replications: int) -> Cell:
    """`+0.074 [+0.051, +0.097] (+0.9 %)`; before what may be chance, or is no difference, that is said."""
    if found is None:
        return Cell(figures.NONE)
    estimate: Estimate = {bound: found[bound] for bound in ("mean", "low", "high")}
    text = interval(estimate, lambda value: _signed(value, write), least=-math.inf)
    judged = verdict.of(found)
    if judged is None:
        return Cell(text, is_soft=True)
    if judged != "clear":
        said = verdict.untold(replications) if judged == "within_chance" else ""
        return Cell(f"{verdict.SHORT[judged]}: {text}", is_soft=True, said=said)
    of_base = found["share"]
    return Cell(text if of_base is None else f"{text} ({_signed(of_base, figures.percent)} %)")


def _signed(value: float | None, write: Callable[[float | None], str]) -> str:
    if value is None:
        return figures.NONE
    text = write(abs(value))
    # what is rounded to nothing has no sign
    sign = "" if not text.strip("0.,") else "+" if value > 0 else "−"
    return f"{sign}{text}"


def _facts(result: Document, asked: Asked) -> list[tuple[str, str]]:
    """How it was simulated."""
    run = asked.base.run
    found = [
        (
            "Variants",
            f"{len(result['variants'])}, each of {run.replications:,} replications of {run.requests:,} requests",
        ),
        ("Common random numbers", f"all of seed {run.seed}: the same requests in each variant"),
        ("Warm-up, not counted", f"{figures.share(run.warm_up)} %"),
    ]
    if result["vary"] != "policy":
        found.append(("Policy", POLICIES[run.policy][0] if run.policy in POLICIES else run.policy))
    if result["vary"] != "arrivals_cv":
        found.append(simulated_facts.arrivals(asked.base))
    return [*found, ("Order", ORDERS[run.order][0]), *simulated_facts.facts(asked.base)]
