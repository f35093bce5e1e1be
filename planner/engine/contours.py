"""Lines of equal value on a grid, by marching squares."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from planner.engine.curves import Array

type Edge = tuple[int, int, int]
"""Column and row of the grid point that it begins at, and 0 along x, 1 along y."""
type Point = tuple[float, float]


def lines(x: Array, y: Array, values: Array, level: float) -> list[list[Point]]:
    """Polylines on which `values`, of shape (len(y), len(x)), are at the level; closed where the last point is the
    first.

    Straight between grid points. Cells with a corner that is not finite have no line. A value of exactly the level
    counts as above it. Where a cell's corners cross over, its mean says which of them belong together.
    """
    excess = np.asarray(values, dtype=float) - level
    segments = [segment for row in range(len(y) - 1) for segment in _in_row(excess, row)]
    return [[_point(x, y, excess, edge) for edge in chain] for chain in _chains(segments)]


def _in_row(excess: Array, row: int) -> Iterator[tuple[Edge, Edge]]:
    for column in range(excess.shape[1] - 1):
        corners = excess[row : row + 2, column : column + 2]
        if np.isfinite(corners).all():
            yield from _in_cell(corners, column, row)


def _in_cell(corners: Array, column: int, row: int) -> Iterator[tuple[Edge, Edge]]:
    """The pieces of line through one cell: none, one, or two where its corners cross over."""
    bottom, right, top, left = (column, row, 0), (column + 1, row, 1), (column, row + 1, 0), (column, row, 1)
    around = [bool(each >= 0) for each in (corners[0, 0], corners[0, 1], corners[1, 1], corners[1, 0])]
    crossed = [
        edge
        for place, edge in enumerate((bottom, right, top, left))
        if around[place] != around[(place + 1) % len(around)]
    ]
    if len(crossed) == 2:
        yield crossed[0], crossed[1]
    elif crossed:
        # the corner at the origin is cut off, or the two beside it are
        alone = around[0] != bool(corners.mean() >= 0)
        yield from (((bottom, left), (right, top)) if alone else ((bottom, right), (left, top)))


def _chains(segments: list[tuple[Edge, Edge]]) -> Iterator[list[Edge]]:
    """Segments joined end to end: open ones from their ends first, then the closed ones."""
    at: dict[Edge, list[Edge]] = defaultdict(list)
    for one, other in segments:
        at[one].append(other)
        at[other].append(one)
    for start in [*(edge for edge in at if len(at[edge]) == 1), *list(at)]:
        if at[start]:
            yield _followed(at, start)


def _followed(at: dict[Edge, list[Edge]], start: Edge) -> list[Edge]:
    """The chain from an edge on; what it passes is taken out."""
    chain = [start]
    while at[chain[-1]]:
        here = chain[-1]
        following = at[here].pop()
        at[following].remove(here)
        chain.append(following)
    return chain


def _point(x: Array, y: Array, excess: Array, edge: Edge) -> Point:
    column, row, along_y = edge
    end = (row + along_y, column + 1 - along_y)
    share = float(excess[row, column] / (excess[row, column] - excess[end]))
    return (
        float(x[column] + share * (x[end[1]] - x[column])),
        float(y[row] + share * (y[end[0]] - y[row])),
    )
