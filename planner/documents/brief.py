"""Documents without the thousands of recorded figures that hide everything else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LONGEST, FIRST = 100, 20
"""Values of a list that are shown whole, and how many of a longer one are shown."""


def without_long_lists(value: Any) -> Any:
    """A copy in which lists of more than LONGEST values are left out, with the tables that held nothing else."""
    if not isinstance(value, Mapping):
        return value
    below = {key: without_long_lists(inner) for key, inner in value.items() if not _is_long(inner)}
    return {key: inner for key, inner in below.items() if inner != {} or not value[key]}


def with_short_lists(value: Any) -> Any:
    """A copy in which of lists of more than LONGEST values the FIRST stand, and behind them how many more there are."""
    if isinstance(value, Mapping):
        return {key: with_short_lists(inner) for key, inner in value.items()}
    if _is_long(value):
        return [*value[:FIRST], f"and {len(value) - FIRST:,} more"]
    return value


def _is_long(value: Any) -> bool:
    return isinstance(value, list) and len(value) > LONGEST
