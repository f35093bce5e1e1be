"""How sure a comparison is, where every figure may be wrong by what the kind of its provenance lets one expect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from planner import __version__
from planner.comparing.facts import weaker
from planner.comparing.inputs import Input, inputs, kind_under, require_quick, subject
from planner.comparing.questions import UncertaintyAsked, words
from planner.comparing.sensitivity import PLAIN
from planner.comparison import Asked
from planner.documents.errors import refuse
from planner.engine import sensitivity
from planner.engine.curves import Array
from planner.engine.outcomes import outcomes
from planner.engine.uncertainty import errors, spread, wins
from planner.engine.varying import Outcome, Parameter, Subject
from planner.evaluation import number, numbers
from planner.scenario import Scenario


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A scenario under all draws; `base` where no figure is wrong."""

    known: list[Input]
    base: dict[Outcome, float]
    values: dict[Outcome, Array]


def uncertainty(asked: Asked, question: UncertaintyAsked) -> dict[str, Any]:
    """The result document: spread of each outcome, and with which probability one scenario beats another.

    Raises DocumentError where lengths may be so wrong that their bounds leave nothing of them.
    """
    drawn = [_draw(asked, place, question) for place in range(len(asked.scenarios))]
    kinds = {which: weaker(*(kind_under(each.known, which) for each in drawn)) for which in PLAIN}
    return {
        "comparison": asked.comparison.name,
        "form": asked.comparison.form,
        "draws": question.draws,
        "seed": question.seed,
        "assumptions": {"sigmas": question.sigmas.model_dump(), "uncertain_prices": question.uncertain_prices},
        "scenarios": [{"name": name, "title": title} for name, title in zip(asked.names, asked.titles, strict=True)],
        "outcomes": [_outcome(which, drawn, kinds[which]) for which in PLAIN],
        "inputs": _shared(asked.names, drawn, question),
        "provenance": weaker(*kinds.values()),
        "notes": _notes(question),
        "version": __version__,
    }


def _sigma(of: Input, question: UncertaintyAsked) -> float:
    """Of a figure's relative error: 0 for decisions, and for prices where they are taken as given."""
    if of.reason or of.is_decision or (of.is_price and not question.uncertain_prices):
        return 0.0
    return float(getattr(question.sigmas, of.kind))


def _draw(asked: Asked, place: int, question: UncertaintyAsked) -> _Drawn:
    given = asked.scenarios[place]
    varied = subject(asked, given)
    known = inputs(asked, given, varied)
    require_quick(varied, given, question.draws, "draws")
    factors: dict[Parameter, Array] = {}
    for each in known:
        if sigma := _sigma(each, question):
            drawn = errors(each.key, sigma, question.draws, question.seed)
            factors |= dict.fromkeys(each.moves, drawn)
    values = _outcomes(varied, factors, given)
    every = {which: np.broadcast_to(found, question.draws) for which, found in values.items()}
    return _Drawn(known, sensitivity.at(varied, (), 1.0, PLAIN), every)


def _outcomes(varied: Subject, factors: dict[Parameter, Array], given: Scenario) -> dict[Outcome, Array]:
    """Under every draw. Raises DocumentError where some of them leave no lengths within their bounds."""
    said = f"are too great for {given.name}: in some draws no request is left within the bounds of its lengths"
    try:
        values = outcomes(varied, factors, PLAIN)
    except ValueError as problem:
        raise refuse("sigmas", None, said) from problem
    if np.isnan(values[Outcome.LAMBDA_MAX]).any():
        raise refuse("sigmas", None, said)
    return values


def _outcome(which: Outcome, drawn: Sequence[_Drawn], kind: str) -> dict[str, Any]:
    """Of each scenario; null for those whose cost is not known, which nobody is held against."""
    counted = [place for place, each in enumerate(drawn) if not np.isnan(each.values[which]).any()]
    said = words(which)
    found: dict[str, Any] = {"beats": None, "beats_error": None, "best": None, "best_error": None}
    if counted:
        won = wins(np.stack([drawn[place].values[which] for place in counted]), said["better"] == "more")
        size = len(drawn)
        for name in ("beats", "beats_error"):
            found[name] = _spaced(getattr(won, name), (size, size), np.ix_(counted, counted))
        for name in ("best", "best_error"):
            found[name] = _spaced(getattr(won, name), (size,), (counted,))
    return {
        "outcome": which.value,
        **said,
        "spread": [_spread(each, which) if place in counted else None for place, each in enumerate(drawn)],
        **found,
        "kind": kind if counted else "",
    }


def _spaced(values: Array, shape: tuple[int, ...], places: Any) -> list[Any]:
    """The values in their places, null elsewhere."""
    spaced = np.full(shape, np.nan)
    spaced[places] = values
    return numbers(spaced)


def _spread(drawn: _Drawn, which: Outcome) -> dict[str, float | None]:
    found = asdict(spread(drawn.values[which]))
    return {"as_given": number(drawn.base[which]), **{name: number(value) for name, value in found.items()}}


def _shared(names: Sequence[str], drawn: Sequence[_Drawn], question: UncertaintyAsked) -> list[dict[str, Any]]:
    """Every figure once, with what is assumed of its error, and the scenarios in which it has the same draws."""
    found: dict[bytes, dict[str, Any]] = {}
    for name, each in zip(names, drawn, strict=True):
        for of in each.known:
            if of.reason:
                continue
            entry = found.setdefault(of.key, {**of.document(), "sigma": _sigma(of, question), "used_in": []})
            entry["used_in"].append(name)
    return list(found.values())


def _notes(question: UncertaintyAsked) -> list[str]:
    sigmas = ", ".join(f"{kind} {sigma:.0%}" for kind, sigma in question.sigmas.model_dump().items())
    prices = "Prices are uncertain too." if question.uncertain_prices else "Prices are taken as given."
    return [
        f"Assumed: each figure is log-normal about its value, independently, with a 1-sigma by its kind: {sigmas}.",
        "A curve is wrong by the same factor at every length. Decisions (t, shares, counts) are not uncertain. "
        + prices,
        "The same figure of the same source has the same error in every scenario that uses it.",
        "A tie counts half. Where all draws agree the standard error is 0: the probability is then known to about "
        f"{3 / question.draws:.2g}.",
    ]
