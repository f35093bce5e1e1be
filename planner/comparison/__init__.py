"""A comparison: two to six scenarios side by side, frozen as they were put there, with the prices that they share."""

from planner.comparison.document import Asked, in_order, parse

__all__ = ["Asked", "in_order", "parse"]
