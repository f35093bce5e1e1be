"""Distributions fitted to recorded prompt lengths, each held against the record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from planner.charts.traffic import CDF_POINTS, bins, shares, up_to
from planner.engine import fitting
from planner.engine.curves import Array
from planner.engine.fitting.candidates import LARGE_KS
from planner.engine.lengths import Empirical, equal_ratios
from planner.entries.traffic import Traffic

MOST_LENGTHS = 20_000
"""Different lengths that are fitted; of a record with more, neighbours are put together."""


def fits(traffic: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Every family at its most likely parameters, the best by BIC first; None where the lengths are no record.

    A record of a single length has no fit. It takes seconds.
    """
    given = Traffic.model_validate(traffic).input_tokens.lengths()
    if not isinstance(given, Empirical):
        return None
    if given.shortest == given.longest:
        return []
    lengths, counts = _fewer(given)
    return [_fit(found, given) for found in fitting.report(lengths, counts)]


def _fewer(given: Empirical) -> tuple[Array, Any]:
    """The record as lengths and counts, as few as can be fitted at once; its mean and range stay."""
    lengths, where = np.unique(given.samples, return_inverse=True)
    counts = np.bincount(where, given.requests).astype(np.int64)
    if lengths.size <= MOST_LENGTHS:
        return lengths, counts
    starts = np.unique(
        np.concatenate([[0, lengths.size - 1], np.linspace(1, lengths.size - 1, MOST_LENGTHS)]).astype(int)
    )
    together = np.add.reduceat(counts, starts)
    return np.add.reduceat(lengths * counts, starts) / together, together


def _fit(found: fitting.Candidate, given: Empirical) -> dict[str, Any]:
    edges = bins(given)
    at = np.unique(equal_ratios(given.shortest, given.longest, CDF_POINTS))
    pairs = fitting.qq(found.distribution, given.samples, given.requests)
    return {
        "parameters": found.parameters,
        "free_parameters": found.free_parameters,
        "aic": found.aic,
        "bic": found.bic,
        "ks_distance": fitting.ks_distance(found.distribution, given.samples, given.requests),
        "large_ks": LARGE_KS,
        "warning": found.warning,
        "edges_tokens": edges.tolist(),
        "share": shares(found.distribution, edges).tolist(),
        "cdf": {"tokens": at.tolist(), "share": up_to(found.distribution, at).tolist()},
        "qq": {
            "probability": pairs.probability.tolist(),
            "recorded_tokens": pairs.recorded.tolist(),
            "fitted_tokens": pairs.fitted.tolist(),
        },
    }
