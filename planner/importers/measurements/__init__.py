"""Benchmark runs as they are, to hold predictions against: every figure that a file has, at every load."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from planner.documents.errors import DocumentError, FieldError, refuse
from planner.documents.fields import PROVENANCE_KINDS
from planner.entries import check
from planner.importers.base import Assumption, Choices, Imported
from planner.importers.measurements import table
from planner.importers.measurements.runs import MOST_RUNS, runs_of
from planner.importers.profiles.detect import results
from planner.importers.profiles.document import name_of, named
from planner.importers.profiles.groups import ambiguous
from planner.importers.profiles.rows import Results
from planner.importers.profiles.silicon import GROUPS
from planner.importers.profiles.table import SUBJECTS

__all__ = ["read"]

CHOICES = frozenset(
    {"name", "model", "hardware", "gpus_per_instance", "engine", "precision", "date", "provenance"}
    | {"tokens_include_cached", *GROUPS, *SUBJECTS}
)
type Runs = list[dict[str, Any]]


def read(path: Path, choices: Choices) -> Imported:
    """The runs that a file holds, checked as the catalogue checks them; nothing is stored.

    Takes what profiles are made of, and a CSV with the columns of a run. `choices`: `model`, `hardware` and
    `gpus_per_instance` where the file does not say; `system`, `backend` and others where it has many things; `name`,
    `engine`, `precision`, `date`, `provenance`. Raises DocumentError naming field, or line and column.
    """
    unknown = [FieldError(field, choices[field], _allowed()) for field in choices if field not in CHOICES]
    if unknown:
        raise DocumentError(unknown)
    found, runs = _found(path, choices)
    if len(runs) > MOST_RUNS:
        raise refuse("rows", len(runs), f"runs; takes at most {MOST_RUNS:,}: take the benchmark's summary instead")
    document, assumptions = _document(found, runs, path.name, choices)
    check("measurements", document)
    return Imported(
        kind="measurements",
        document=document,
        mapping=found.mapping,
        assumptions=assumptions,
        notes=found.notes,
        facts={"format": found.format, "runs": len(runs)},
    )


def _allowed() -> str:
    return f"is no choice of runs; those are {', '.join(sorted(CHOICES))}"


def _found(path: Path, choices: Choices) -> tuple[Results, Runs]:
    if table.is_own(path):
        return table.read(path)
    found = results(path, choices)
    several = ambiguous(found.rows)
    if several:
        raise several
    return found, runs_of(found.rows)


def _document(
    found: Results, runs: Runs, source: str, choices: Choices
) -> tuple[dict[str, Any], tuple[Assumption, ...]]:
    subject, assumptions = named(found, choices)
    # A table of lengths and times may be anybody's thoughts, but whoever brings it as runs says that it was measured.
    kind = choices.get("provenance") or ("measured" if found.provenance == "user" else found.provenance)
    if kind not in PROVENANCE_KINDS:
        raise refuse("provenance", kind, f"must be one of {', '.join(PROVENANCE_KINDS)}")
    origin = {"kind": kind, "source": f"{found.format}, {source}"}
    document = subject | {
        "name": choices.get("name") or name_of(subject),
        "engine": choices.get("engine", found.engine),
        "precision": choices.get("precision", found.precision),
        "rows": runs,
        "provenance": {"rows": origin},
        "notes": "\n".join(found.notes)[:2000],
    }
    if choices.get("date"):
        document["date"] = choices["date"]
    assumed = Assumption("provenance", kind, "what the figures rest on", PROVENANCE_KINDS)
    return document, (*assumptions, *found.assumptions, assumed)
