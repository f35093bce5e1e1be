"""Where the ranking of two scenarios flips: the ratio of an outcome over two figures, and the tie nearest to each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from planner import __version__
from planner.comparing import questions
from planner.comparing.facts import weaker
from planner.comparing.inputs import Input, inputs, kind_under, require_quick, subject
from planner.comparing.questions import HeatMapAsked, place_of, words
from planner.comparison import Asked
from planner.documents.errors import refuse
from planner.engine import sensitivity
from planner.engine.curves import Array
from planner.engine.lengths import equal_ratios
from planner.engine.sensitivity import FURTHEST, Pair
from planner.engine.varying import Outcome, Parameter
from planner.evaluation import number, numbers

TRIED = 4000
"""Factors, about, that are tried for ties by each figure alone."""


@dataclass(frozen=True, slots=True)
class Mover:
    """A figure of two scenarios, by place 0 and 1; None where a scenario does not have it or is not to move."""

    of: tuple[Input | None, Input | None]

    @property
    def one(self) -> Input:
        """The figure, in the first scenario that has it."""
        return next(each for each in self.of if each)

    def moves(self, place: int) -> tuple[Parameter, ...]:
        """What moves of a scenario."""
        found = self.of[place]
        return found.moves if found else ()

    def meets(self, other: Mover) -> bool:
        """Whether both move the same figure of some scenario."""
        return any(one and its and one.name == its.name for one, its in zip(self.of, other.of, strict=True))


def heat_map(asked: Asked, question: HeatMapAsked) -> dict[str, Any]:
    """The result document: the ratio, its break-even lines, and the nearest tie by each figure alone.

    Raises DocumentError on a scenario or an input that is not there, and on a cost that is not known.
    """
    places = _places(asked, question)
    names = [asked.names[place] for place in places]
    pair = Pair(*(subject(asked, asked.scenarios[place]) for place in places))
    known = [
        inputs(asked, asked.scenarios[place], each)
        for place, each in zip(places, (pair.first, pair.second), strict=True)
    ]
    titles = [asked.titles[place] for place in places]
    which = Outcome(question.outcome)
    _require_prices(pair, which, names)
    if which is Outcome.TTFT_P90:
        for place, each in zip(places, (pair.first, pair.second), strict=True):
            require_quick(each, asked.scenarios[place], question.points**2 + TRIED, "outcome")
    movers = _movers(*known)
    axes = _axes(question, movers, names)
    ranges = [_factors(getattr(question, side), question.points) for side in ("x", "y")]
    x, y = (
        sensitivity.Axis(factors, mover.moves(0), mover.moves(1)) for factors, mover in zip(ranges, axes, strict=True)
    )
    found = sensitivity.ratio_map(pair, x, y, which)
    return {
        "comparison": asked.comparison.name,
        "form": asked.comparison.form,
        "first": names[0],
        "second": names[1],
        "titles": titles,
        "outcome": which.value,
        **words(which),
        **_as_they_are(pair, which, names),
        **{side: _axis(mover, names, at) for side, mover, at in zip(("x", "y"), axes, ranges, strict=True)},
        "ratio": numbers(found.ratio),
        "ties": [[{"x_factor": point[0], "y_factor": point[1]} for point in line] for line in found.ties],
        "break_even": [_tie(pair, mover, which, names, movers) for mover in movers],
        "provenance": weaker(*(kind_under(each, which) for each in known)),
        "notes": _notes(titles),
        "version": __version__,
    }


def _places(asked: Asked, question: HeatMapAsked) -> tuple[int, int]:
    second = place_of(asked, question.second or asked.comparison.baseline, "second")
    others = [name for name in asked.names if name != asked.names[second]]
    first = place_of(asked, question.first or others[-1], "first")
    if first == second:
        raise refuse("first", asked.names[first], "must be another scenario than second")
    return first, second


def _require_prices(pair: Pair, which: Outcome, names: Sequence[str]) -> None:
    if which is not Outcome.COST:
        return
    for name, each in zip(names, (pair.first, pair.second), strict=True):
        if each.chips is None:
            raise refuse("outcome", which.value, f"is not known of {name}: a chip's price or power is missing")


def _movers(first: Sequence[Input], second: Sequence[Input]) -> list[Mover]:
    """Figures that both have move together; decisions (t, counts) are each scenario's own."""
    one, other = ({each.name: each for each in known if not each.reason} for known in (first, second))
    found = []
    for name in dict.fromkeys([*one, *other]):
        both = one.get(name), other.get(name)
        if all(each and each.is_decision for each in both):
            found += [Mover((both[0], None)), Mover((None, both[1]))]
        else:
            found.append(Mover(both))
    return found


def _axes(question: HeatMapAsked, movers: Sequence[Mover], names: Sequence[str]) -> list[Mover]:
    """What x and y move. Raises DocumentError on a figure that is not there, and on one that both would move."""
    x, y = (
        _named(axis, side, movers, names) if axis else None for side, axis in (("x", question.x), ("y", question.y))
    )
    x = x or _default(lambda of: of.is_price, movers, y)
    y = y or _default(lambda of: of.name == "prompt_tokens", movers, x)
    if x.meets(y):
        raise refuse("y.input", y.one.name, f"must be another figure than that of x: both move {x.one.label}")
    return [x, y]


