"""The recommendation followed in simulation: what is seen of a simulated system is advised on, and t set accordingly.

`follow` simulates and is compiled by Numba: it is imported where that is wanted, from `following`, and not from here.
"""

from planner.engine.closed_loop.course import Course, pooled, smoothed, turns
from planner.engine.closed_loop.telemetry import Loop

__all__ = ["Course", "Loop", "pooled", "smoothed", "turns"]
