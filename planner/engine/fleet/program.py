"""A mixed integer linear program, written down row by row and given to HiGHS."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from planner.engine.curves import Array

type Term = tuple[float, int]
"""A variable, by its place, and what it counts."""

OBJECTIVE, ONE, NOTHING = 0, 1, 2
"""Places of what is minimised, and of the constants 1 and 0."""


class Unsolved(Exception):
    """HiGHS has not found a solution, and says why."""


class Program:
    """Variables between 0 and 1, and the one to minimise, which is at least `least`."""

    def __init__(self, least: float) -> None:
        """Without rows, and with no more variables than the named ones."""
        self._lower, self._upper = [least, 1.0, 0.0], [np.inf, 1.0, 0.0]  # as the three places are named
        self._whole = [False, False, False]
        self._rows: list[Sequence[Term]] = []
        self._bounds: list[float] = []

    def share(self, whole: bool) -> int:
        """A new variable between 0 and 1, or either; its place."""
        self._lower.append(0.0)
        self._upper.append(1.0)
        self._whole.append(whole)
        return len(self._whole) - 1

    def at_most(self, terms: Sequence[Term], bound: float) -> None:
        """A new row: the sum of the terms is at most the bound; a variable may stand in several terms.

        Constants are moved into the bound: beside large ones HiGHS would not see the digits of what is left.
        """
        known = math.fsum(weight for weight, place in terms if place == ONE)
        free = [(weight, place) for weight, place in terms if place not in (ONE, NOTHING)]
        if free:
            self._rows.append(free)
            self._bounds.append(bound - known)

    def solved(self) -> Array:
        """Every variable at the least value of the objective. Raises Unsolved where HiGHS finds none."""
        terms = [(weight, row, place) for row, each in enumerate(self._rows) for weight, place in each]
        weights, rows, places = (np.array(column) for column in zip(*terms, strict=True))
        matrix = csr_array((weights, (rows, places)), shape=(len(self._rows), len(self._whole)))
        found = milp(
            np.arange(len(self._whole)) == OBJECTIVE,
            integrality=np.array(self._whole, dtype=int),
            bounds=Bounds(np.array(self._lower), np.array(self._upper)),
            constraints=LinearConstraint(matrix, ub=np.array(self._bounds)),
        )
        if found.x is None:
            raise Unsolved(found.message)
        values: Array = np.asarray(found.x, dtype=float)
        return values
