"""First come, first served: lists that run through the slots, so that none has a size of its own."""

from __future__ import annotations

from planner.engine.simulation.compilation import compiled
from planner.engine.simulation.layout import NOBODY
from planner.engine.simulation.state import State


@compiled
def append(state: State, which: int, slot: int) -> None:
    """A request goes to the end of a queue."""
    queue = state.queues[which]
    state.slots[slot].follows = NOBODY
    if queue.first == NOBODY:
        queue.first = slot
    else:
        state.slots[queue.last].follows = slot
    queue.last = slot


@compiled
def take_first(state: State, which: int) -> int:
    """The first of a queue leaves it; of an empty one it must not be asked."""
    queue = state.queues[which]
    slot = queue.first
    queue.first = state.slots[slot].follows
    return int(slot)


@compiled
def is_empty(state: State, which: int) -> bool:
    """Whether nobody is in a queue."""
    return bool(state.queues[which].first == NOBODY)
