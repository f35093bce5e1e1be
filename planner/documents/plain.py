"""What a document may consist of at all, before anybody asks what it means: what JSON can hold and a database keep."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from planner.documents import paths
from planner.documents.copying import is_figures
from planner.documents.errors import DocumentError, FieldError, shown

DEEPEST = 20
"""Levels of tables and lists; a scenario has seven."""
LARGEST = 10**300
"""No field takes more; Python prints whole numbers only up to some length."""
LONGEST_KEY = 400
"""Characters of a field's name. The longest are paths under `provenance`, of up to three names."""
MOST_PARTS = 100_000
"""Tables, lists and fields of a document; figures in a list are not counted. A profile of every size has 70,000."""

_NOT_PRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def impurities(value: Any, path: str = "") -> Iterator[FieldError]:
    """Everything under `value` that is neither table, list, text, number, true, false nor null, or not printable.

    What is nested too deep, or has too many parts, is looked at no further.
    """
    levels: list[Iterator[tuple[Any, Any]]] = [iter([(path, value)])]
    keys: list[Any] = []
    parts = 0
    while levels:  # no recursion: the value may be nested as deep as its sender liked
        for key, inner in levels[-1]:
            if isinstance(inner, Mapping | list):
                break
            if message := _wrong(inner):
                yield FieldError(_path([*keys, key]), None if isinstance(inner, int) else inner, message)
        else:
            levels.pop()
            del keys[-1:]
            continue
        keys.append(key)
        parts += 1 + (len(inner) if isinstance(inner, Mapping) else 0)
        if parts > MOST_PARTS:
            yield FieldError(None, None, f"has more than {MOST_PARTS:,} tables, lists and fields")
            return
        if len(levels) > DEEPEST:
            yield FieldError(_path(keys).split(".")[0], None, f"is nested deeper than {DEEPEST} levels")
            return
        if isinstance(inner, Mapping):
            yield from _keys(inner, keys)
            levels.append(iter(inner.items()))
        else:
            levels.append(iter(()) if _is_recording(inner) else enumerate(inner))


def require_plain(value: Any, path: str = "") -> None:
    """Raises DocumentError where anything under `value` is impure."""
    found = impurities(value, path)
    first = next(found, None)
    if first is not None:
        raise DocumentError(chain([first], found))


def _is_recording(values: list[Any]) -> bool:
    """Whether a list holds numbers alone, none of them too large."""
    return bool(values) and is_figures(values) and max(values) <= LARGEST and min(values) >= -LARGEST


def _wrong(value: Any) -> str | None:
    """What is wrong with a value that is neither table nor list."""
    if isinstance(value, str):
        return None if printable(value) else "must be text without control characters and broken Unicode"
    if isinstance(value, int):
        return "is a number of more than 300 digits" if abs(value) > LARGEST else None
    if value is None or isinstance(value, float):
        return None
    return "must be text, a number, true, false, null, a list or a table"


def _path(keys: list[Any]) -> str:
    told = (str(key) if isinstance(key, str | int) else shown(key) for key in keys if key != "")
    return ".".join(paths.cut(key, LONGEST_KEY) for key in told)


def _keys(table: Mapping[Any, Any], around: list[Any]) -> Iterator[FieldError]:
    for key in table:
        if not isinstance(key, str):
            yield FieldError(_path([*around, shown(key)]), None, "is not text; every field name must be")
        elif len(key) > LONGEST_KEY:
            yield FieldError(
                _path([*around, key]), None, f"is no field name: it has more than {LONGEST_KEY} characters"
            )
        elif not printable(key):
            said = "is no field name: it has control characters or broken Unicode"
            yield FieldError(_path([*around, key]), None, said)


def printable(text: str) -> bool:
    """Whether text has no control characters other than line breaks and tabs, and no half of a surrogate pair."""
    return not _NOT_PRINTABLE.search(text)
