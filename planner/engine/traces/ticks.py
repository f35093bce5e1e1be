"""Clocks that tick: many requests with the same time, then none until the next tick."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planner.engine.traces.chunk import Int64

FEWEST = 20
"""Different times, below which nobody can tell a clock from chance."""
SHARED = 1.5
"""Requests for each different time, from which on the clock is too coarse for the traffic."""
REGULAR = 0.9
"""Share of the gaps that must be a whole number of ticks, to within 1 %."""
LONGEST_S = 60
"""Of a tick; requests that come together more rarely do so for another reason than the clock."""


def tick_ns(arrival_ns: Int64) -> int | None:
    """The clock's tick where many arrivals share few, regular times; None for any other. Arrivals must rise."""
    gaps = np.diff(arrival_ns)
    gaps = gaps[gaps > 0]
    if gaps.size + 1 < FEWEST or arrival_ns.size < SHARED * (gaps.size + 1):
        return None
    tick = int(np.median(gaps))
    whole = np.maximum(1, np.rint(gaps / tick))
    regular = np.abs(gaps - whole * tick) <= 0.01 * tick
    return tick if tick <= LONGEST_S * 10**9 and regular.mean() >= REGULAR else None


def spread(arrival_ns: Int64, tick: int, first_row: int, next_ns: int | None = None) -> Int64:
    """Arrivals spread over the tick that begins with each: uniform by chance, in the order of the rows.

    The chance is a hash of the row's number in the trace, so the same trace always gives the same arrivals, however
    it was cut. Rows with the same time must all be here; `next_ns` is the time of the row after them.
    """
    if not arrival_ns.size:
        return arrival_ns
    chance = _uniform(np.arange(first_row, first_row + arrival_ns.size, dtype=np.uint64))
    ordered = chance[np.lexsort((chance, arrival_ns))]
    times, group = np.unique(arrival_ns, return_inverse=True)
    # a tick that comes early must not be overtaken by what the one before is spread over
    ends = np.append(times[1:], times[-1] + tick if next_ns is None else next_ns)
    width = np.minimum(tick, ends - times)
    return arrival_ns + np.floor(ordered * width[group]).astype(np.int64)


def _uniform(numbers: NDArray[np.uint64]) -> NDArray[np.float64]:
    """One number in [0, 1) for each: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    mixed = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-53
