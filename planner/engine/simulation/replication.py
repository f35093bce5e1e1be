"""What one replication counted: plain numbers and arrays, to be sent from where it ran and put together."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from planner.engine.curves import Array
from planner.engine.simulation.layout import COPYING, PLACES, Records

PARTS = 20
"""Of the counted requests, to see whether the queues grow from one to the next."""


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """The running totals at one moment."""

    now_s: float
    areas: Array
    """Requests at each place, integrated over time."""
    sent_bits: Array
    """By link, to the PD cluster."""
    resent_bits: Array
    possible_bits: Array
    completed: int
    arrived: int


@dataclass(frozen=True, slots=True, eq=False)
class Replication:
    """Counts of one run; the window is that of the arrivals that are counted.

    Sums and histograms are of the requests that arrived in it, whenever they were served.
    """

    index: int
    window_s: float
    arrived: int
    """Requests in the window, and how many were completed in it."""
    completed: int
    mean_at: Array
    """Requests at each place, averaged over the window, shape (PLACES,)."""
    growth_rps: Array
    """By how many they grew a second, shape (PLACES,)."""
    sent_bits: Array
    """By link to the PD cluster, shape (links,); of these bits, those that were sent once more; and what could be."""
    resent_bits: Array
    possible_bits: Array
    end_s: float
    """When the last request had arrived."""
    copied_bits: float
    """Of prefixes, in either direction, from the beginning to the end."""
    conversions: int
    """Instances that have changed their role, from the beginning to the end; and requests that began anew."""
    restarts: int
    sums: Records
    """By route, shape (2,)."""
    histograms: NDArray[np.int64]
    """TTFT by route, shape (2, CELLS)."""
    tpot: NDArray[np.int64]
    """TPOT by route, of decode by iteration, shape (2, CELLS)."""
    series: Records
    """By bin, from time 0 to the last arrival."""
    bin_s: float
    window_bin_s: float
    """Of the windows that make up a bin."""
    unfinished: int
    """Requests that nothing could ever finish, or that were too many."""
    overflowed: bool
    """Whether there were so many in the system that it was left at that."""
    record: Records
    """What each request met, if that was asked for, shape (requests,)."""


def growth(marks: list[Mark]) -> Array:
    """Requests a second by which each place grows: the slope through the means between marks; 0 of too few."""
    later = [marks[0], *(mark for before, mark in pairwise(marks) if mark.now_s > before.now_s)]
    if len(later) < 3:
        return np.zeros(PLACES)
    times = np.array([mark.now_s for mark in later])
    spans = np.diff(times)
    means = np.diff(np.stack([mark.areas for mark in later]), axis=0) / spans[:, np.newaxis]
    middles = (times[1:] + times[:-1]) / 2
    middles -= middles.mean()
    slopes: Array = middles @ (means - means.mean(axis=0)) / (middles @ middles)
    return slopes


def in_system(at_places: Array) -> float:
    """All that have come and not gone, of numbers by place."""
    return float(at_places[: COPYING + 1].sum())
