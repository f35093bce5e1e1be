"""Instances of the PD cluster that change their role: what is remembered while one is emptied."""

from __future__ import annotations

from planner.engine.simulation.compilation import compiled
from planner.engine.simulation.state import Plan, State

NONE, PREFILL, DECODE = range(3)
"""The role that an instance is giving up."""


@compiled
def emptied(plan: Plan, state: State) -> None:
    """The instance that changes its role has nothing left of its old one; it serves in its new one a while later."""
    clock = state.clock[0]
    clock.converted_s = clock.now_s + plan.given[0].delay_s
