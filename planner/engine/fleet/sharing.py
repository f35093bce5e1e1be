"""The thresholds that carry the most for given splits, where a route that is not a PD cluster's last is shared.

Then filling one place after the other is not best for all: what one PD cluster leaves free, another could use. But for
given splits 1/Λ, the seconds between two requests, is linear in how the work of each cell of lengths is divided, and
that a threshold divides at most one cell is said with a whole number a cell. So HiGHS finds the thresholds that need
the least 1/Λ, first on a grid over all lengths and then on ever finer ones about those found.

The Λ of the thresholds found is exact. That no others carry more holds as far as the first grid tells: of two points
far apart whose Λ differ by less than some 1e-4, its cells, in which work counts as evenly spread, may take the lesser.
About a point Λ is found to some 1e-7. Where lengths are recorded ones, few enough for a cell each, both are exact.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from planner.engine.curves import Array
from planner.engine.fleet.filling import LOCAL, REMOTE, S_KV, Table, decode_limit, resources
from planner.engine.fleet.limits import FleetStage, capacities, limit
from planner.engine.fleet.parts import Fleet, FleetPd
from planner.engine.fleet.program import NOTHING, OBJECTIVE, ONE, Program, Term, Unsolved
from planner.engine.lengths import equal_ratios
from planner.engine.throughput import BITS_PER_BYTE, Stage

CELLS, CELLS_ABOUT = 80, 40
"""Of the first grid, over all lengths; and of the later ones, about each threshold."""
ROUNDS = 7
FINER = 12.0
"""By so much at least a round's cells are smaller than those before."""
CLOSE = 1e-11
"""Relative difference to what the cells promise, below which they are fine enough."""
NEARLY = 1e-5
"""By so much HiGHS may miss a whole number."""

