"""Lengths, arrivals and prefix reuse of a traffic entry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from planner.charts.arrivals import arrivals
from planner.charts.origins import origin
from planner.engine import lengths
from planner.engine.curves import Array
from planner.engine.lengths import Empirical, LengthDistribution, equal_ratios
from planner.entries.traffic import Lengths, RecordedReuse, ReuseByLength, Traffic

type Document = Mapping[str, Any]

BINS = 60
RICE = 2.0
CDF_POINTS = 201
PREFIX_POINTS = 65


def of_traffic(traffic: Document, trace: Mapping[str, Any] | None) -> dict[str, Any]:
    """Charts of a traffic entry; `trace` has the statistics of the stored trace that it names."""
    parsed = Traffic.model_validate(traffic)
    return {
        "lengths": _lengths(traffic, parsed),
        "arrivals": arrivals(traffic, parsed),
        "prefix": _prefix(traffic, parsed, trace),
        "is_recorded": isinstance(parsed.input_tokens.lengths(), Empirical),
    }


def _lengths(document: Document, traffic: Traffic) -> list[dict[str, Any]]:
    """Whole prompts, what the cache leaves of them, and answers, each where it is a distribution."""
    found = [_distribution("input", traffic.input_tokens.lengths(), origin(document, "input_tokens"))]
    if traffic.prefix.reuse != "none":
        found.append(_distribution("uncached input", traffic.incremental_lengths(), origin(document, "prefix")))
    if isinstance(traffic.output_tokens, Lengths):
        found.append(_distribution("output", traffic.output_tokens.lengths(), origin(document, "output_tokens")))
    return found


def _distribution(what: str, given: LengthDistribution, source: dict[str, str]) -> dict[str, Any]:
    edges = bins(given)
    at = np.unique(equal_ratios(given.shortest, given.longest, CDF_POINTS))
    return {
        "what": what,
        "mean_tokens": lengths.mean(given),
        "p50_tokens": float(given.quantile(0.5)),
        "p90_tokens": float(given.quantile(0.9)),
        "edges_tokens": edges.tolist(),
        "share": shares(given, edges).tolist(),
        "cdf": {"tokens": at.tolist(), "share": up_to(given, at).tolist()},
        "provenance": source,
    }


def bins(given: LengthDistribution) -> Array:
    """Edges in tokens in equal ratios; of recorded lengths half-way between two whole tokens, so that no bin is empty
    for want of a whole number in it, and as few as Rice's rule has, 2 n^(1/3) of n requests."""
    if isinstance(given, Empirical):
        low, high = np.floor(given.shortest), np.ceil(given.longest)
        count = min(BINS, round(RICE * given.total ** (1 / 3)))
        return np.unique(np.round(np.geomspace(low, high + 1, count + 1))) - 0.5
    return equal_ratios(given.shortest, given.longest, BINS + 1)


def shares(given: LengthDistribution, edges: Array) -> Array:
    """Share of requests in each bin; the shortest request, which may lie on the first edge, is in the first."""
    found = given.between(edges[:-1], edges[1:])
    found[0] = float(given.between(0.0, edges[1]))
    return found


def up_to(given: LengthDistribution, tokens: Array) -> Array:
    """P(L <= l) at each length."""
    return given.between(0.0, tokens)


def _prefix(document: Document, traffic: Traffic, trace: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Cached share of a prompt's tokens against its length; None without reuse."""
    prefix, known = traffic.prefix, {"reuse": traffic.prefix.reuse, "provenance": origin(document, "prefix")}
    if isinstance(prefix, ReuseByLength):
        prompts = traffic.input_tokens.lengths()
        low, high = min(prompts.shortest, prefix.tokens[0]), max(prompts.longest, prefix.tokens[-1])
        at = np.unique(np.concatenate([np.geomspace(low, high, PREFIX_POINTS), prefix.tokens]))
        points = {"tokens": prefix.tokens, "hit_ratio": prefix.hit_ratio, "requests": None}
        curve = {"tokens": at.tolist(), "hit_ratio": prefix.at(at).tolist()}
        return {**known, "token_hit_ratio": None, "curve": curve, "points": points}
    if isinstance(prefix, RecordedReuse):
        points = (trace or {}).get("hit_ratio_by_length") or {"tokens": [], "hit_ratio": [], "requests": None}
        return {**known, "token_hit_ratio": prefix.token_hit_ratio, "curve": None, "points": points}
    return None
