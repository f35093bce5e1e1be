"""What of a number is shown: a share is no more than all and no time is below 0, whatever Student's t makes of it."""

from __future__ import annotations

import math
from collections.abc import Mapping

NOTHING = 1e-5
"""A share below it is none to speak of."""


def is_worth_telling(share: Mapping[str, float | None] | None) -> bool:
    """Whether a share is there, and more than what formulas leave over."""
    return share is not None and (share["mean"] or 0.0) >= NOTHING


def within(value: float | None, least: float = 0.0, most: float = math.inf) -> float | None:
    """The nearest that can be."""
    return None if value is None else max(least, min(value, most))


def clipped(estimate: Mapping[str, float | None], most: float = math.inf) -> dict[str, float | None]:
    """A mean and its bounds, each as near as can be."""
    return {name: within(value, 0.0, most) for name, value in estimate.items()}