type Window = tuple[float, float]
"""Lengths between which a threshold is sought."""


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells between rising `edges` of a PD cluster's lengths: `work` is that of each, of shape (curves, cells), for
    an arriving request of the fleet. A cell is `whole` where no threshold divides its requests."""

    edges: Array
    work: Array
    whole: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Known:
    """What the rounds before have found: about the least Λ_d/Λ, and how far it may still be."""

    base: float
    scale: float


def thresholds(fleet: Fleet, tables: Sequence[Table], prefill_instances: Sequence[float]) -> list[Array]:
    """The thresholds that carry the most with given splits, PD-P carrying as much as it can at that rate."""
    windows = [[(0.0, float(at.pd.lengths.longest))] * len(at.pd.routes) for at in tables]
    found = [np.full(len(at.pd.routes), float(at.pd.lengths.longest)) for at in tables]
    top = decode_limit(fleet, prefill_instances)
    dead = [not pd.routes and n_p == 0 for pd, n_p in zip(fleet.pd, prefill_instances, strict=True)]
    if top == 0 or any(dead):
        return found
    most, known = -1.0, Known(0.0, 1.0)
    for finer in range(1, ROUNDS + 1):
        cells = [_cells(at, each) for at, each in zip(tables, windows, strict=True)]
        try:
            least, divided = _solved(fleet, prefill_instances, cells, windows, known)
        except Unsolved:  # cells so small that HiGHS loses their digits; those before are the finest that it can tell
            if most < 0:
                raise
            break
        located = [_located(each, shares) for each, shares in zip(cells, divided, strict=True)]
        cuts, windows = [each for each, _ in located], [each for _, each in located]
        carried = limit(fleet, cuts, prefill_instances)
        if carried > most:
            most, found = carried, cuts
        if carried >= top or carried * least >= top * (1 - CLOSE):
            break
        known = Known(least, max(least, CLOSE) * FINER**-finer)
    return _kept_local(fleet, tables, prefill_instances, found)


def _cells(at: Table, windows: Sequence[Window]) -> Cells:
    """Cells fine within the windows; between them one is enough."""
    edges = np.unique(np.concatenate([[0.0, at.pd.lengths.longest], *(_edges(at, window) for window in windows)]))
    kinks = np.concatenate([curve.kinks for curve in at.curves])
    below = at.pd.lengths.partial_expectations(at.curves, edges, kinks)[0]
    return Cells(edges, at.pd.share * np.maximum(np.diff(below), 0.0), _whole(at, edges))


def _edges(at: Table, window: Window) -> Array:
    """Edges of cells in a window: lengths of the grid, and where these are too few and it can be cut further, more."""
    low, high = window
    grid = np.unique([low, *at.grid[(at.grid > low) & (at.grid < high)], high])
    cells = CELLS if high - low >= at.pd.lengths.longest else CELLS_ABOUT
    if grid.size > cells:
        some: Array = grid[np.linspace(0, grid.size - 1, cells + 1).round().astype(int)]
        return some
    if np.all(_whole(at, grid)):
        return grid
    return np.concatenate([[low], equal_ratios(max(low, at.pd.lengths.shortest), high, cells)])


def _whole(at: Table, edges: Array) -> NDArray[np.bool_]:
    """Which cells no threshold divides: none of their requests is shorter than their upper edge."""
    whole: NDArray[np.bool_] = at.pd.lengths.between(edges[:-1], np.nextafter(edges[1:], 0.0)) == 0
    return whole


def _solved(
    fleet: Fleet,
    prefill_instances: Sequence[float],
    cells: Sequence[Cells],
    windows: Sequence[Sequence[Window]],
    known: Known,
) -> tuple[float, list[Array]]:
    """The least Λ_d/Λ, Λ_d being what decode carries and Λ what all else does, and for each PD cluster the share of
    every cell below every threshold, of shape (thresholds, cells).

    Decode is left out, since of the many points that are equal under it, rough cells would choose a poor one. What the
    program minimises is (Λ_d/Λ - base) / scale: HiGHS keeps some six digits, and these shall be new ones.
    """
    top, has = decode_limit(fleet, prefill_instances), capacities(fleet, prefill_instances)
    program = Program(least=-known.base / known.scale)
    divided = [[_divided(program, each, window) for window in of] for each, of in zip(cells, windows, strict=True)]
    loads: defaultdict[FleetStage, list[Term]] = defaultdict(list)
    for pd, each, places in zip(fleet.pd, cells, divided, strict=True):
        _rise(program, places)
        _bring(loads, pd, each, places)
    for stage, terms in loads.items():
        if has[stage] == 0:  # no request may come by
            program.at_most([(1.0, place) for weight, place in terms if weight > 0], 0.0)
        elif has[stage] < np.inf:
            unit = top / has[stage] / known.scale
            row = [(weight * unit, place) for weight, place in terms]
            program.at_most([*row, (-1.0, OBJECTIVE)], known.base / known.scale)
    values = program.solved()
    return known.base + known.scale * float(values[OBJECTIVE]), [
        values[np.array(places, dtype=np.intp)] for places in divided
    ]


def _divided(program: Program, cells: Cells, window: Window) -> list[int]:
    """Variables for the share of each cell that lies below a threshold within a window: 1, ..., 1, a part, 0, ..., 0.

    Between two cells that can be divided stands a whole number: 1 where the first is all below, 0 where none of the
    second is.
    """
    low, high = window
    places: list[int] = []
    for start, end, whole in zip(cells.edges[:-1], cells.edges[1:], cells.whole, strict=True):
        free = end > low and start < high
        places.append(program.share(bool(whole)) if free else ONE if end <= low else NOTHING)
    for first in range(len(places) - 1):
        one, other = places[first], places[first + 1]
        if ONE in (one, other) or NOTHING in (one, other):
            continue
        parted = not cells.whole[first] and not cells.whole[first + 1]
        between = program.share(True) if parted else one
        program.at_most([(1.0, between), (-1.0, one)], 0.0)
        program.at_most([(1.0, other), (-1.0, between)], 0.0)
    return places


def _rise(program: Program, places: Sequence[Sequence[int]]) -> None:
    """What is below a threshold is below the next."""
    for lower, upper in pairwise(places):
        for one, other in zip(lower, upper, strict=True):
            program.at_most([(1.0, one), (-1.0, other)], 0.0)


def _bring(loads: dict[FleetStage, list[Term]], pd: FleetPd, cells: Cells, places: Sequence[Sequence[int]]) -> None:
    """Adds what a PD cluster's requests bring to each stage: a route takes what is below the threshold after it, less
    what is below its own."""
    below = [*places, [ONE] * (cells.edges.size - 1)]
    loads[Stage.PD_P, pd.name] += zip(cells.work[LOCAL], below[0], strict=True)
    for route, (prfaas, link) in enumerate(map(resources, pd.routes)):
        for stage, brought in ((prfaas, cells.work[REMOTE + route]), (link, BITS_PER_BYTE * cells.work[S_KV])):
            loads[stage] += zip(brought, below[route + 1], strict=True)
            loads[stage] += zip(-brought, below[route], strict=True)


def _located(cells: Cells, divided: Array) -> tuple[Array, list[Window]]:
    """The threshold in tokens that each row of shares says, and the cells either side of its own as its window."""
    edges, last = cells.edges, cells.edges.size - 1
    found, windows = [], []
    for shares in divided:
        cell = min(int(np.argmin(np.append(shares, 0.0) >= 1.0 - NEARLY)), last - 1)
        part, low, high = float(shares[cell]), edges[cell], edges[cell + 1]
        if part < NEARLY or part > 1.0 - NEARLY:
            found.append(low if part < NEARLY else high)
        else:
            found.append(low + part * (high - low))
        windows.append((float(edges[max(cell - 1, 0)]), float(edges[min(cell + 2, last)])))
    return np.maximum.accumulate(found) if found else np.empty(0), windows


def _kept_local(
    fleet: Fleet, tables: Sequence[Table], prefill_instances: Sequence[float], found: list[Array]
) -> list[Array]:
    """The same, with every threshold at least as high as PD-P can carry: the routes then take a part of what they
    took."""
    most, has = limit(fleet, found, prefill_instances), capacities(fleet, prefill_instances)
    if most == 0:
        return found
    return [
        np.maximum(cuts, at.highest(LOCAL, 0.0, has[Stage.PD_P, at.pd.name] / (most * at.pd.share)))
        for at, cuts in zip(tables, found, strict=True)
    ]
