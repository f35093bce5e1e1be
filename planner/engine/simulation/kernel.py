"""The event loop. Of events at the same time, the one that is listed first comes first."""

from __future__ import annotations

import math

from planner.engine import controller
from planner.engine.controller import Standing
from planner.engine.simulation.compilation import compiled
from planner.engine.simulation.counting import change, close_window
from planner.engine.simulation.decode import end_decode
from planner.engine.simulation.prefill import end_prefill, enter_prefill
from planner.engine.simulation.requests import Batch
from planner.engine.simulation.state import (
    LOCAL,
    NOBODY,
    PLACES,
    REMOTE,
    TAIL,
    WAIT_PD_P,
    WAIT_PRFAAS,
    Plan,
    State,
)
from planner.engine.simulation.transport import change_capacity, chunk_across, count_possible, land, settle, wake

CHANGE, ACROSS, LOCAL_DONE, REMOTE_DONE, WAKE, LANDED, DECODED, TICK, ARRIVAL, NOTHING = range(10)

is_remote = compiled(controller.is_remote)
adjusted = compiled(controller.adjusted)


@compiled
def next_event(state: State, arrival_s: float) -> tuple[int, float]:
    """What happens next, and when."""
    clock = state.clock[0]
    kind, at = CHANGE, clock.change_s
    if clock.across_s < at:
        kind, at = ACROSS, clock.across_s
    if state.local[1].key < at:
        kind, at = LOCAL_DONE, state.local[1].key
    if state.remote[1].key < at:
        kind, at = REMOTE_DONE, state.remote[1].key
    if state.wakes[1].key < at:
        kind, at = WAKE, state.wakes[1].key
    if clock.landed_s < at:
        kind, at = LANDED, clock.landed_s
    if state.decode[1].key < at:
        kind, at = DECODED, state.decode[1].key
    if clock.tick_s < at:
        kind, at = TICK, clock.tick_s
    if arrival_s < at:
        kind, at = ARRIVAL, arrival_s
    return (kind, at) if at < math.inf else (NOTHING, at)


@compiled
def arrive(plan: Plan, state: State, batch: Batch) -> None:
    """The next request of the batch comes in, and is routed."""
    clock, at = state.clock[0], state.clock[0].taken
    slot = clock.free
    request = state.slots[slot]
    clock.free = request.follows
    away = is_remote(batch.tokens[at], clock.threshold_tokens)
    request.number = clock.number
    request.arrival_s = clock.now_s
    request.route = REMOTE if away else LOCAL
    request.prefill_s = batch.remote_s[at] if away else batch.local_s[at]
    request.layers_bits, request.state_bits = batch.layers_bits[at], batch.state_bits[at]
    request.hold_s = batch.hold_s[at]
    request.chunks = request.sending = 0
    clock.taken += 1
    clock.number += 1
    clock.unfinished += 1
    enter_prefill(plan, state, slot)


@compiled
def end_window(plan: Plan, state: State) -> None:
    """What the last window showed goes into the time series, and moves the threshold."""
    clock = state.clock[0]
    settle(state)
    count_possible(plan, state)
    sent = clock.sent_bits - clock.window_sent_bits
    possible = clock.possible_bits - clock.window_possible_bits
    clock.window_sent_bits, clock.window_possible_bits = clock.sent_bits, clock.possible_bits
    index = math.floor(clock.tick_s / plan.window_s + 0.5) - 1
    close_window(state, index, sent)
    clock.tick_s = (index + 2) * plan.window_s
    if plan.rule.least_tokens < plan.rule.most_tokens:
        remote = state.places[WAIT_PRFAAS].count + state.places[TAIL].count
        standing = Standing(clock.threshold_tokens, clock.calm)
        # a link that is down is wholly used
        used = sent / possible if possible > 0 else 1.0
        standing = adjusted(plan.rule, standing, used, remote, state.places[WAIT_PD_P].count)
        clock.threshold_tokens, clock.calm = standing.threshold_tokens, standing.calm


@compiled
def happen(plan: Plan, state: State, kind: int) -> None:
    """Any event but an arrival."""
    if kind == ACROSS:
        chunk_across(plan, state)
    elif kind == LOCAL_DONE:
        end_prefill(plan, state, LOCAL)
    elif kind == REMOTE_DONE:
        end_prefill(plan, state, REMOTE)
    elif kind == WAKE:
        wake(plan, state)
    elif kind == LANDED:
        land(plan, state)
    elif kind == DECODED:
        end_decode(plan, state)
    elif kind == TICK:
        end_window(plan, state)
    elif kind == CHANGE:
        change_capacity(plan, state)


def _advance(plan: Plan, state: State, batch: Batch, draining: bool) -> bool:
    """Lets time pass until the batch has arrived; if `draining`, until nothing more can happen to a request.

    False where it stopped because every slot is taken.
    """
    clock, count, room = state.clock[0], batch.arrival_s.size, True
    while draining or clock.taken < count:
        if draining and not clock.unfinished:
            break
        arrival_s = math.inf if draining else batch.arrival_s[clock.taken]
        kind, at = next_event(state, arrival_s)
        if kind == NOTHING:
            break
        if kind == ARRIVAL and clock.free == NOBODY:
            room = False
            break
        clock.now_s = at
        if kind == ARRIVAL:
            arrive(plan, state, batch)
        else:
            happen(plan, state, kind)
    for place in range(PLACES):
        change(state, place, 0)
    settle(state)
    count_possible(plan, state)
    return room


advance = compiled(_advance, whole=True)
