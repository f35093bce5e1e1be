"""From a benchmark's results to a profile as the catalogue stores it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.documents.errors import DocumentError, FieldError, refuse
from planner.documents.fields import PROVENANCE_KINDS
from planner.importers.base import Assumption, Choices
from planner.importers.profiles.groups import ambiguous
from planner.importers.profiles.points import Points, prefill_points, too_few
from planner.importers.profiles.report import quality_of
from planner.importers.profiles.rows import Results
from planner.importers.tables import slug

SYSTEM_TAILS = ("_sxm", "_pcie", "_nvl")
NAMED = {
    "model": "the catalogue's name of the model that was measured",
    "hardware": "the catalogue's name of the chip that it ran on",
    "gpus_per_instance": "how many GPUs one instance has",
}


def profile(results: Results, source: str, choices: Choices) -> tuple[dict[str, Any], Points, tuple[Assumption, ...]]:
    """The document, the points behind it, and what had to be assumed. Raises DocumentError with all that is missing."""
    several = ambiguous(results.rows)
    if several:
        raise several
    subject, assumptions = named(results, choices)
    points = prefill_points(results.rows, choices)
    if len(points.tokens) < 2:
        raise too_few(points)
    quality_of(points.tokens, points.seconds)
    kind = choices.get("provenance", results.provenance)
    if kind not in PROVENANCE_KINDS:
        raise refuse("provenance", kind, f"must be one of {', '.join(PROVENANCE_KINDS)}")
    assumed = (Assumption("provenance", kind, "what the figures rest on", PROVENANCE_KINDS),)
    document = subject | {
        "name": choices.get("name") or name_of(subject),
        "engine": choices.get("engine", results.engine),
        "precision": choices.get("precision", results.precision),
        "prefill": {"tokens": points.tokens, "seconds": points.seconds, "interpolation": "log_log"},
    }
    parts = {"prefill_cached": points.cached, "decode": list(results.decode) or points.decode}
    document |= {part: steps for part, steps in parts.items() if steps}
    origin = {"kind": kind, "source": f"{results.format}, {source}"}
    document["provenance"] = {part: dict(origin) for part in ("prefill", *parts) if part in document}
    document["notes"] = "\n".join((*results.notes, *points.notes))[:2000]
    return document, points, (*assumptions, *results.assumptions, *points.assumptions, *assumed)


def named(results: Results, choices: Choices) -> tuple[dict[str, Any], tuple[Assumption, ...]]:
    """Model, hardware and GPUs an instance: chosen, or taken from the file as an assumption."""
    from_file = {
        "model": slug((results.model or "").rpartition("/")[2]),
        "hardware": slug(_chip(results.system or "")),
        "gpus_per_instance": str(results.gpus or ""),
    }
    missing, values, assumptions = [], {}, []
    for field, text in NAMED.items():
        chosen = choices.get(field)
        # a model is also chosen to find its rows, by its name there
        values[field] = slug(chosen.rpartition("/")[2]) if field == "model" and chosen and "/" in chosen else chosen
        if not chosen and from_file[field]:
            values[field] = from_file[field]
            assumptions.append(Assumption(field, from_file[field], f"{text}, as the file has it"))
        elif not chosen:
            missing.append(FieldError(field, None, f"is not in the file and has to be chosen: {text}"))
    if missing:
        raise DocumentError(missing)
    return values | {"gpus_per_instance": _count(values["gpus_per_instance"])}, tuple(assumptions)


def _chip(system: str) -> str:
    """`h200_sxm` is an h200: the catalogue has chips, not boards."""
    for tail in SYSTEM_TAILS:
        system = system.removesuffix(tail)
    return system


def _count(text: str | None) -> int:
    if not (text and text.isascii() and text.isdigit() and 0 < int(text[:9]) <= 100_000 and len(text) < 7):
        raise refuse("gpus_per_instance", text, "must be a whole number from 1 to 100000")
    return int(text)


def name_of(subject: Mapping[str, Any]) -> str:
    """A name for what was measured, where nobody gives one."""
    return slug(f"{subject['model']}-{subject['hardware']}x{subject['gpus_per_instance']}")
