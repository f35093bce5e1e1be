"""Instances that go down and come up, and the requests that lose their work by it."""

from __future__ import annotations

import math

from planner.engine.simulation.compilation import compiled, seldom
from planner.engine.simulation.control import redirect
from planner.engine.simulation.counting import change
from planner.engine.simulation.decode import admit_more
from planner.engine.simulation.heap import pop, remove
from planner.engine.simulation.layout import (
    BUSY_PD_P,
    BUSY_PRFAAS,
    FAILED,
    LOCAL,
    NOBODY,
    PD_D,
    PD_P,
    PRFAAS,
    REMOTE,
    UP,
    UP_PD_D,
    UP_PD_P,
    UP_PRFAAS,
    WAIT_PD_P,
    WAIT_PRFAAS,
    WAITING_LOCAL,
    WAITING_REMOTE,
)
from planner.engine.simulation.pools import give_back
from planner.engine.simulation.prefill import begin_again, take_free
from planner.engine.simulation.queues import is_empty, take_first
from planner.engine.simulation.routing import reroute, stood_in
from planner.engine.simulation.state import Plan, State, Timeline
from planner.engine.simulation.transport import call_off, catch_up, share_all


@seldom
def fail(plan: Plan, state: State, timeline: Timeline) -> None:
    """The next of the timeline's instances goes down or comes up."""
    clock = state.clock[0]
    place, by = timeline.fault_place[clock.fault], timeline.fault_change[clock.fault]
    draw = timeline.fault_draw[clock.fault]
    clock.fault += 1
    clock.fault_s = timeline.fault_s[clock.fault]
    if by > 0 and state.places[place].skipped:
        state.places[place].skipped -= 1
        return
    catch_up(plan, state)
    role = LOCAL if place == UP_PD_P else REMOTE
    if place == UP_PD_D:
        found = decoder_down(plan, state, draw) if by < 0 else decoder_up(plan, state)
    else:
        found = prefiller_down(plan, state, role, draw) if by < 0 else prefiller_up(plan, state, role)
    share_all(plan, state)
    if not found:
        state.places[place].skipped += 1
    elif by < 0 and plan.given[0].failover and place != UP_PD_D and state.places[place].count == 0:
        hand_over(plan, state, role)


@compiled
def chosen_prefiller(state: State, role: int, status: int, draw: float) -> int:
    """Of a role's instances of a status, the one that a draw in [0, 1) means; NOBODY if there is none."""
    count = 0
    for at in range(state.prefillers.size):
        count += state.prefillers[at].role == role and state.prefillers[at].status == status
    left = math.floor(draw * count)
    for at in range(state.prefillers.size):
        if state.prefillers[at].role == role and state.prefillers[at].status == status:
            if left == 0:
                return at
            left -= 1
    return NOBODY


@seldom
def prefiller_down(plan: Plan, state: State, role: int, draw: float) -> bool:
    """A prefill instance goes down; what it was working on begins anew, elsewhere. False if none was up."""
    at = chosen_prefiller(state, role, UP, draw)
    if at == NOBODY:
        return False
    instance = state.prefillers[at]
    instance.status = FAILED
    change(state, UP_PD_P if role == LOCAL else UP_PRFAAS, -1)
    if instance.slot == NOBODY:
        take_free(state, at)
    else:
        remove(state.local if role == LOCAL else state.remote, at)
        change(state, BUSY_PD_P if role == LOCAL else BUSY_PRFAAS, -1)
        slot, instance.slot = instance.slot, NOBODY
        while slot != NOBODY:
            follows = state.slots[slot].follows
            call_off(plan, state, slot)
            change(state, PD_P if role == LOCAL else PRFAAS, -1)
            restart(plan, state, slot)
            slot = follows
    redirect(plan, state, at)
    return True


@seldom
def restart(plan: Plan, state: State, slot: int) -> None:
    """A request that has lost all that was done for it is routed once more."""
    request = state.slots[slot]
    request.restarts += 1
    state.clock[0].restarts += 1
    if plan.given[0].cached:
        give_back(state, request)
    reroute(plan, state, slot)


@seldom
def prefiller_up(plan: Plan, state: State, role: int) -> bool:
    """An instance that was down takes requests again. False if none was."""
    at = chosen_prefiller(state, role, FAILED, 0.0)
    if at == NOBODY:
        return False
    state.prefillers[at].status = UP
    change(state, UP_PD_P if role == LOCAL else UP_PRFAAS, 1)
    begin_again(plan, state, at)
    return True


@seldom
def decoder_down(plan: Plan, state: State, draw: float) -> bool:
    """A decode instance goes down; its requests lose their KVCaches and are prefilled anew. False if none was up."""
    count = 0
    for at in range(state.decoders.size):
        count += state.decoders[at].status == UP
    left, chosen = math.floor(draw * count), NOBODY
    for at in range(state.decoders.size):
        if state.decoders[at].status == UP:
            if left == 0:
                chosen = at
            left -= 1
    if chosen == NOBODY:
        return False
    instance = state.decoders[chosen]
    instance.status = FAILED
    change(state, UP_PD_D, -plan.given[0].max_batch)
    if plan.given[0].iterations and instance.stepping:
        remove(state.decode, chosen)
    held, instance.count = instance.count, 0
    instance.running = instance.stepping = 0
    instance.kv_bytes = instance.context = 0.0
    instance.last_step = 2**62
    for position in range(held):
        slot = state.members[chosen, position]
        if not plan.given[0].iterations:
            remove(state.decode, slot)
        change(state, PD_D, -1)
        restart(plan, state, slot)
    return True


@seldom
def decoder_up(plan: Plan, state: State) -> bool:
    """A decode instance that was down takes requests again. False if none was."""
    for at in range(state.decoders.size):
        if state.decoders[at].status == FAILED:
            state.decoders[at].status = UP
            change(state, UP_PD_D, plan.given[0].max_batch)
            admit_more(plan, state)
            return True
    return False


@seldom
def hand_over(plan: Plan, state: State, role: int) -> None:
    """Requests that wait for a cluster of which nothing is left go to the other one, if that can take them.

    They have lost no work, but for those that were waiting for a further turn.
    """
    away = role == REMOTE
    if stood_in(plan, state, away) == away:
        return
    waiting, queue = (state.waiting_remote, WAITING_REMOTE) if away else (state.waiting_local, WAITING_LOCAL)
    while waiting[0].item:
        change(state, WAIT_PRFAAS if away else WAIT_PD_P, -1)
        reroute(plan, state, pop(waiting))
    while not is_empty(state, queue):
        slot = take_first(state, queue)
        if state.slots[slot].done_s == 0:
            change(state, WAIT_PRFAAS if away else WAIT_PD_P, -1)
            reroute(plan, state, slot)
        else:
            call_off(plan, state, slot)
            change(state, PRFAAS if away else PD_P, -1)
            restart(plan, state, slot)
