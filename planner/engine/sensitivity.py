"""How far an outcome moves with a figure, how the ratio of two deployments does, and where they tie."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from planner.engine.contours import Point, lines
from planner.engine.curves import Array
from planner.engine.outcomes import outcomes
from planner.engine.varying import Load, Outcome, Parameter, Subject, outcome, tuned, varied

FURTHEST = 8.0
"""Factor, either way, within which ties are looked for."""
STEPS = 96
"""Factors that are tried either way of 1, in equal ratios."""
TIED = 1e-9
"""Relative difference below which two outcomes count as equal."""
STILL = 1e-9
"""Relative change below which an outcome does not depend on a figure."""

STEP = 1e-4
"""Of the factor, either way, by which an elasticity is taken."""

type Moves = Iterable[Parameter]
"""What moves together, by the same factor."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two deployments that are held against each other."""

    first: Subject
    second: Subject


@dataclass(frozen=True, slots=True)
class Axis:
    """Factors of one figure, rising, and what of either deployment moves with it."""

    factors: Array
    first: tuple[Parameter, ...]
    second: tuple[Parameter, ...]


@dataclass(frozen=True, slots=True)
class RatioMap:
    """First over second, shape (len(y), len(x)), NaN where it has no meaning; and where it is 1, in factors."""

    ratio: Array
    ties: list[list[Point]]


def at(
    subject: Subject,
    moves: Moves,
    factor: float,
    which: Sequence[Outcome],
    load: Load | None = None,
    retuned: bool = False,
) -> dict[Outcome, float]:
    """Each outcome with what moves so many times as great, at the given threshold or, retuned, at the best one there.

    NaN where no such deployment can be.
    """
    try:
        changed = varied(subject, dict.fromkeys(moves, factor))
    except ValueError:
        return dict.fromkeys(which, float("nan"))
    changed = tuned(changed) if retuned else changed
    return {each: outcome(changed, each, load) for each in which}


def elasticity(subject: Subject, moves: Moves, which: Sequence[Outcome]) -> dict[Outcome, float]:
    """By how many percent each outcome changes with one percent of what moves, at the given threshold.

    0.01 % either way: half of it where another stage binds on the other side. NaN where an outcome is none.
    """
    moves = tuple(moves)
    low, high = (at(subject, moves, 1 + step, which) for step in (-STEP, STEP))
    width = np.log1p(STEP) - np.log1p(-STEP)
    with np.errstate(divide="ignore", invalid="ignore"):
        return {each: float(np.log(np.divide(high[each], low[each])) / width) for each in which}


def moved(base: float, values: Iterable[float]) -> bool:
    """Whether any of the values differs from the base by more than rounding; NaN and infinity differ from numbers."""
    return any(not np.isclose(value, base, rtol=STILL, atol=0.0, equal_nan=True) for value in values)


# --- two deployments ---------------------------------------------------------------------------------------------


def ratio_map(pair: Pair, x: Axis, y: Axis, which: Outcome) -> RatioMap:
    """The ratio of an outcome over two figures, and its break-even lines, straight in the logarithms of the factors."""
    across, up = np.meshgrid(x.factors, y.factors)
    values = [
        outcomes(subject, _product({p: across.ravel() for p in xs}, {p: up.ravel() for p in ys}), [which])[which]
        for subject, xs, ys in ((pair.first, x.first, y.first), (pair.second, x.second, y.second))
    ]
    ratio = _over(values[0], values[1]).reshape(across.shape)
    with np.errstate(divide="ignore"):
        logs = np.log(ratio)
    traced = lines(np.log(x.factors), np.log(y.factors), logs, 0.0)
    return RatioMap(ratio, [[(float(np.exp(a)), float(np.exp(b))) for a, b in line] for line in traced])


def _product(*parts: Mapping[Parameter, Array]) -> dict[Parameter, Array]:
    """What moves with both figures is moved by both."""
    found: dict[Parameter, Array] = {}
    for part in parts:
        for parameter, factors in part.items():
            found[parameter] = found.get(parameter, np.ones_like(factors)) * factors
    return found


def _over(first: Array, second: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Array = first / second
    return np.where(np.isfinite(ratio) & (ratio > 0), ratio, np.nan)


def nearest_tie(pair: Pair, first: Moves, second: Moves, which: Outcome) -> float | None:
    """The factor nearest to 1, in ratio, at which both have the same outcome; 1 where they tie as they are.

    None where they do not within [1/8, 8]. The cell is sought among 96 factors either way, the tie in it to the last
    digits; where they tie over a range, its near end is told.
    """
    rays = [_first_tie(pair, tuple(first), tuple(second), which, direction) for direction in (1.0, -1.0)]
    found = [tie for tie in rays if tie is not None]
    return min(found, key=lambda tie: abs(np.log(tie)), default=None)


def _first_tie(
    pair: Pair, first: tuple[Parameter, ...], second: tuple[Parameter, ...], which: Outcome, direction: float
) -> float | None:
    """The first one on the way from 1 upwards (1) or downwards (-1)."""
    parts = ((pair.first, first), (pair.second, second))

    def gaps_at(factors: Array) -> Array:
        """Logarithm of the ratio; NaN where it has no meaning."""
        values = [outcomes(subject, dict.fromkeys(moves, factors), [which])[which] for subject, moves in parts]
        return np.broadcast_to(np.log(_over(*values)), factors.shape)

    def beyond(log_factor: float) -> float:
        return float(gaps_at(np.exp(np.array([log_factor])))[0]) - level

    logs = direction * np.log(FURTHEST) * np.linspace(0.0, 1.0, STEPS + 1)
    gaps = gaps_at(np.exp(logs))
    if abs(gaps[0]) <= TIED:
        return 1.0
    side = float(np.sign(gaps[0]) * TIED)
    reached = np.flatnonzero((gaps[:-1] * side > 0) & ((gaps[1:] - side) * side <= 0))
    if not reached.size:
        return None
    low, high = logs[reached[0] : reached[0] + 2]
    # it is crossed, or else a range of ties begins where it is first within the tolerance
    level = 0.0 if gaps[reached[0] + 1] * side < 0 else side
    return float(np.exp(brentq(beyond, low, high, xtol=1e-13, rtol=1e-13)))
