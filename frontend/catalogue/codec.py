"""One field's value as the text in its input, and back."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from frontend.catalogue.schema import Column, Leaf, Widget
from frontend.catalogue.units import Unit, read, written
from planner.catalog import files

type Value = Any
ABSENT = object()
"""What an empty input stands for: the field is not there."""
NOTHING = "-"
"""Stands in a line for a number that is not there."""
BETWEEN = re.compile(r"[\s,;]+")
MOST_LINES = 100_000


class Mistyped(ValueError):
    """A text that stands for no value."""


def text_of(leaf: Leaf, value: Value) -> str:
    """What the input shows for a value of the document; nothing for one that is not there."""
    if value is None or value is ABSENT:
        return ""
    return WRITERS[leaf.widget](leaf, value)


def value_of(leaf: Leaf, text: str) -> Value:
    """The value that was typed, or ABSENT. What is no number is left as text, for the schema to refuse.

    Raises Mistyped.
    """
    return READERS[leaf.widget](leaf, text) if text.strip() else ABSENT


def tidy(leaf: Leaf, text: str) -> str:
    """A text as every browser sends it back, so that what nobody touched compares equal."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    return text if leaf.widget in ("area", "numbers", "rows", "points", "yaml") else text.replace("\n", "")


# --- writing -----------------------------------------------------------------------------------------------------


def _written(value: Value, unit: Unit) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return written(value, unit) if is_number else str(value)


def _lines(rows: list[list[Value]], columns: tuple[Column, ...]) -> str:
    return "\n".join(
        ", ".join(
            NOTHING if value is None else _written(value, column.unit)
            for value, column in zip(row, columns, strict=True)
        )
        for row in rows
    )


def _write_rows(leaf: Leaf, value: list[Mapping[str, Value]]) -> str:
    return _lines([[row.get(column.name) for column in leaf.columns] for row in value], leaf.columns)


def _write_points(leaf: Leaf, value: Mapping[str, list[Value]]) -> str:
    lists = [value[column.name] for column in leaf.columns if value.get(column.name)]
    return _lines([list(point) for point in zip(*lists, strict=False)], leaf.columns)


def _write_yaml(leaf: Leaf, value: Value) -> str:
    return files.as_yaml(value) if value != [] else ""


WRITERS: Mapping[Widget, Callable[[Leaf, Value], str]] = {
    "text": lambda leaf, value: tidy(leaf, str(value)),
    "area": lambda leaf, value: tidy(leaf, str(value)),
    "number": lambda leaf, value: _written(value, leaf.unit),
    "select": lambda leaf, value: str(value),
    "reference": lambda leaf, value: str(value),
    "switch": lambda leaf, value: "yes" if value else "no",
    "numbers": lambda leaf, value: ", ".join(_written(item, leaf.unit) for item in value),
    "rows": _write_rows,
    "points": _write_points,
    "yaml": lambda leaf, value: tidy(leaf, _write_yaml(leaf, value)),
}


# --- reading -----------------------------------------------------------------------------------------------------


def _number(text: str, unit: Unit, whole: bool = False) -> Value:
    try:
        return read(text, unit, whole)
    except ValueError:
        return text


def _read_numbers(leaf: Leaf, text: str) -> list[Value]:
    return [_number(part, leaf.unit) for part in BETWEEN.split(text.strip()) if part]


def _read_lines(leaf: Leaf, text: str) -> list[list[Value]]:
    """The lines as values a column. Raises Mistyped on a line that has too few or too many."""
    found = []
    lines = text.strip().split("\n")
    if len(lines) > MOST_LINES:
        raise Mistyped(f"takes at most {MOST_LINES:,} lines")
    for at, line in enumerate(lines, 1):
        parts = BETWEEN.split(line.strip())
        if parts == [""]:
            continue
        if not _least(leaf) <= len(parts) <= len(leaf.columns):
            names = ", ".join(column.name.replace("_", " ") for column in leaf.columns)
            raise Mistyped(f"line {at} has {len(parts)} values; needs {len(leaf.columns)}: {names}")
        values = zip(parts + [NOTHING] * (len(leaf.columns) - len(parts)), leaf.columns, strict=True)
        found.append([None if part == NOTHING else _number(part, column.unit) for part, column in values])
    return found


def _least(leaf: Leaf) -> int:
    """How many numbers a line has at least: those at its end may be left out where the schema lets them."""
    required = [at for at, column in enumerate(leaf.columns, 1) if column.required]
    return max(required, default=1)


def _read_rows(leaf: Leaf, text: str) -> list[dict[str, Value]]:
    names = [column.name for column in leaf.columns]
    lines = _read_lines(leaf, text)
    return [{name: value for name, value in zip(names, line, strict=True) if value is not None} for line in lines]


def _read_points(leaf: Leaf, text: str) -> dict[str, list[Value]]:
    lines = _read_lines(leaf, text)
    found = {column.name: [line[at] for line in lines] for at, column in enumerate(leaf.columns)}
    given = {name: values for name, values in found.items() if any(value is not None for value in values)}
    for name, values in given.items():
        if None in values:
            raise Mistyped(f"line {values.index(None) + 1} has no {name.replace('_', ' ')}; other lines have")
    return given


def _read_yaml(leaf: Leaf, text: str) -> Value:
    try:
        return files.parse(text)
    except files.Unreadable as problem:
        raise Mistyped(f"is no YAML: {problem}") from problem


READERS: Mapping[Widget, Callable[[Leaf, str], Value]] = {
    "text": lambda leaf, text: text.strip(),
    "area": lambda leaf, text: text.strip(),
    "number": lambda leaf, text: _number(text, leaf.unit, leaf.whole),
    "select": lambda leaf, text: text,
    "reference": lambda leaf, text: text,
    "switch": lambda leaf, text: {"yes": True, "no": False}.get(text, text),
    "numbers": _read_numbers,
    "rows": _read_rows,
    "points": _read_points,
    "yaml": _read_yaml,
}