def _default(is_wanted: Callable[[Input], bool], movers: Sequence[Mover], other: Mover | None) -> Mover:
    """The first that is wanted, or else the first of all, that the other axis does not move."""
    free = [mover for mover in movers if other is None or not mover.meets(other)]
    return next((mover for mover in free if is_wanted(mover.one)), free[0])


def _named(axis: questions.Axis, side: str, movers: Sequence[Mover], names: Sequence[str]) -> Mover:
    """What an axis moves. Raises DocumentError."""
    named = [mover for mover in movers if mover.one.name == axis.input]
    if not named:
        known = ", ".join(dict.fromkeys(mover.one.name for mover in movers))
        raise refuse(f"{side}.input", axis.input, f"is no input that can be varied here; inputs: {known}")
    if axis.scenario is not None:
        return _own(axis.scenario, side, named, names)
    if len(named) > 1:
        raise refuse(f"{side}.scenario", None, f"is missing: {axis.input} is each scenario's own: {', '.join(names)}")
    return named[0]


def _own(scenario: str, side: str, named: Sequence[Mover], names: Sequence[str]) -> Mover:
    """The figure in one of the scenarios alone. Raises DocumentError."""
    for place, name in enumerate(names):
        for mover in named:
            of = mover.of[place]
            if name == scenario and of:
                return Mover((of, None) if place == 0 else (None, of))
    raise refuse(f"{side}.scenario", scenario, f"must be one of {', '.join(names)}, and have {named[0].one.name}")


def _factors(axis: questions.Axis | None, points: int) -> Array:
    low, high = (axis.low, axis.high) if axis else (0.5, 2.0)
    return equal_ratios(low, high, points)


def _axis(mover: Mover, names: Sequence[str], factors: Array) -> dict[str, Any]:
    value = mover.one.value
    return {
        **_figure(mover, names),
        "factors": factors.tolist(),
        "values": None if value is None else (value * factors).tolist(),
    }


def _figure(mover: Mover, names: Sequence[str]) -> dict[str, Any]:
    """The figure, and the scenarios in which it moves."""
    return {
        "input": mover.one.name,
        "label": mover.one.label,
        "unit": mover.one.unit,
        "value": mover.one.value,
        "kind": weaker(*(each.kind for each in mover.of if each)),
        "source": mover.one.source,
        "is_decision": mover.one.is_decision,
        "moves_in": [name for name, each in zip(names, mover.of, strict=True) if each],
    }


def _as_they_are(pair: Pair, which: Outcome, names: Sequence[str]) -> dict[str, Any]:
    """Both outcomes, their ratio, and who is better; nobody where they tie."""
    one, other = (sensitivity.at(each, (), 1.0, [which])[which] for each in (pair.first, pair.second))
    ratio, leader = number(one / other) if other else None, None
    if not np.isclose(one, other, rtol=sensitivity.TIED, atol=0.0):
        more = words(which)["better"] == "more"
        leader = names[0] if (one > other) == more else names[1]
    return {"values": [number(one), number(other)], "as_given": ratio, "leader": leader}


def _tie(pair: Pair, mover: Mover, which: Outcome, names: Sequence[str], movers: Sequence[Mover]) -> dict[str, Any]:
    """The tie nearest to the present value of a figure; null where there is none from an eighth to eight times it."""
    factor = sensitivity.nearest_tie(pair, mover.moves(0), mover.moves(1), which)
    value = mover.one.value
    at = None if factor is None or value is None else factor * value
    ratios = _price_ratios(mover, movers, at)
    return {
        **_figure(mover, names),
        "factor": factor,
        "at": at,
        "price_ratios": ratios,
        "sentence": _sentence(mover, names, factor, at, ratios),
    }


def _price_ratios(mover: Mover, movers: Sequence[Mover], at: float | None) -> list[dict[str, Any]]:
    """A chip's price at the tie over each other chip's, which stays."""
    if at is None or not _is_chip(mover):
        return []
    others = [other.one for other in movers if _is_chip(other) and other is not mover]
    return [{"to": other.name, "label": other.label, "ratio": at / other.value} for other in others if other.value]


def _is_chip(mover: Mover) -> bool:
    return mover.one.moves[0] in (Parameter.PRICE_PRFAAS, Parameter.PRICE_PD)


def _sentence(
    mover: Mover, names: Sequence[str], factor: float | None, at: float | None, ratios: Sequence[dict[str, Any]]
) -> str:
    of = mover.one
    what = of.label if all(mover.of) else f"{of.label} ({names[0] if mover.of[0] else names[1]})"
    if factor is None:
        return f"{what}: no tie from 1/{FURTHEST:g} to {FURTHEST:g} times what it is."
    if factor == 1:
        return f"{what}: they tie as they are."
    reached = "" if at is None else f", {at:.4g} {of.unit}".removesuffix(" 1")
    beside = "".join(f", {each['ratio']:.3g} × {each['label'].lower()}" for each in ratios)
    return f"{what}: they tie at {factor:.3g} times what it is{reached}{beside}."


def _notes(titles: Sequence[str]) -> list[str]:
    return [
        f"The ratio is {titles[0]} over {titles[1]}; a figure that both have moves in both, t and counts in one alone.",
        "Thresholds and shares stay as they are given; counts need not be whole.",
        "A gap is where one of them carries nothing, or no such lengths can be.",
    ]
