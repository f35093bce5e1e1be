"""The event loop. Of events at the same time, the one that is listed first comes first."""

from __future__ import annotations

import math

from planner.engine.simulation import prompts, requests
from planner.engine.simulation import state as states
from planner.engine.simulation.compilation import compiled, seldom, whole
from planner.engine.simulation.control import convert, end_window, look
from planner.engine.simulation.counting import change
from planner.engine.simulation.decode import end_decode
from planner.engine.simulation.failing import fail
from planner.engine.simulation.heap import pop
from planner.engine.simulation.layout import LOCAL, NOBODY, PLACES, REMOTE
from planner.engine.simulation.prefill import end_prefill
from planner.engine.simulation.requests import Batch
from planner.engine.simulation.routing import arrive, landed
from planner.engine.simulation.state import Plan, State, Timeline
from planner.engine.simulation.transport import catch_up, change_capacity, chunk_across, wake

(CHANGE, FAULT, ACROSS, LOCAL_DONE, REMOTE_DONE, WAKE, LANDED, DECODED, CONVERTED, CONTROL, TICK, ARRIVAL, NOTHING) = (
    range(13)
)


@compiled
def next_event(state: State, arrival_s: float) -> tuple[int, float]:  # noqa: C901 - one comparison for each kind
    """What happens next, and when."""
    clock = state.clock[0]
    kind, at = CHANGE, clock.change_s
    if clock.fault_s < at:
        kind, at = FAULT, clock.fault_s
    if clock.across_s < at:
        kind, at = ACROSS, clock.across_s
    if state.local[1].key < at:
        kind, at = LOCAL_DONE, state.local[1].key
    if state.remote[1].key < at:
        kind, at = REMOTE_DONE, state.remote[1].key
    if state.wakes[1].key < at:
        kind, at = WAKE, state.wakes[1].key
    if state.landing[1].key < at:
        kind, at = LANDED, state.landing[1].key
    if state.decode[1].key < at:
        kind, at = DECODED, state.decode[1].key
    if clock.converted_s < at:
        kind, at = CONVERTED, clock.converted_s
    if clock.control_s < at:
        kind, at = CONTROL, clock.control_s
    if clock.tick_s < at:
        kind, at = TICK, clock.tick_s
    if arrival_s < at:
        kind, at = ARRIVAL, arrival_s
    return (kind, at) if at < math.inf else (NOTHING, at)


@seldom
def happen_seldom(plan: Plan, state: State, timeline: Timeline, kind: int) -> None:
    """What concerns windows, links, instances and their roles."""
    if kind == TICK:
        end_window(plan, state)
    elif kind == CHANGE:
        change_capacity(plan, state, timeline)
    elif kind == FAULT:
        fail(plan, state, timeline)
    elif kind == CONTROL:
        look(plan, state)
    elif kind == CONVERTED:
        convert(plan, state)


def _advance(  # noqa: C901 - one case for each kind of event
    plan: Plan, state: State, timeline: Timeline, batch: Batch, draining: bool, until_s: float
) -> bool:
    """Lets time pass until the batch has arrived; if `draining`, until nothing more can happen to a request, or a time.

    False where it stopped because every slot is taken.
    """
    clock, count, room = state.clock[0], batch.arrival_s.size, True
    while draining or clock.taken < count:
        if draining and not clock.unfinished:
            break
        arrival_s = math.inf if draining else batch.arrival_s[clock.taken]
        kind, at = next_event(state, arrival_s)
        if kind == NOTHING or at > until_s:
            break
        if kind == ARRIVAL and clock.free == NOBODY:
            room = False
            break
        clock.now_s = at
        if kind == ARRIVAL:
            arrive(plan, state, batch)
        elif kind in (LOCAL_DONE, REMOTE_DONE):
            end_prefill(plan, state, LOCAL if kind == LOCAL_DONE else REMOTE)
        elif kind in (ACROSS, LANDED):
            slot = chunk_across(plan, state) if kind == ACROSS else pop(state.landing)
            if slot != NOBODY:
                landed(plan, state, slot)
        elif kind == WAKE:
            wake(plan, state)
        elif kind == DECODED:
            end_decode(plan, state)
        else:
            happen_seldom(plan, state, timeline, kind)
    for place in range(PLACES):
        change(state, place, 0)
    catch_up(plan, state)
    return room


advance = whole(_advance, states, requests, prompts)
