"""Copies of documents, which consist of tables, lists, text and numbers and of nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

_FIGURES = frozenset({int, float})


def copied[Plain](value: Plain) -> Plain:
    """A copy that shares no table and no list with the plain value given."""
    return cast("Plain", _copied(value))


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copied(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return value.copy() if is_figures(value) else [_copied(inner) for inner in value]
    return value


def is_figures(values: list[Any]) -> bool:
    """Whether a list holds numbers and nothing else.

    A recording has a hundred thousand of them: whoever looks at each needs longer than all that is worked out of them.
    """
    return _FIGURES.issuperset(map(type, values))
