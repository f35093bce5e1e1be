"""What `inspect` prints of a benchmark's file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from planner.documents.errors import DocumentError, refuse
from planner.engine.curves import LogLogCurve, QuadraticFit
from planner.engine.profile import Quality, fitted, left_out, quality
from planner.importers.base import Choices
from planner.importers.profiles.groups import ambiguous
from planner.importers.profiles.points import Points, as_points, prefill_points
from planner.importers.profiles.rows import Results, Row

AVERAGED = ("input_tokens", "ttft_s", "tpot_s", "output_tokens")


def report(results: Results, choices: Choices) -> dict[str, Any]:
    """Everything that was read, SI units throughout; `points` is null where they make no curve, `notes` say why."""
    points, notes = _points(results, choices)
    found = as_points(points) if points else None
    if found is None and points is not None:
        notes.append(f"{len(points.tokens)} usable lengths make no curve: a profile needs at least two")
    assumptions = results.assumptions + (points.assumptions if points else ())
    return {
        "format": results.format,
        "model": results.model,
        "system": results.system,
        "engine": results.engine,
        "rows": [row.as_json() for row in results.rows],
        "points": found,
        "prefill_cached": points.cached if points else [],
        "decode": list(results.decode) or (points.decode if points else []),
        "quality": quality_of(found["tokens"], found["seconds"]) if found else None,
        "aggregates": aggregates(results),
        "mapping": [asdict(mapped) for mapped in results.mapping],
        "assumptions": [asdict(assumption) for assumption in assumptions],
        "notes": [*results.notes, *notes],
    }


def _points(results: Results, choices: Choices) -> tuple[Points | None, list[str]]:
    """The points, or why there are none: what is still to be chosen does not keep a file from being looked at."""
    several = ambiguous(results.rows)
    if several:
        return None, [str(error) for error in several.errors]
    try:
        points = prefill_points(results.rows, choices)
    except DocumentError as problem:
        if any(error.value is not None for error in problem.errors):
            raise
        return None, [str(error) for error in problem.errors]
    return points, list(points.notes)


def aggregates(results: Results) -> dict[str, Any]:
    """Means over all requests, how many there were, and the format's own figures.

    Rows at several concurrencies or of several things have no mean that says anything: null.
    """
    rows = results.rows
    alike = len({row.concurrency for row in rows}) == 1 and not ambiguous(rows)
    means = {name: _mean(rows, name) if alike else None for name in AVERAGED}
    counted = [row.requests for row in rows if row.requests is not None]
    return {**means, "requests": sum(counted) if counted else None, **results.facts}


def _mean(rows: Sequence[Row], name: str) -> float | None:
    get: Callable[[Row], float | None] = lambda row: getattr(row, name)  # noqa: E731
    known = [(row.requests or 1, value) for row in rows if (value := get(row)) is not None]
    if not known:
        return None
    return sum(weight * value for weight, value in known) / sum(weight for weight, _ in known)


def quality_of(tokens: Sequence[float], seconds: Sequence[float]) -> dict[str, Any]:
    """How good the points are as a curve: the log-log line's miss of each point left out, and the fit beside it.

    Raises DocumentError where they are no curve at all.
    """
    try:
        line = LogLogCurve(tokens, seconds)
    except ValueError as problem:
        raise refuse("prefill", None, str(problem)) from problem
    found = quality(line, tokens, seconds)
    fit = fitted(tokens, seconds)
    return {
        "range_tokens": [found.shortest, found.longest],
        "monotone": found.monotone,
        "falls": [list(pair) for pair in found.falls],
        "left_out": left_out(tokens, seconds).tolist(),
        "log_log": _residuals(found),
        "fit": None if fit is None else _fit(fit, quality(fit, tokens, seconds)),
    }


def _residuals(found: Quality) -> dict[str, Any]:
    return {"residuals": found.residuals.tolist(), "largest": found.largest, "rms": found.rms}


def _fit(fit: QuadraticFit, found: Quality) -> dict[str, Any]:
    t0, a, b = (float(part) for part in fit.coefficients)
    return {"t0_s": t0, "a_s_per_token": a, "b_s_per_token2": b, **_residuals(found)}
