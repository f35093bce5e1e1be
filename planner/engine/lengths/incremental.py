"""Incremental lengths: what the prefix cache leaves of a prompt to be prefilled."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from planner.engine.curves import Array
from planner.engine.lengths.distribution import LengthDistribution
from planner.engine.lengths.empirical import Empirical

POINTS = 4096
LEAST_TOKENS = 1.0
"""Even a prompt that is wholly cached has its last token prefilled: it yields the first one of the answer."""


def uncached(lengths: LengthDistribution, hit_ratio: Callable[[Array], Array]) -> Empirical:
    """l · (1 - h(l)) over the prompts, at least one token, where h(l) in [0, 1] of a prompt of l tokens is cached.

    Recorded lengths are taken one by one; a density by 4096 lengths of equal probability, its quantiles at the
    middle of each.
    """
    if isinstance(lengths, Empirical):
        prompts, requests = lengths.samples, lengths.requests
    else:
        prompts = lengths.quantile((np.arange(POINTS) + 0.5) / POINTS)
        requests = np.ones(POINTS, dtype=np.int64)
    return Empirical(np.maximum(prompts * (1.0 - hit_ratio(prompts)), LEAST_TOKENS), requests)
