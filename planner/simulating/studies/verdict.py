"""What may be said of a difference between two variants: whether it is one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

type Verdict = Literal["clear", "within_chance", "no_difference"]

NARROW = 0.02
"""Of the baseline's value: an interval that spans 0 and reaches less far to either side leaves room for no difference
that matters."""
SHORT = {"clear": "clear", "within_chance": "within chance", "no_difference": "no difference"}


def verdict(low: float | None, high: float | None, base: float) -> Verdict | None:
    """Of a difference with its interval, against the baseline's value; None of one replication alone."""
    if low is None or high is None:
        return None
    if not low <= 0 <= high:
        return "clear"
    half = (high - low) / 2
    return "no_difference" if half == 0 or half < NARROW * abs(base) else "within_chance"


def of(found: Mapping[str, Any]) -> Verdict | None:
    """Of a difference in a result; those of before verdicts say only whether they are clear."""
    if "verdict" in found:
        given: Verdict | None = found["verdict"]
        return given
    if found["is_clear"] is None:
        return None
    return "clear" if found["is_clear"] else "within_chance"


def untold(replications: int) -> str:
    """Why a difference is not called one."""
    return f"cannot be told apart from chance with {replications:,} replications"
