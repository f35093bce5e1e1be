"""The sentence of a study that a reader takes away: where the knee is, what each feature does, or which is the best."""

from __future__ import annotations

from typing import Any

from frontend import figures, words
from frontend.simulator import varied
from frontend.simulator.flows import interval
from planner.simulating.studies import verdict
from planner.simulating.studies.features import FEATURES

type Document = dict[str, Any]

MOST_TOLD = 4
"""Features that the headline has room for."""
MOST_NAMED = 3
"""Variants that it names one by one."""
MEASURES = {"ttft_p90_s": "P90 of TTFT", "ttft_mean_s": "mean TTFT", "ttft_p99_s": "P99 of TTFT"}
"""Of which the first that is clear is told."""
P90 = "ttft_p90_s"


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
    at = varied.written(vary, float(f"{knee['at']:.3g}")) + (" of capacity" if vary == "load" else "")
    return f"TTFT turns up at {at}: there {limit} (a straight line {between})."


# --- features ----------------------------------------------------------------------------------------------------


def _ablated(result: Document) -> str:
    """What TTFT does without each feature: what is clear first, the largest change first."""
    off = [variant for variant in result["variants"] if variant["differences"]]
    known = sorted((variant for variant in off if P90 in variant["differences"]), key=_rank)
    said = [_without(variant) for variant in known[:MOST_TOLD]]
    said += [f"{_feature(variant)} it is not stable" for variant in off if variant not in known]
    sentence = "; ".join(said)
    return f"{sentence[0].upper()}{sentence[1:]}." if said else "Nothing to compare has ended yet."


def _rank(variant: Document) -> tuple[bool, float]:
    found = variant["differences"][_measure(variant)]
    return verdict.of(found) != "clear", -abs(found["mean"])


def _measure(variant: Document) -> str:
    """The first that is clear; P90 where none is."""
    found = variant["differences"]
    return next((name for name in MEASURES if name in found and verdict.of(found[name]) == "clear"), P90)


def _feature(variant: Document) -> str:
    feature = FEATURES.get(variant["name"])
    return f"without {feature.title[0].lower()}{feature.title[1:]}" if feature else str(variant["title"])


def _without(variant: Document) -> str:
    name = _measure(variant)
    found = variant["differences"][name]
    what = f"{_feature(variant)} {MEASURES[name]}"
    judged = verdict.of(found)
    if judged == "no_difference":
        return f"{what} is no different"
    if judged == "within_chance":
        return f"{what} {verdict.untold(variant['replications'])}"
    side = "longer" if found["mean"] > 0 else "shorter"
    low, high = sorted(abs(value) if value is not None else 0.0 for value in (found["low"], found["high"]))
    bounds = "" if found["low"] is None else f" [{figures.milli(low)}, {figures.milli(high)}]"
    also = "" if name == P90 else f" (P90: {verdict.SHORT[verdict.of(variant['differences'][P90]) or 'within_chance']})"
    return f"{what} is {figures.milli(abs(found['mean']))} s{bounds} {side}{also}"


# --- variants ----------------------------------------------------------------------------------------------------


def _best(result: Document, stable: list[Document]) -> str:
    """Between which variants P90 is, whether that may be chance, and how many are not stable."""
    ordered = sorted(stable, key=lambda variant: float(variant["ttft_s"]["p90"]["mean"]))
    least = [variant for variant in ordered if _p90(variant) == _p90(ordered[0])]
    most = [variant for variant in ordered if _p90(variant) == _p90(ordered[-1])]
    if len(least) == len(ordered):
        same = "the same with" if len(ordered) > 1 else "known of one variant alone,"
        return f"P90 of TTFT is {same} {_called(result, least)}.{_unstable(result)}"
    said = f"P90 of TTFT is the least with {_called(result, least)}, and the greatest with {_called(result, most)}"
    return f"{said}.{_doubt(result, stable)}{_unstable(result)}"


def _p90(variant: Document) -> str:
    """As it is written: what reads the same is called the same."""
    return figures.seconds(variant["ttft_s"]["p90"]["mean"])


def _called(result: Document, variants: list[Document]) -> str:
    p90 = interval(variants[0]["ttft_s"]["p90"], figures.seconds, " s")
    return f"{_named(result, variants)}, {p90}"


def _named(result: Document, variants: list[Document]) -> str:
    names = [varied.name(result, variant) for variant in result["variants"] if variant in variants]
    return words.listed(names) if len(names) <= MOST_NAMED else f"{names[0]} and {len(names) - 1} others"


def _doubt(result: Document, stable: list[Document]) -> str:
    """Where no variant is told apart from the baseline."""
    found = [variant["differences"][P90] for variant in stable if P90 in (variant["differences"] or {})]
    judged = {verdict.of(difference) for difference in found}
    if not judged or judged & {"clear", None}:
        return ""
    base = varied.name(result, varied.base(result))
    if judged == {"no_difference"}:
        return f" None is different from {base}."
    return f" No difference from {base} can be told apart from chance with {stable[0]['replications']:,} replications."


def _unstable(result: Document) -> str:
    """How many variants are not stable, and which."""
    off = [variant for variant in result["variants"] if not variant["stable"]]
    if not off:
        return ""
    verb = "is" if len(off) == 1 else "are"
    return f" {len(off)} of {len(result['variants'])} {verb} not stable: {_named(result, off)}."
