"""An inspection as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

SHOWN = 12
"""Rows of a list that are printed; --json has all of them."""


def lines(found: dict[str, Any], indent: str = "") -> Iterator[str]:
    """Field by field: tables indented, long lists cut."""
    width = max((len(key) for key in found), default=0)
    for key, value in found.items():
        if isinstance(value, dict) and value:
            yield f"{indent}{key}"
            yield from lines(value, indent + "  ")
        elif isinstance(value, list) and value and not _plain(value):
            yield f"{indent}{key}"
            yield from _items(value, indent + "  ")
        else:
            yield f"{indent}{key.ljust(width)}  {_written(value)}"


def _items(values: list[Any], indent: str) -> Iterator[str]:
    for value in values[:SHOWN]:
        yield f"{indent}- {_fields(value) if isinstance(value, dict) else value}"
    if len(values) > SHOWN:
        yield f"{indent}… and {len(values) - SHOWN} more (--json has them)"


def _fields(table: dict[str, Any]) -> str:
    return "; ".join(f"{key}: {_written(value)}" for key, value in table.items() if value not in (None, "", []))


def _plain(values: list[Any]) -> bool:
    return all(isinstance(value, int | float) for value in values)


def _written(value: Any) -> str:
    if value is None or value in ([], {}):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.6g}"
    if isinstance(value, list | tuple):
        shown = ", ".join(_written(each) for each in value[:SHOWN])
        return f"{shown}, …" if len(value) > SHOWN else shown
    return str(value)
