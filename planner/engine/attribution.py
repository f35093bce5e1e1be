"""Where a gain comes from: the difference between two ends divided among its causes, whatever the order of the steps.

`values` has what is worth what, by subset: of k causes, the value with the causes in `mask` at the far end and the
others at the near one stands at place `mask`, in which bit i is cause i. So place 0 is the near end, the last the far.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

MOST_CAUSES = 8
"""Each doubles the number of values."""


@dataclass(frozen=True, slots=True)
class Shares:
    """By cause: its Shapley value, and the least and the greatest step that it makes in any order."""

    shapley: tuple[float, ...]
    least: tuple[float, ...]
    greatest: tuple[float, ...]


def causes(values: Sequence[float]) -> int:
    """k, of 2^k values. Raises ValueError on another number of values, too many, or one that is not finite."""
    count = len(values).bit_length() - 1
    if len(values) != 1 << max(count, 0) or count > MOST_CAUSES:
        raise ValueError(f"needs 2^k values of at most {MOST_CAUSES} causes, got {len(values)}")
    if not all(map(math.isfinite, values)):
        raise ValueError("every value must be finite")
    return count


def shares(values: Sequence[float]) -> Shares:
    """The value of all causes together divided among them.

    The Shapley value is a cause's mean step over all k! orders (Shapley 1953): the only division that adds up, treats
    equal causes equally, gives nothing to a cause without effect, and is additive in the values. Raises ValueError.
    """
    count = causes(values)
    each = [[values[mask | 1 << cause] - values[mask] for mask in _without(cause, count)] for cause in range(count)]
    return Shares(_shapley(values, count), tuple(map(min, each)), tuple(map(max, each)))


def steps(values: Sequence[float], order: Sequence[int]) -> list[float]:
    """What each cause adds in its turn. Raises ValueError where `order` does not name each cause once."""
    if sorted(order) != list(range(causes(values))):
        raise ValueError(f"an order names each of {causes(values)} causes once, got {list(order)}")
    masks = [0]
    for cause in order:
        masks.append(masks[-1] | 1 << cause)
    return [values[after] - values[before] for before, after in pairwise(masks)]


def _without(cause: int, count: int) -> list[int]:
    """Every subset of so many causes that leaves this one out."""
    return [mask for mask in range(1 << count) if not mask >> cause & 1]


def _shapley(values: Sequence[float], count: int) -> tuple[float, ...]:
    exact = [_exact(values, cause, count) for cause in range(count)]
    rounded = [float(share) for share in exact]
    if rounded:  # what rounding left over goes where it is smallest beside what is there
        largest = max(range(count), key=lambda cause: abs(rounded[cause]))
        rest = sum(exact) - sum(map(Fraction, rounded))
        rounded[largest] = float(Fraction(rounded[largest]) + rest)
    return tuple(rounded)


def _exact(values: Sequence[float], cause: int, count: int) -> Fraction:
    """A cause's Shapley value without rounding: Σ |S|! (k-|S|-1)! / k! · (v(S ∪ i) - v(S))."""
    total = Fraction(0)
    for mask in _without(cause, count):
        size = mask.bit_count()
        orders = math.factorial(size) * math.factorial(count - size - 1)
        total += orders * (Fraction(values[mask | 1 << cause]) - Fraction(values[mask]))
    return total / math.factorial(count)
