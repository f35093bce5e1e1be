"""Decode: a request holds a place in a batch for all of its output; places are given first come, first served."""

from __future__ import annotations

from planner.engine.simulation.compilation import compiled
from planner.engine.simulation.counting import change, count_first_token
from planner.engine.simulation.heap import pop, push
from planner.engine.simulation.queues import append, is_empty, take_first
from planner.engine.simulation.state import PD_D, WAIT_PD_D, WAITING_DECODE, Plan, State


@compiled
def begin_decode(plan: Plan, state: State, slot: int) -> None:
    """A request takes a place that is free."""
    request = state.slots[slot]
    change(state, PD_D, 1)
    push(state.decode, state.clock[0].now_s + request.hold_s, slot)
    count_first_token(state, request, plan.step_s)


@compiled
def enter_decode(plan: Plan, state: State, slot: int) -> None:
    """A request, all of its KVCache there, takes a place or waits for one."""
    state.slots[slot].landed_s = state.clock[0].now_s
    if state.decode[0].item < plan.decode_slots:
        begin_decode(plan, state, slot)
    else:
        change(state, WAIT_PD_D, 1)
        append(state, WAITING_DECODE, slot)


@compiled
def end_decode(plan: Plan, state: State) -> None:
    """A request is done and leaves; the next one takes its place."""
    clock, slot = state.clock[0], pop(state.decode)
    request = state.slots[slot]
    change(state, PD_D, -1)
    clock.completed += 1
    clock.unfinished -= 1
    request.follows = clock.free
    clock.free = slot
    if not is_empty(state, WAITING_DECODE):
        change(state, WAIT_PD_D, -1)
        begin_decode(plan, state, take_first(state, WAITING_DECODE))
