"""The tornado of one scenario: how far each figure moves what it carries, what it costs and how soon it answers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from planner import __version__
from planner.comparing.facts import weaker
from planner.comparing.inputs import Input, circumstances, inputs, kind_under, subject
from planner.comparing.questions import SensitivityAsked, place_of, words
from planner.comparison import Asked
from planner.documents.errors import refuse
from planner.engine import sensitivity
from planner.engine.varying import Load, Outcome, Subject
from planner.evaluation import number
from planner.scenario import Scenario

PLAIN = (Outcome.LAMBDA_MAX, Outcome.COST, Outcome.TTFT_P90)

type Values = Mapping[Outcome, float]


def tornado(asked: Asked, question: SensitivityAsked) -> dict[str, Any]:
    """The result document, in SI units; null where a queue grows without end, nothing is carried or no price is known.

    Raises DocumentError on a scenario or an input that is not there.
    """
    place = place_of(asked, question.scenario or asked.comparison.baseline, "scenario")
    given = asked.scenarios[place]
    which = [*PLAIN, *([Outcome.TTFT_P90_LOADED] if question.loaded else [])]
    around = _Varied(given, subject(asked, given), question, which)
    known = inputs(asked, given, around.subject)
    ranges = _ranges(question, known)
    bars = [_bar(around, each, *ranges[each.name]) for each in known if not each.reason]
    kinds = {each: kind_under(known, each) for each in which}
    return {
        "comparison": asked.comparison.name,
        "scenario": given.name,
        "title": asked.titles[place],
        "form": asked.comparison.form,
        "share": question.share,
        "load": {"share": None if question.rate_rps else question.load, "rate_rps": question.rate_rps},
        "retuned": question.retuned,
        "outcomes": [_outcome(around, each, bars, kinds[each]) for each in which],
        "inputs": [each.document() for each in known],
        "provenance": weaker(*kinds.values()),
        "notes": _notes(around, question),
        "version": __version__,
    }


class _Varied:
    """What is varied, and the outcomes where nothing is."""

    def __init__(self, given: Scenario, subject: Subject, question: SensitivityAsked, which: list[Outcome]) -> None:
        self.subject, self.which, self.retuned = subject, which, question.retuned
        self.load = Load(question.rate_rps, question.load, circumstances(given))
        self.base = self.at((), 1.0)
        self.best = self.at((), 1.0, retuned=True) if question.retuned else None

    def at(self, moves: Sequence[Any], factor: float, retuned: bool = False) -> Values:
        """The outcomes with what moves so many times as great."""
        return sensitivity.at(self.subject, moves, factor, self.which, self.load, retuned)


def _ranges(question: SensitivityAsked, known: Sequence[Input]) -> dict[str, tuple[float, float]]:
    """Factors of each input. Raises DocumentError on a range of an input that is not there, or cannot be varied."""
    found = {each.name: (1 - question.share, 1 + question.share) for each in known}
    reasons = {each.name: each.reason for each in known}
    for own in question.ranges:
        place = f"ranges.{own.input}"
        if own.input not in found:
            raise refuse(place, None, f"is no input of the scenario; inputs: {', '.join(found)}")
        if reasons[own.input]:
            raise refuse(place, None, f"cannot be varied: {reasons[own.input]}")
        found[own.input] = (own.low, own.high)
    return found


def _bar(around: _Varied, of: Input, low: float, high: float) -> dict[Outcome, dict[str, Any]]:
    """A bar of each outcome."""
    given = [around.at(of.moves, factor) for factor in (low, high)]
    best = [around.at(of.moves, factor, retuned=True) for factor in (low, high)] if around.best else None
    slopes = sensitivity.elasticity(around.subject, of.moves, PLAIN)
    found = {}
    for each in around.which:
        ends = [values[each] for values in given]
        tuned = [values[each] for values in best] if best else None
        has_influence = sensitivity.moved(around.base[each], ends)
        if tuned and around.best:
            has_influence |= sensitivity.moved(around.best[each], tuned)
        found[each] = {
            "input": of.name,
            "label": of.label,
            "unit": of.unit,
            "kind": of.kind,
            "source": of.source,
            "is_decision": of.is_decision,
            "has_influence": has_influence,
            "low_factor": low,
            "high_factor": high,
            "low_input": None if of.value is None else of.value * low,
            "high_input": None if of.value is None else of.value * high,
            "spread": float(np.ptp([*ends, around.base[each]])) if np.isfinite(ends).all() else None,
            "low": number(ends[0]),
            "high": number(ends[1]),
            "elasticity": number(slopes.get(each, math.nan)),
            "retuned": {"low": number(tuned[0]), "high": number(tuned[1])} if tuned else None,
        }
    return found


def _outcome(
    around: _Varied, which: Outcome, bars: Sequence[Mapping[Outcome, dict[str, Any]]], kind: str
) -> dict[str, Any]:
    """One outcome with its bars, the widest first; those without influence last."""
    base = around.base[which]
    return {
        "outcome": which.value,
        **words(which),
        "value": number(base),
        "retuned_value": number(around.best[which]) if around.best else None,
        "kind": kind if math.isfinite(base) else "",
        "bars": sorted((bar[which] for bar in bars), key=_width, reverse=True),
    }


def _width(bar: Mapping[str, Any]) -> tuple[bool, float]:
    """An end that has no number, as where a queue grows without end, is the furthest of all."""
    return bar["has_influence"], math.inf if bar["spread"] is None else bar["spread"]


def _notes(around: _Varied, question: SensitivityAsked) -> list[str]:
    said = [
        "Each input is varied alone; counts need not be whole, and sigma moves at the same mu.",
        "A retuned value has the threshold that carries the most there, as far as it has one."
        if question.retuned
        else "Thresholds and shares stay as they are given.",
    ]
    if around.subject.chips is None:
        said.append("Nobody says what some chip costs, or what it draws: cost is not known.")
    if question.loaded:
        at = "at the rate given" if question.rate_rps else f"at {question.load:.0%} of what is carried at each value"
        said.append(f"TTFT under load is an approximation, {at}.")
    return said
