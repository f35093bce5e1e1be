"""A comparison's table: every metric of every deployment against the baseline, with the winner and by how much."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from planner import __version__
from planner.comparing import simulated
from planner.comparing.ends import differences
from planner.comparing.facts import Facts, facts, weaker
from planner.comparing.metrics import METRICS, Better, Metric
from planner.comparing.reading import Shown
from planner.comparison import Asked
from planner.scenario.build import cluster_of_role, pd_cluster

type Value = dict[str, Any]
ALIKE = 1e-3
"""Relative difference below which what formulas say counts as no difference."""


def table(shown: Shown, simulation: simulated.Simulation | None = None) -> dict[str, Any]:
    """The result document of a comparison, in SI units; null for what a deployment does not have."""
    asked = shown.asked
    known = [facts(asked, each) for each in asked.scenarios]
    rows = [_row(metric, known, asked.baseline) for metric in METRICS]
    if simulation:
        rows += [_simulated(asked, simulation, row) for row in simulated.ROWS]
    return {
        "comparison": asked.comparison.name,
        "form": asked.comparison.form,
        "scale": asked.comparison.scale,
        "baseline": asked.comparison.baseline,
        "scenarios": [_scenario(shown, at, each) for at, each in enumerate(known)],
        "metrics": rows,
        "simulation": simulation.document() if simulation else None,
        "provenance": weaker(*(value["kind"] for row in rows for value in row["values"])),
        "notes": _notes(asked, known),
        "version": __version__,
    }


def _scenario(shown: Shown, at: int, known: Facts) -> dict[str, Any]:
    document = known.scenario.parsed
    remote, local = cluster_of_role(document, "prfaas"), pd_cluster(document)
    return {
        "name": known.scenario.name,
        "title": shown.given.titles[at],
        "chips": {
            "prfaas": _chips(remote.hardware.name, remote.gpus_per_instance) if remote else None,
            "pd": _chips(local.hardware.name, local.gpus_per_instance),
        },
        "instances": known.result["instances"],
        "policy": document.routing.policy,
        "threshold_tokens": known.result["threshold_tokens"],
        "binding": known.result["binding"],
        "not_rescaled": shown.reasons.get(known.scenario.name),
        "notes": known.result["notes"],
    }


def _chips(name: str, gpus_per_instance: int) -> dict[str, Any]:
    return {"hardware": name, "gpus_per_instance": gpus_per_instance}


def _row(metric: Metric, known: Sequence[Facts], baseline: int) -> dict[str, Any]:
    values = [_value(metric.value(each), metric.kind(each)) for each in known]
    return row(metric.key, metric.label, metric.unit, metric.group, metric.better, metric.formula, values, baseline) | {
        "stage": metric.stage,
        "emphasis": metric.emphasis,
    }


def _value(value: float | None, kind: str) -> Value:
    finite = value is not None and math.isfinite(value)
    return {"value": value if finite else None, "low": None, "high": None, "kind": kind if finite else ""}


def row(
    key: str, label: str, unit: str, group: str, better: Better, formula: str, values: list[Value], baseline: int
) -> dict[str, Any]:
    """A row with each value's ratio to the baseline, and the winner."""
    against = values[baseline]["value"]
    for value in values:
        value["relative"] = _ratio(value["value"], against)
    return {
        "key": key,
        "label": label,
        "unit": unit,
        "group": group,
        "better": better,
        "formula": formula,
        "stage": "",
        "emphasis": False,
        "values": values,
        **winner(values, better),
    }


