"""Performance profiles from what benchmarks write: prefill times by length, with what they rest on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from planner.entries import check
from planner.importers.base import Choices, Imported
from planner.importers.profiles.detect import results
from planner.importers.profiles.document import profile
from planner.importers.profiles.report import aggregates, quality_of, report

__all__ = ["inspect", "read"]


def read(path: Path, choices: Choices) -> Imported:
    """The profile that a file gives, checked as the catalogue checks it; nothing is stored.

    `choices`: `model`, `hardware`, `gpus_per_instance` where the file does not say; `use_loaded` (yes or no) and
    `concurrency` for times with queueing in them; `system`, `backend`, `tp`, `quant` and others where one file has
    many things; `name`, `engine`, `precision`, `provenance`. Raises DocumentError naming field, or line and column.
    """
    found = results(path, choices)
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
    return report(results(path, choices), choices)
