"""Histograms that are one: counts added up where their buckets are the same, or can be made so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from monitoring.storage.rollups import Array

ENOUGH = 0.5
"""Share of the fullest histogram's bounds that must be in all of them for them to be made coarser."""

type Bounds = tuple[float, ...]


def common(weights: Mapping[Bounds, float]) -> Bounds:
    """The bounds to which histograms with these are made; `weights` says how many observations have each.

    Those that all have in common, where they are enough; else those of the fullest, and others are left out.
    """
    if not weights:
        return ()
    fullest = max(weights, key=lambda bounds: (weights[bounds], len(bounds), bounds))
    shared = set(fullest).intersection(*weights)
    return tuple(sorted(shared)) if len(shared) >= max(1, ENOUGH * len(fullest)) else fullest


def coarser(bounds: Bounds, counts: Array, wanted: Bounds) -> Array | None:
    """The same observations by some of their bounds: nothing is guessed. None where a wanted bound is not one of them.

    Counts may have more dimensions; the last is that of buckets.
    """
    if bounds == wanted:
        return counts
    place = {bound: at for at, bound in enumerate(bounds)}
    if any(bound not in place for bound in wanted):
        return None
    first = [0, *(place[bound] + 1 for bound in wanted)]
    found: Array = np.add.reduceat(counts, first, axis=-1)
    return found


def added(parts: Sequence[tuple[Bounds, Array]], wanted: Bounds) -> Array:
    """All that can be made so, as one."""
    found = np.zeros(len(wanted) + 1)
    for bounds, counts in parts:
        some = coarser(bounds, counts, wanted)
        if some is not None:
            found = found + some
    return found


def weights(parts: Iterable[tuple[Bounds, Array]]) -> dict[Bounds, float]:
    """How many observations there are with each bounds."""
    found: dict[Bounds, float] = {}
    for bounds, counts in parts:
        if bounds:
            found[bounds] = found.get(bounds, 0.0) + float(counts.sum())
    return found