def winner(values: Sequence[Mapping[str, Any]], better: Better) -> dict[str, Any]:
    """Who is best and by which share of the second best; nobody where the difference is none, or may be chance.

    `winner` is the place of a value, None where several are alike or the metric has no better and worse; `tied` are
    then the places of those that cannot be told from the best.
    """
    places = [at for at, value in enumerate(values) if value["value"] is not None]
    if not better or len(places) < 2:
        return {"winner": None, "margin": None, "verdict": "", "tied": []}
    first, second = sorted(places, key=lambda at: values[at]["value"], reverse=better == "more")[:2]
    # also one that is on average worse than the second may lie so wide that it cannot be told from the best
    tied = [at for at in places if at == first or alike(values[first], values[at])]
    if len(tied) > 1:
        return {"winner": None, "margin": None, "verdict": "no difference", "tied": tied}
    ratio = _ratio(values[first]["value"], values[second]["value"])
    return {"winner": first, "margin": None if ratio is None else abs(ratio - 1), "verdict": "best", "tied": []}


def _ratio(value: float | None, against: float | None) -> float | None:
    """None where there is none, or where it is beyond what a number holds."""
    ratio = value / against if value is not None and against else math.inf
    return ratio if math.isfinite(ratio) else None


def alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two values differ by nothing that counts: their intervals overlap, or formulas say the same."""
    bounds = [one["low"], one["high"], other["low"], other["high"]]
    if all(bound is not None for bound in bounds):
        return bool(one["low"] <= other["high"] and other["low"] <= one["high"])
    return math.isclose(one["value"], other["value"], rel_tol=ALIKE)


def _simulated(asked: Asked, simulation: simulated.Simulation, wanted: simulated.Row) -> dict[str, Any]:
    values = [simulation.value(at, wanted) for at in range(len(asked.scenarios))]
    # One replication has no interval: what it shows may be chance, and nobody is best in it.
    has_intervals = all(value["low"] is not None for value in values if value["value"] is not None)
    better = wanted.better if has_intervals else ""
    return row(wanted.key, wanted.label, wanted.unit, simulation.title, better, wanted.formula, values, asked.baseline)


def _notes(asked: Asked, known: Sequence[Facts]) -> list[str]:
    """What a reader of the table must know beside its figures."""
    priced = {price.name for each in known for price in each.scenario.parsed.prices}
    chips = {cluster.hardware.name for each in known for cluster in each.scenario.parsed.clusters}
    unused = sorted({price.name for price in asked.comparison.prices} - chips)
    listed = [price.name for price in asked.comparison.listed]
    said = [
        *(
            f"Nobody says what {chip} costs: type its price, or store an offer of it."
            for chip in sorted(chips - priced)
        ),
        *(f"{chip} is priced, and none of the deployments has it." for chip in unused),
        *(f"{chip} is priced by the catalogue's cheapest offer on demand of its newest day." for chip in listed),
    ]
    said += [*_own_prices(known), *_other_workloads(asked)]
    if asked.comparison.power is None:
        said.append("Electricity is taken to be in the price of a GPU-hour.")
    if any(each.scenario.parsed.links and each.scenario.parsed.links[0].price is None for each in known):
        said.append("A link without a price counts as free.")
    return said


def _own_prices(known: Sequence[Facts]) -> Iterator[str]:
    """Chips that cost one deployment more than another, since scenarios have prices of their own."""
    held: dict[str, set[float]] = {}
    for each in known:
        for price in each.scenario.parsed.prices:
            held.setdefault(price.name, set()).add(price.usd_per_gpu_hour)
    for chip, usd in sorted(held.items()):
        if len(usd) > 1:
            told = ", ".join(f"{each:g}" for each in sorted(usd))
            yield f"{chip} costs {told} USD/GPU-hour, as each scenario has it: a price that is typed holds for all."


def _other_workloads(asked: Asked) -> Iterator[str]:
    """Deployments that serve something else than the baseline: a winner among them says little."""
    baseline = asked.scenarios[asked.baseline]
    for title, each in zip(asked.titles, asked.scenarios, strict=True):
        if paths := list(differences(baseline, each)):
            where = ", ".join(paths)
            yield f"{title} serves another workload than the baseline: they differ in {where}, and no winner is fair."
