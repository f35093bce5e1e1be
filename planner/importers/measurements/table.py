"""A CSV of runs under our own names: the columns are the fields of a run, in SI units, empty where nothing was seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from planner.documents.errors import DocumentError, FieldError, refuse
from planner.entries.measurement import MEASURED, Run
from planner.importers import reading
from planner.importers.base import Mapped
from planner.importers.profiles import table as lengths_and_times
from planner.importers.profiles.rows import Results
from planner.importers.tables import Record, checked_header, records, rows

COLUMNS = tuple(Run.model_fields)


def is_own(path: Path) -> bool:
    """Whether the header has our names, and none but ours unless another reader cannot take it either."""
    header = next((cells for _, cells in rows(reading.lines(path, longest=reading.LARGEST_JSON)) if cells), [])
    ours = set(header) & set(COLUMNS)
    if "input_tokens" not in ours or not ours & set(MEASURED):
        return False
    return ours == set(header) or not lengths_and_times.is_table(header)


def read(path: Path) -> tuple[Results, list[dict[str, Any]]]:
    """The runs, a line each. Raises DocumentError naming line and column."""
    numbered = rows(reading.lines(path, longest=reading.LARGEST_JSON))
    line, names = next((row for row in numbered if row[1]), (1, []))
    header = checked_header(line, names)
    allowed = f"is no column of runs; allowed: {', '.join(COLUMNS)}"
    unknown = [FieldError(f"line {line}", name, allowed) for name in header if name not in COLUMNS]
    if unknown:
        raise DocumentError(unknown)
    runs = [_run(record, header) for record in records(header, numbered)]
    if not runs:
        raise refuse(f"line {line}", None, "is the only line: there are no runs below the header")
    mapping = tuple(Mapped(name, name) for name in header)
    return Results("CSV of runs", (), mapping=mapping, notes=_notes(runs)), runs


def _run(record: Record, header: list[str]) -> dict[str, Any]:
    found = {name: record.number(name, 0.0) for name in header}
    run = {name: value for name, value in found.items() if value is not None}
    if "input_tokens" not in run:
        raise refuse(record.place("input_tokens"), None, "is empty")
    if not run.keys() & set(MEASURED):
        raise refuse(f"line {record.line}", None, f"needs at least one of {', '.join(MEASURED)}")
    return run


def _notes(runs: list[dict[str, Any]]) -> tuple[str, ...]:
    unsaid = sum("concurrency" not in run and "rate_rps" not in run for run in runs)
    if not unsaid:
        return ()
    return (f"{unsaid} runs say neither concurrency nor rate_rps: their TTFT is compared with nothing",)
