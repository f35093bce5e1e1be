"""What a document may consist of at all, before anybody asks what it means: what JSON can hold and a database keep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from planner.documents.errors import FieldError, shown

DEEPEST = 20
"""Levels of tables and lists; a scenario has seven."""
LARGEST = 10**300
"""No field takes more; Python prints whole numbers only up to some length."""


def impurities(value: Any, path: str = "") -> Iterator[FieldError]:
    """Everything under `value` that is neither table, list, text, number, true, false nor null, or not printable."""
    waiting = [(value, path, 0)]  # no recursion: the value may be nested as deep as its sender liked
    while waiting:
        value, path, depth = waiting.pop()
        if depth > DEEPEST:
            yield FieldError(path.split(".")[0], None, f"is nested deeper than {DEEPEST} levels")
            return
        if isinstance(value, Mapping):
            for key, inner in value.items():
                yield from _key(key, path)
                waiting.append((inner, _below(path, key), depth + 1))
        elif isinstance(value, list):
            waiting.extend((inner, f"{path}.{index}", depth + 1) for index, inner in enumerate(value))
        else:
            yield from _scalar(value, path)


def _key(key: Any, path: str) -> Iterator[FieldError]:
    if not isinstance(key, str):
        yield FieldError(_below(path, key), None, "is not text; every field name must be")
    elif not printable(key):
        yield FieldError(_below(path, key), None, "is no field name: it has control characters or broken Unicode")


def _below(path: str, key: Any) -> str:
    name = key if isinstance(key, str) else shown(key)
    return f"{path}.{name}" if path else name


def _scalar(value: Any, path: str) -> Iterator[FieldError]:
    if isinstance(value, str):
        if not printable(value):
            yield FieldError(path, value, "must be text without control characters and broken Unicode")
    elif isinstance(value, int) and abs(value) > LARGEST:
        yield FieldError(path, None, "is a number of more than 300 digits")
    elif not (value is None or isinstance(value, int | float)):
        yield FieldError(path, value, "must be text, a number, true, false, null, a list or a table")


def printable(text: str) -> bool:
    """Whether text has no control characters other than line breaks and tabs, and no half of a surrogate pair."""
    return not any(
        (char < " " and char not in "\n\r\t") or char == "\x7f" or "\ud800" <= char <= "\udfff" for char in text
    )
