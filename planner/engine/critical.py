"""The thresholds at which a rate begins to need one more instance, or a wider link: between them nothing changes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planner.engine.curves import Array
from planner.engine.options import Loads, Space, loads
from planner.engine.throughput import Form

HALVINGS = 45
"""From a cell of the grid to neighbouring numbers."""


def critical(space: Space, grid: Loads, rate_rps: float) -> Array:
    """Thresholds that are worth trying at a rate, rising: the ends of the grid, and the last one of each count.

    In exact form what PD-P has to do rises with t and what leaves falls, so that the best threshold of any counts is
    the highest that N_p still carries, or the lowest that N_prfaas or the link does. The paper form promises no such
    thing: there it is the grid.
    """
    if space.form is Form.PAPER or grid.thresholds.size < 3:
        return grid.thresholds
    rows, levels, rising = _levels(space, rate_rps)
    values = np.vstack([grid.pd_p_s, -grid.prfaas_s, -grid.link_bits])
    wanted = np.where(rising, levels, -levels)
    cell = np.array([np.searchsorted(values[row], level, "right") for row, level in zip(rows, wanted, strict=True)])
    inside = (cell > 0) & (cell < grid.thresholds.size)
    rows, wanted, rising, cell = rows[inside], wanted[inside], rising[inside], cell[inside]
    low, high = grid.thresholds[cell - 1], grid.thresholds[cell]
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        at = loads(space, middle)
        reached = np.vstack([at.pd_p_s, -at.prfaas_s, -at.link_bits])[rows, np.arange(rows.size)]
        beyond = np.where(rising, reached > wanted, reached >= wanted)
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    ends = grid.thresholds[[0, -1]]
    return np.unique(np.concatenate([np.where(rising, low, high), ends]))


def _levels(space: Space, rate_rps: float) -> tuple[NDArray[np.intp], Array, NDArray[np.bool_]]:
    """Work a request that fills each count of each option, and what crosses each link full; by row, and whether the
    row rises with the threshold."""
    found: list[tuple[int, float, bool]] = []
    for row, most in enumerate([option.most for option in space.pd] + [option.most for option in space.prfaas]):
        counts = range(1, most + 1)
        found += [(row, space.reserve.capacity(count) / rate_rps, row < len(space.pd)) for count in counts]
    last = len(space.pd) + len(space.prfaas)
    found += [(last, space.link_bps(option) / rate_rps, False) for option in space.links]
    rows, levels, rising = zip(*found, strict=True)
    return np.array(rows), np.array(levels, dtype=float), np.array(rising)
