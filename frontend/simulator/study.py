"""What came of a study, as people read it: each variant, how they differ, and where TTFT turns up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from frontend import figures, words
from frontend.simulator import varied
from frontend.simulator.flows import PERCENTILES, Estimate, interval
from frontend.simulator.parts.routing import ORDERS, POLICIES
from frontend.simulator.study_chart import chart
from planner.management import simulated_facts
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
MOST_TOLD = 4
"""Features that the headline has room for."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A number as it is written; `is_soft` where it may be chance."""

    text: str
    is_soft: bool = False


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
        notes=tuple(result["notes"]),
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


def title(result: Document) -> str:
    """What the variants differ in; its unit stands beside each value."""
    return str(result["title"]) if result["vary"] else "Variant"


# --- the sentence that a reader takes away -----------------------------------------------------------------------


def headline(result: Document) -> str:
    """Where the knee is, what each feature does, or which variant is the best."""
    if result["knee"]:
        return _knee(result)
    stable = [variant for variant in result["variants"] if variant["ttft_s"]]
    if not stable:
        return "No variant is stable: there is no TTFT to compare."
    return _ablated(result) if result["kind"] == "ablation" else _best(result, stable)


def _knee(result: Document) -> str:
    knee, vary = result["knee"], result["vary"]
    limit = f"P90 of TTFT is twice that at the lowest load, {figures.seconds(knee['ttft_p90_s'])} s"
    within = varied.written(vary, knee["within"])
    if knee["beyond"] is None:
        return f"The knee, where {limit}, is beyond {within}: nothing that was simulated is past it."
    between = f"between {within} and {varied.written(vary, knee['beyond'])}"
    if knee["at"] is None:
        return f"The knee, where {limit}, is {between}, which is not stable."
    at = varied.written(vary, float(f"{knee['at']:.3g}"))
    return f"TTFT turns up at {at}: there {limit} (a straight line {between})."


def _ablated(result: Document) -> str:
    """What P90 does without each feature, the largest change first."""
    off = [variant for variant in result["variants"] if variant["differences"]]
    told = [(variant, variant["differences"].get("ttft_p90_s")) for variant in off]
    known = sorted((pair for pair in told if pair[1]), key=lambda pair: abs(pair[1]["mean"]), reverse=True)
    said = [_without(variant, difference) for variant, difference in known[:MOST_TOLD]]
    said += [f"{_feature(variant)} it is not stable" for variant, difference in told if difference is None]
    sentence = "; ".join(said)
    return f"{sentence[0].upper()}{sentence[1:]}." if said else "Nothing to compare has ended yet."


def _feature(variant: Document) -> str:
    feature = FEATURES.get(variant["name"])
    return f"without {feature.title[0].lower()}{feature.title[1:]}" if feature else str(variant["title"])


def _without(variant: Document, difference: Document) -> str:
    if difference["is_clear"] is False:
        return f"{_feature(variant)} P90 of TTFT is no different"
    side = "longer" if difference["mean"] > 0 else "shorter"
    low, high = sorted(abs(value) if value is not None else 0.0 for value in (difference["low"], difference["high"]))
    bounds = "" if difference["low"] is None else f" [{figures.milli(low)}, {figures.milli(high)}]"
    return f"{_feature(variant)} P90 of TTFT is {figures.milli(abs(difference['mean']))} s{bounds} {side}"


def _best(result: Document, stable: list[Document]) -> str:
    """Between which variants P90 is, and which are stable."""
    ordered = sorted(stable, key=lambda variant: float(variant["ttft_s"]["p90"]["mean"]))
    least, *_, most = ordered if len(ordered) > 1 else (ordered[0], ordered[0])
    said = f"P90 of TTFT is the least with {_called(result, least)}"
    if least is not most:
        said += f", and the greatest with {_called(result, most)}"
    return f"{said}.{_reach(result, stable)}"


def _called(result: Document, variant: Document) -> str:
    p90 = interval(variant["ttft_s"]["p90"], figures.seconds, " s")
    return f"{varied.name(result, variant)}, {p90}"


def _reach(result: Document, stable: list[Document]) -> str:
    """Which variants are stable, where not all are."""
    if len(stable) == len(result["variants"]):
        return ""
    names = [varied.name(result, variant) for variant in stable]
    which = f"from {names[0]} to {names[-1]}" if varied.is_numeric(result) and len(names) > 1 else words.listed(names)
    return f" Stable: {which}."


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
        yield interval(kept.get("share"), figures.percent)
        yield interval(kept.get("rate_rps"), figures.rate)
    yield interval(variant["offload_fraction"], figures.percent)
    yield interval(variant["egress_bps"], figures.gbps)
    for stage in stages:
        yield interval(variant["utilisation"].get(stage), figures.percent)


def _differences(result: Document) -> Table:
    others = [variant for variant in result["variants"] if variant["differences"] is not None]
    measures = [each for each in DIFFERENCES if any(each in variant["differences"] for variant in others)]
    if all(variant["stable"] for variant in result["variants"]):
        # what is stable carries what it is offered
        measures.remove("throughput_rps")
    columns = tuple((DIFFERENCES[each][0], DIFFERENCES[each][1]) for each in measures)
    rows = []
    for variant in others:
        found = [difference(variant["differences"].get(each), DIFFERENCES[each][2]) for each in measures]
        rows.append(_row(result, variant, tuple(found)))
    return Table(columns, tuple(rows))


def difference(found: Document | None, write: Callable[[float | None], str]) -> Cell:
    """`+0.074 [+0.051, +0.097] (+0.9 %)`, or `no difference` with the interval that says so."""
    if found is None:
        return Cell(figures.NONE)
    estimate: Estimate = {bound: found[bound] for bound in ("mean", "low", "high")}
    text = interval(estimate, lambda value: _signed(value, write))
    if found["is_clear"] is False:
        return Cell(f"no difference: {text}", is_soft=True)
    if found["is_clear"] is None:
        return Cell(text, is_soft=True)
    share = found["share"]
    return Cell(text if share is None else f"{text} ({_signed(share, figures.percent)} %)")


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
        found.append(("Arrivals", asked.base.scenario.parsed.traffic.arrivals.process))
    return [*found, ("Order", ORDERS[run.order][0]), *simulated_facts.facts(asked.base)]
