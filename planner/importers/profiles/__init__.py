"""Performance profiles from what benchmarks write: prefill times by length, with what they rest on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from planner.documents.errors import DocumentError, FieldError
from planner.entries import check
from planner.importers.base import Choices, Imported
from planner.importers.profiles.detect import results
from planner.importers.profiles.document import profile
from planner.importers.profiles.report import aggregates, quality_of, report
from planner.importers.profiles.rows import Results
from planner.importers.profiles.silicon import GROUPS
from planner.importers.profiles.table import SUBJECTS

__all__ = ["inspect", "read"]


CHOICES = frozenset(
    {"name", "model", "hardware", "gpus_per_instance", "engine", "precision", "provenance"}
    | {"use_loaded", "concurrency", "request_rate", "tokens_include_cached", *GROUPS, *SUBJECTS}
)


def _results(path: Path, choices: Choices) -> Results:
    """What the file holds. Raises DocumentError, also on a choice that nothing here asks for."""
    allowed = f"is no choice of a profile; those are {', '.join(sorted(CHOICES))}"
    unknown = [FieldError(field, choices[field], allowed) for field in choices if field not in CHOICES]
    if unknown:
        raise DocumentError(unknown)
    return results(path, choices)


def read(path: Path, choices: Choices) -> Imported:
    """The profile that a file gives, checked as the catalogue checks it; nothing is stored.

    `choices`: `model`, `hardware`, `gpus_per_instance` where the file does not say; `use_loaded` (yes or no) and
    `concurrency` or `request_rate` for times with queueing in them; `system`, `backend`, `tp`, `quant` and others where
    one file has many things; `name`, `engine`, `precision`, `provenance`. Raises DocumentError naming field, or line
    and column.
    """
    found = _results(path, choices)
    document, points, assumptions = profile(found, path.name, choices)
    check("profiles", document)
    return Imported(
        kind="profiles",
        document=document,
        mapping=found.mapping,
        assumptions=assumptions,
        notes=(*found.notes, *points.notes),
        facts={"format": found.format, "quality": quality_of(points.tokens, points.seconds), **aggregates(found)},
    )


def inspect(path: Path, choices: Choices) -> dict[str, Any]:
    """Everything that a file says of prefill and decode, in SI units, with notes on what it cannot be used for.

    Raises DocumentError as `read`; what is still to be chosen is a note.
    """
    return report(_results(path, choices), choices)
