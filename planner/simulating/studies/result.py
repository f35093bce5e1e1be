"""From what the replications of all variants counted to a result document: each variant, and how they differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner import __version__, evaluation
from planner.documents.fields import PROVENANCE_KINDS
from planner.engine.simulation import Replication
from planner.engine.simulation.comparison import Difference, Measures, differences, measures
from planner.engine.simulation.knee import TIMES, Knee, knee
from planner.simulating import document as simulations
from planner.simulating import plain, result
from planner.simulating.studies import document as studies
from planner.simulating.studies import features, verdict
from planner.simulating.studies.document import Asked, Variant

SHARED = ("scenario", "seed", "series", "version")
"""Of a simulation's result: the same in all variants, or too much of each."""
HIGH = 0.3
"""Load from which on requests may queue so much that P90 of TTFT there is no measure of an idle system."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A variant, what its replications say together, and what each says by itself, by its index."""

    at: int
    """Which variant of the study."""
    variant: Variant
    document: Mapping[str, Any]
    measures: Mapping[int, Measures]


def merged(asked: Asked, parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The result of a job from its parts' results, in the order of `studies.parts`."""
    each = len(asked.variants)
    runs = [[plain.from_json(part) for part in parts[at::each]] for at in range(each)]
    return document(asked, runs)


def document(asked: Asked, runs: Iterable[Sequence[Replication]]) -> dict[str, Any]:
    """The result of the replications of each variant, in SI units; null where there is nothing to say."""
    return together(asked, [outcome(asked, at, of) for at, of in enumerate(runs)])


def outcome(asked: Asked, at: int, runs: Sequence[Replication]) -> Outcome:
    """What one variant's replications say, one at least."""
    variant = asked.variants[at]
    simulated: simulations.Asked = studies.simulation(asked, variant)
    found = result.document(simulated, runs)
    within_s = simulated.run.ttft_within_s
    alone = {run.index: measures(simulated.experiment, run, within_s) for run in runs}
    return Outcome(at, variant, {key: value for key, value in found.items() if key not in SHARED}, alone)


def together(asked: Asked, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The document of variants in their order; of a job that still runs, of those that have an outcome."""
    of = asked.quantity
    base = next((each for each in outcomes if each.at == asked.baseline), None)
    variants = [_variant(each, base) for each in outcomes]
    found = _knee(asked, outcomes)
    return {
        "scenario": asked.base.scenario.name,
        "kind": asked.study.kind,
        "vary": asked.study.vary,
        "title": of.title if of else "Ablation",
        "unit": of.unit if of else "",
        "baseline": base.variant.name if base else None,
        "replications": asked.base.run.replications,
        "requests": asked.base.run.requests,
        "seed": asked.base.run.seed,
        "variants": variants,
        "knee": _knee_document(found) if found else None,
        "provenance": max((each["provenance"] for each in variants), key=PROVENANCE_KINDS.index),
        "notes": list(_notes(asked, outcomes, found)),
        "version": __version__,
    }


def _variant(each: Outcome, base: Outcome | None) -> dict[str, Any]:
    has_other = base is not None and base is not each
    return {
        "name": each.variant.name,
        "title": each.variant.title,
        "value": each.variant.value,
        "changes": dict(each.variant.changes),
        **each.document,
        "differences": _differences(each, base) if base and has_other else None,
    }


def _differences(each: Outcome, base: Outcome) -> dict[str, Any]:
    """By measure; none of TTFT where either is not stable, since it grows with the length of a run there."""
    both_stable = each.document["stable"] and base.document["stable"]
    return {
        name: difference_document(found, base.measures, name)
        for name, found in differences(each.measures, base.measures).items()
        if both_stable or not name.startswith(("ttft", "goodput"))
    }


def difference_document(found: Difference, base: Mapping[int, Measures], name: str) -> dict[str, Any]:
    """Mean and interval, the mean as a share of the baseline's, and whether it is more than chance, or none at all."""
    known = [measures[name] for measures in base.values() if name in measures]
    mean = sum(known) / len(known)
    bounds = {
        bound: None if (value := getattr(found.estimate, bound)) is None else evaluation.number(value)
        for bound in ("mean", "low", "high")
    }
    return {
        **bounds,
        "share": found.estimate.mean / mean if mean else None,
        "is_clear": found.is_clear,
        "verdict": verdict.verdict(found.estimate.low, found.estimate.high, mean),
    }


def _knee(asked: Asked, outcomes: Sequence[Outcome]) -> Knee | None:
    """Of a sweep of the load or of the rate."""
    if asked.quantity is None or not asked.quantity.is_load:
        return None
    return knee(_points(outcomes))


def _points(outcomes: Sequence[Outcome]) -> Iterator[tuple[float, float | None]]:
    """Loads, and P90 of TTFT; without those that counted no request."""
    for each in outcomes:
        times = each.document["ttft_s"]
        if times or not each.document["stable"]:
            yield float(each.variant.value or 0.0), times["p90"]["mean"] if times else None


def _knee_document(found: Knee) -> dict[str, Any]:
    return {
        "rule": f"P90 of TTFT is {TIMES:g} times its value at the lowest load",
        "ttft_p90_s": found.limit_s,
        "at": found.at,
        "within": found.within,
        "beyond": found.beyond,
    }


def _notes(asked: Asked, outcomes: Sequence[Outcome], found: Knee | None) -> Iterator[str]:
    """Sentences that a reader of the result must know."""
    if asked.baseline is not None:
        yield f"All variants are offered {asked.base.experiment.rate_rps:.4g} req/s, whatever their own Λ_max."
    if asked.quantity is None and asked.study.features == features.on(asked.base):
        why = "; ".join(f"{feature.title} (needs {feature.needs})" for feature in features.left_out(asked.base))
        if why:
            yield f"Not turned off, since it is not on: {why}."
    unstable = sum(not each.document["stable"] for each in outcomes)
    if unstable:
        yield f"{unstable} of {len(outcomes)} variants are not stable, and have no TTFT."
    loads = [each.document["load"] for each in outcomes if each.document["load"] is not None]
    if found and loads and min(loads) > HIGH:
        lowest = f"{100 * min(loads):.3g} %"
        yield f"The lowest load, {lowest}, may queue already: from a lower one on, the knee would come earlier."
