"""The numbers of a study as charts draw them, and as a file has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from frontend.simulator import varied
from frontend.simulator.charts import SOURCE, shown_times
from planner.engine.simulation.comparison import MEASURES
from planner.management import possible
from planner.simulating.studies import verdict
from planner.simulating.studies.quantities import QUANTITIES

type Document = dict[str, Any]

TIMES = ("mean", "p50", "p90", "p99")
BOUNDS = ("mean", "low", "high")


def chart(result: Document) -> Document:
    """The numbers that the charts draw, in SI units; what is varied in people's."""
    of = varied.unit(result["vary"]) if result["vary"] else None
    return {
        "title": result["title"],
        "unit": of.text if of else "",
        "scale": float(of.scale) if of else 1.0,
        "is_numeric": varied.is_numeric(result),
        "is_log": result["vary"] in QUANTITIES and QUANTITIES[result["vary"]].is_geometric,
        "is_load": result["vary"] in ("load", "rate_rps"),
        "baseline": varied.name(result, varied.base(result)) if result["baseline"] else None,
        "knee": result["knee"],
        "replications": result["replications"],
        "variants": [_point(result, variant) for variant in result["variants"]],
        "provenance": {"kind": result["provenance"], "source": SOURCE},
    }


def _point(result: Document, variant: Document) -> Document:
    kept = ("value", "stable", "rate_rps", "load", "differences")
    return {
        "name": varied.name(result, variant),
        **{key: variant[key] for key in kept},
        "ttft_s": shown_times(variant["ttft_s"]),
        "utilisation": {stage: possible.clipped(busy, 1.0) for stage, busy in variant["utilisation"].items()},
        "unloaded_s": variant["steady"]["ttft_unloaded_s"],
        "lambda_max_rps": variant["steady"]["lambda_max_rps"],
    }


def lines(result: Document) -> Iterator[list[Any]]:
    """The table as a file: a line of headings, then one for each variant, in SI units; empty where there is nothing."""
    measures = list(_measures(result["variants"][0]))
    stages = list(dict.fromkeys(stage for each in result["variants"] for stage in each["utilisation"]))
    names = list(MEASURES) if result["baseline"] else []
    yield [
        result["vary"] or "variant", "rate_rps", "lambda_max_rps", "stable",
        *(f"{measure}_{bound}" for measure in measures for bound in BOUNDS),
        *(f"utilisation_{stage}_{bound}" for stage in stages for bound in BOUNDS),
        *(f"difference_{each}_{bound}" for each in names for bound in (*BOUNDS, "verdict")),
    ]  # fmt: skip
    for each in result["variants"]:
        found = _measures(each)
        differences = each["differences"] or {}
        value = each["name"] if each["value"] is None else each["value"]
        yield [
            value, each["rate_rps"], each["steady"]["lambda_max_rps"], each["stable"],
            *(bound for measure in measures for bound in _bounds(found[measure])),
            *(bound for stage in stages for bound in _bounds(each["utilisation"].get(stage))),
            *(bound for name in names for bound in _difference(differences.get(name))),
        ]  # fmt: skip


def _measures(variant: Document) -> dict[str, Document | None]:
    times, kept = variant["ttft_s"] or {}, variant.get("goodput") or {}
    return {
        **{f"ttft_{each}_s": times.get(each) for each in TIMES},
        "throughput_rps": variant["throughput_rps"],
        "promise_kept": kept.get("share"),
        "goodput_rps": kept.get("rate_rps"),
        "offload_fraction": variant["offload_fraction"],
        "egress_bps": variant["egress_bps"],
    }


def _difference(found: Document | None) -> list[Any]:
    judged = verdict.of(found) if found else None
    return [*_bounds(found), verdict.SHORT[judged] if judged else None]


def _bounds(estimate: Document | None) -> list[float | None]:
    return [(estimate or {}).get(bound) for bound in BOUNDS]
