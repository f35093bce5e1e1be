"""How fast an instance is: the curve through its points, what a fit makes of them, and decode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from planner.charts.kv import kv_rate, lengths
from planner.charts.origins import origin
from planner.engine import profile as engine
from planner.entries.profile import CachedPrefill, DecodeStep, Profile

type Document = Mapping[str, Any]

BEYOND = 4.0
"""How far outside its points a curve is shown, as a factor: what is read there is extrapolated."""
FIT_POINTS = 33


def of_profile(profile: Document, model: Document | None) -> dict[str, Any]:
    """Charts of a profile entry; `model` is the entry that it names."""
    parsed = Profile.model_validate(profile)
    return {
        "prefill": _prefill(profile, parsed),
        "residuals": _residuals(profile, parsed),
        "kv_rate": [kv_rate(model, profile)] if model else [],
        "cached": _cached(profile, parsed.prefill_cached),
        "decode": _decode(profile, parsed.decode),
    }


def _prefill(document: Document, profile: Profile) -> dict[str, Any]:
    """T_prefill in seconds as scenarios read it, with the quadratic fit beside it."""
    points = profile.prefill
    shortest, longest = points.tokens[0], points.tokens[-1]
    tokens = lengths(max(1.0, shortest / BEYOND), longest * BEYOND, points.tokens)
    fit = engine.fitted(points.tokens, points.seconds)
    return {
        "tokens": tokens.tolist(),
        "seconds": points.curve()(tokens).tolist(),
        "interpolation": points.interpolation,
        "fit_seconds": fit(tokens).tolist() if fit else None,
        "fit": dict(zip(("t0_s", "a_s", "b_s"), fit.coefficients.tolist(), strict=True)) if fit else None,
        "points": {"tokens": points.tokens, "seconds": points.seconds},
        "measured_tokens": [shortest, longest],
        "provenance": origin(document, "prefill"),
    }


def _residuals(document: Document, profile: Profile) -> dict[str, Any]:
    """Curve, fit, and the log-log line drawn without the point, each over the point, less one."""
    points = profile.prefill
    fit = engine.fitted(points.tokens, points.seconds)
    quality = engine.quality(points.curve(), points.tokens, points.seconds)
    return {
        "tokens": points.tokens,
        "curve": quality.residuals.tolist(),
        "fit": fit.residuals.tolist() if fit else None,
        "left_out": [None, *engine.left_out(points.tokens, points.seconds).tolist(), None],
        "falls": [list(pair) for pair in quality.falls],
        "provenance": origin(document, "prefill"),
    }


def _cached(document: Document, points: Sequence[CachedPrefill]) -> dict[str, Any] | None:
    """Seconds against new tokens, a curve for each cached length; None where nothing was measured."""
    if not points:
        return None
    new, cached, seconds = ([getattr(each, name) for each in points] for name in CachedPrefill.model_fields)
    try:
        fit = engine.CachedPrefill(new, cached, seconds)
    except ValueError:  # too few points to tell the coefficients apart
        fit = None
    at = np.geomspace(min(new), max(new), FIT_POINTS)
    groups = [
        {
            "cached_tokens": length,
            "points": _columns([each for each in points if each.cached_tokens == length], "new_tokens"),
            "fit": {"new_tokens": at.tolist(), "seconds": fit(at, length).tolist()} if fit else None,
        }
        for length in sorted(set(cached))
    ]
    return {"groups": groups, "provenance": origin(document, "prefill_cached")}


def _decode(document: Document, steps: Sequence[DecodeStep]) -> dict[str, Any] | None:
    """Seconds a step against batch, a curve for each context; None where nothing was measured."""
    if not steps:
        return None
    told = [step for step in steps if step.context_tokens is not None]
    try:
        columns = ([getattr(step, name) for step in told] for name in DecodeStep.model_fields)
        fit = engine.DecodeSteps(*columns)
    except ValueError:
        fit = None
    batches = [step.batch for step in steps]
    at = np.linspace(min(batches), max(batches), FIT_POINTS)
    contexts = sorted({step.context_tokens for step in steps}, key=lambda context: context or 0.0)
    groups = [
        {
            "context_tokens": context,
            "points": _columns([step for step in steps if step.context_tokens == context], "batch"),
            "fit": {"batch": at.tolist(), "seconds": fit(at, context).tolist()} if fit and context else None,
        }
        for context in contexts
    ]
    return {"groups": groups, "provenance": origin(document, "decode")}


def _columns(points: Sequence[Any], over: str) -> dict[str, list[float]]:
    """The points of one curve, in the order of what they are drawn over."""
    ordered = sorted(points, key=lambda point: getattr(point, over))
    return {name: [getattr(point, name) for point in ordered] for name in (over, "seconds")}
