"""Prefill: each side's instances take one request at a time, in the order of arrival or the shortest first."""

from __future__ import annotations

from planner.engine.simulation.compilation import compiled
from planner.engine.simulation.counting import change
from planner.engine.simulation.decode import enter_decode
from planner.engine.simulation.heap import pop, push
from planner.engine.simulation.queues import append, is_empty, take_first
from planner.engine.simulation.state import (
    LOCAL,
    PD_P,
    PRFAAS,
    TAIL,
    WAIT_PD_P,
    WAIT_PRFAAS,
    WAITING_LOCAL,
    WAITING_REMOTE,
    Plan,
    State,
)
from planner.engine.simulation.transport import begin_layers, send_last


@compiled
def begin_prefill(plan: Plan, state: State, slot: int) -> None:
    """A request takes an instance that is free."""
    request = state.slots[slot]
    request.begin_s = state.clock[0].now_s
    request.end_s = request.begin_s + request.prefill_s
    if request.route == LOCAL:
        push(state.local, request.end_s, slot)
        change(state, PD_P, 1)
    else:
        push(state.remote, request.end_s, slot)
        change(state, PRFAAS, 1)
        begin_layers(plan, state, slot)


@compiled
def enter_prefill(plan: Plan, state: State, slot: int) -> None:
    """A request takes an instance of its side or waits for one."""
    request = state.slots[slot]
    local = request.route == LOCAL
    busy = state.local[0].item if local else state.remote[0].item
    if busy < plan.servers[request.route]:
        begin_prefill(plan, state, slot)
        return
    change(state, WAIT_PD_P if local else WAIT_PRFAAS, 1)
    if plan.shortest_first:
        push(state.waiting_local if local else state.waiting_remote, request.prefill_s, slot, request.number)
    else:
        append(state, WAITING_LOCAL if local else WAITING_REMOTE, slot)


@compiled
def begin_next(plan: Plan, state: State, route: int) -> None:
    """An instance is free: the next of those that wait for it, if any, begins."""
    local = route == LOCAL
    if plan.shortest_first:
        waiting = state.waiting_local if local else state.waiting_remote
        if not waiting[0].item:
            return
        slot = pop(waiting)
    else:
        which = WAITING_LOCAL if local else WAITING_REMOTE
        if is_empty(state, which):
            return
        slot = take_first(state, which)
    change(state, WAIT_PD_P if local else WAIT_PRFAAS, -1)
    begin_prefill(plan, state, slot)


@compiled
def end_prefill(plan: Plan, state: State, route: int) -> None:
    """The first of a side's instances to be done hands over its request."""
    slot = pop(state.local if route == LOCAL else state.remote)
    state.clock[0].completed_work_s += state.slots[slot].prefill_s
    if route == LOCAL:
        change(state, PD_P, -1)
        enter_decode(plan, state, slot)
    else:
        change(state, PRFAAS, -1)
        change(state, TAIL, 1)
        send_last(plan, state, slot)
    begin_next(plan, state, route)
