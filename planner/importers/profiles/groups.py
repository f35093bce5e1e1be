"""Files that measure several things: which rows are of one, by what the user chose."""

from __future__ import annotations

from collections.abc import Sequence

from planner.documents.errors import DocumentError, FieldError, refuse
from planner.importers.base import Choices
from planner.importers.profiles.rows import Row
from planner.importers.tables import slug


def chosen(rows: Sequence[Row], choices: Choices) -> list[Row]:
    """The rows that the choices leave. Raises DocumentError with what there is where a choice leaves none."""
    left = list(rows)
    for choice in rows[0].group:
        if choice not in choices:
            continue
        kept = [row for row in left if meets(choice, row.group[choice], choices[choice])]
        if not kept:
            raise refuse(choice, choices[choice], "is not in the file; there: " + _values(left, choice))
        left = kept
    return left


def meets(choice: str, there: str, said: str) -> bool:
    """A model may be named in full, by what stands after the slash, or as a catalogue entry would be."""
    if choice != "model":
        return (there or "(empty)") == said
    short = there.rpartition("/")[2]
    return said in (there, short) or slug(said) in (slug(there), slug(short))


def _values(rows: Sequence[Row], choice: str) -> str:
    return ", ".join(sorted({row.group[choice] or "(empty)" for row in rows}))


def ambiguous(rows: Sequence[Row]) -> DocumentError | None:
    """The error of rows that measure several things: what there is to choose from, choice by choice."""
    found = [
        FieldError(choice, None, "has to be chosen, the file has several: " + _values(rows, choice))
        for choice in (rows[0].group if rows else ())
        if len({row.group[choice] for row in rows}) > 1
    ]
    return DocumentError(found) if found else None
