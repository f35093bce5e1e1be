"""Prefill: instances take requests one by one, in batches, or in turns, from a queue of their own or all."""

from __future__ import annotations

import math

from planner.engine.simulation.compilation import compiled, seldom
from planner.engine.simulation.counting import change
from planner.engine.simulation.decode import enter_decode
from planner.engine.simulation.heap import pop, push
from planner.engine.simulation.layout import (
    BUSY_PD_P,
    BUSY_PRFAAS,
    DRAINING,
    LOCAL,
    NOBODY,
    OWN_QUEUES,
    PD_P,
    PRFAAS,
    TAIL,
    UP,
    WAIT_PD_P,
    WAIT_PRFAAS,
    WAITING_LOCAL,
    WAITING_REMOTE,
)
from planner.engine.simulation.pools import keep_prompt, work_out
from planner.engine.simulation.queues import append, is_empty, take_first
from planner.engine.simulation.roles import emptied
from planner.engine.simulation.state import Plan, State
from planner.engine.simulation.transport import begin_layers, send_last, send_made

SHARED, SHORTEST_QUEUE = 0, 1
"""Of `state.CHOICES`; 2 sends all that begin alike to the same instance."""
MIXING = 0x1E3779B97F4A7C15


@compiled
def begin(plan: Plan, state: State, at: int, slot: int) -> None:
    """An instance that is free takes a request, and others with it if they fit into its batch."""
    now_s = state.clock[0].now_s
    local = state.prefillers[at].role == LOCAL
    request = state.slots[slot]
    if request.done_s == 0:
        request.begin_s = now_s
        if plan.given[0].cached:
            work_out(plan, state, request)
        chunk_tokens = plan.given[0].chunk_tokens
        request.pieces = math.ceil(request.increment / chunk_tokens) if chunk_tokens else plan.given[0].chunks
    request.follows = NOBODY
    state.prefillers[at].slot = slot
    takes_s = request.prefill_s
    if plan.given[0].chunk_tokens:
        takes_s = turn_s(plan, state, slot)
    elif plan.given[0].batch_tokens:
        takes_s = fill(plan, state, at, slot)
    end_s = now_s + takes_s
    push(state.local if local else state.remote, end_s, at)
    change(state, BUSY_PD_P if local else BUSY_PRFAAS, 1)
    while slot != NOBODY:
        _enter(plan, state, slot, at, end_s)
        slot = state.slots[slot].follows


@compiled
def _enter(plan: Plan, state: State, slot: int, at: int, end_s: float) -> None:
    """A request is prefilled from now on, or goes on being."""
    request = state.slots[slot]
    request.at, request.end_s = at, end_s
    if request.done_s > 0:
        return
    change(state, PD_P if request.route == LOCAL else PRFAAS, 1)
    if request.route != LOCAL:
        begin_layers(plan, state, slot)


@seldom
def turn_s(plan: Plan, state: State, slot: int) -> float:
    """How long the next part of a prompt takes, of those that take turns: all that is left, of the last."""
    request = state.slots[slot]
    times = plan.times_local_s if request.route == LOCAL else plan.times_remote_s
    if request.made + 1 >= request.pieces:
        return float(request.prefill_s - request.done_s)
    chunk_tokens, before = plan.given[0].chunk_tokens, request.made * plan.given[0].chunk_tokens
    takes_s = float(times[before + chunk_tokens] - times[before])
    return min(takes_s, float(request.prefill_s - request.done_s))


@seldom
def fill(plan: Plan, state: State, at: int, slot: int) -> float:
    """Takes those next in the queue into a batch, as long as they fit: how long it takes."""
    first = state.slots[slot]
    times = plan.times_local_s if first.route == LOCAL else plan.times_remote_s
    which, tokens, last = queue_of(plan, at, first.route), math.ceil(first.increment), slot
    waiting = state.waiting_local if first.route == LOCAL else state.waiting_remote
    while waiting[0].item if plan.given[0].shortest_first else not is_empty(state, which):
        taken = waiting[1].item if plan.given[0].shortest_first else state.queues[which].first
        more = math.ceil(state.slots[taken].increment)
        if tokens + more > plan.given[0].batch_tokens:
            break
        if plan.given[0].shortest_first:
            pop(waiting)
        else:
            take_first(state, which)
        _count_waiting(plan, state, at, taken, -1)
        state.slots[taken].begin_s, state.slots[taken].follows = state.clock[0].now_s, NOBODY
        state.slots[taken].pieces = plan.given[0].chunks
        state.slots[last].follows = taken
        tokens, last = tokens + more, taken
    takes_s = float(first.prefill_s if last == slot else times[tokens])
    while slot != NOBODY:
        state.slots[slot].prefill_s = takes_s
        slot = state.slots[slot].follows
    return takes_s


@compiled
def queue_of(plan: Plan, at: int, route: int) -> int:
    """The queue that an instance takes its requests from."""
    if plan.given[0].choice != SHARED:
        return OWN_QUEUES + at
    return WAITING_LOCAL if route == LOCAL else WAITING_REMOTE


@compiled
def _count_waiting(plan: Plan, state: State, at: int, slot: int, by: int) -> None:
    request = state.slots[slot]
    change(state, WAIT_PD_P if request.route == LOCAL else WAIT_PRFAAS, by)
    if plan.given[0].choice != SHARED:
        state.prefillers[at].waiting += by
        # so that roundings do not add up
        left_s = state.prefillers[at].backlog_s + by * request.prefill_s
        state.prefillers[at].backlog_s = left_s if state.prefillers[at].waiting else 0.0


@compiled
def enter_prefill(plan: Plan, state: State, slot: int) -> None:
    """A request takes an instance of its side, or waits for one."""
    request = state.slots[slot]
    request.done_s = 0.0
    request.made = request.sent = 0
    if plan.given[0].choice != SHARED:
        enter_chosen(plan, state, slot)
        return
    at = state.free[request.route]
    if at != NOBODY:
        state.free[request.route] = state.prefillers[at].next_free
        begin(plan, state, at, slot)
        return
    change(state, WAIT_PD_P if request.route == LOCAL else WAIT_PRFAAS, 1)
    if plan.given[0].shortest_first:
        # who comes a second later must be so much shorter to be before it
        key = request.prefill_s + plan.given[0].ageing * state.clock[0].now_s
        push(state.waiting_local if request.route == LOCAL else state.waiting_remote, key, slot, request.number)
    else:
        append(state, WAITING_LOCAL if request.route == LOCAL else WAITING_REMOTE, slot)


@seldom
def enter_later(plan: Plan, state: State, slot: int) -> None:
    """The same, where it happens seldom."""
    enter_prefill(plan, state, slot)


@seldom
def enter_chosen(plan: Plan, state: State, slot: int) -> None:
    """A request goes to the instance that is chosen for it, and waits there if it must."""
    request = state.slots[slot]
    at = shortest_queue(state, request.route) if plan.given[0].choice == SHORTEST_QUEUE else affine(plan, state, slot)
    if at != NOBODY and state.prefillers[at].slot == NOBODY:
        take_free(state, at)
        begin(plan, state, at, slot)
        return
    is_new = request.done_s == 0  # or else it waits for a further turn, and counts as being prefilled
    if at == NOBODY:  # none is up: it waits for the first that will be
        change(state, WAIT_PD_P if request.route == LOCAL else WAIT_PRFAAS, 1 if is_new else 0)
        append(state, WAITING_LOCAL if request.route == LOCAL else WAITING_REMOTE, slot)
        return
    if is_new:
        _count_waiting(plan, state, at, slot, 1)
    append(state, OWN_QUEUES + at, slot)


@compiled
def take_free(state: State, at: int) -> None:
    """An instance is no longer free, wherever it is in the list."""
    role = state.prefillers[at].role
    follows = state.prefillers[at].next_free
    if state.free[role] == at:
        state.free[role] = follows
        return
    before = state.free[role]
    while before != NOBODY and state.prefillers[before].next_free != at:
        before = state.prefillers[before].next_free
    if before != NOBODY:
        state.prefillers[before].next_free = follows


@compiled
def shortest_queue(state: State, route: int) -> int:
    """The instance with the least work before it; NOBODY if none is up."""
    chosen, least_s = NOBODY, math.inf
    for at in range(state.prefillers.size):
        instance = state.prefillers[at]
        if instance.role == route and instance.status == UP:
            before_s = instance.backlog_s
            if instance.slot != NOBODY:
                before_s += max(state.slots[instance.slot].end_s - state.clock[0].now_s, 0.0)
            if before_s < least_s:
                chosen, least_s = at, before_s
    return chosen


@compiled
def affine(plan: Plan, state: State, slot: int) -> int:
    """The instance for all requests that begin alike; NOBODY if none is up."""
    request, up = state.slots[slot], 0
    for at in range(state.prefillers.size):
        up += state.prefillers[at].role == request.route and state.prefillers[at].status == UP
    if not up:
        return NOBODY
    begins = request.number
    if plan.given[0].cached and request.blocks:
        begins = plan.named_blocks[request.chain] if plan.named_blocks.size else request.chain
    mixed = begins * MIXING
    # once more: neighbouring numbers times one factor would go round the instances, evenly as no hash is
    mixed = (mixed ^ (mixed >> 29)) * MIXING
    left = (mixed >> 32) % up
    for at in range(state.prefillers.size):
        if state.prefillers[at].role == request.route and state.prefillers[at].status == UP:
            if left == 0:
                return at
            left -= 1
    return NOBODY


@compiled
def begin_next(plan: Plan, state: State, at: int) -> None:
    """An instance is free: the next of those that wait for it begins, if any does; or it leaves its role."""
    instance = state.prefillers[at]
    instance.slot = NOBODY
    if instance.status != UP:
        if instance.status == DRAINING:
            emptied(plan, state)
        return
    slot = _next_waiting(plan, state, at, instance.role)
    if slot == NOBODY:
        instance.next_free = state.free[instance.role]
        state.free[instance.role] = at
    else:
        begin(plan, state, at, slot)


@seldom
def begin_again(plan: Plan, state: State, at: int) -> None:
    """The same, where it happens seldom."""
    begin_next(plan, state, at)


@compiled
def _next_waiting(plan: Plan, state: State, at: int, role: int) -> int:
    local = role == LOCAL
    if plan.given[0].shortest_first:
        waiting = state.waiting_local if local else state.waiting_remote
        if not waiting[0].item:
            return NOBODY
        slot = pop(waiting)
    else:
        which = queue_of(plan, at, role)
        if is_empty(state, which):
            which = WAITING_LOCAL if local else WAITING_REMOTE
        if is_empty(state, which):
            return NOBODY
        slot = take_first(state, which)
        if which >= OWN_QUEUES and state.slots[slot].done_s == 0:
            _count_waiting(plan, state, at, slot, -1)
            return slot
    if state.slots[slot].done_s == 0:  # or else it waits for a further turn, and counts as being prefilled
        change(state, WAIT_PD_P if local else WAIT_PRFAAS, -1)
    return slot


@compiled
def end_prefill(plan: Plan, state: State, route: int) -> None:
    """The first of a side's instances to be done hands over its requests, and goes on with the next."""
    at = pop(state.local if route == LOCAL else state.remote)
    change(state, BUSY_PD_P if route == LOCAL else BUSY_PRFAAS, -1)
    slot = state.prefillers[at].slot
    if plan.given[0].chunk_tokens and not _turn_over(plan, state, at, slot):
        return
    state.clock[0].completed_work_s += state.slots[slot].prefill_s
    while slot != NOBODY:
        follows = state.slots[slot].follows
        if plan.given[0].cached:
            keep_prompt(plan, state, state.slots[slot])
        if route == LOCAL:
            change(state, PD_P, -1)
            enter_decode(plan, state, slot)
        else:
            change(state, PRFAAS, -1)
            change(state, TAIL, 1)
            send_last(plan, state, slot)
        slot = follows
    begin_next(plan, state, at)


@seldom
def _turn_over(plan: Plan, state: State, at: int, slot: int) -> bool:
    """A part of a prompt is done; whether it was the last one. If not, the next that waits has its turn."""
    request = state.slots[slot]
    if request.made + 1 >= request.pieces:
        return True
    request.done_s += turn_s(plan, state, slot)
    if request.route == LOCAL:
        request.made += 1
    else:
        send_made(plan, state, slot)
    which = queue_of(plan, at, request.route)
    if not is_empty(state, which) and state.prefillers[at].status == UP:
        # it waits in the queue, but not for its first turn: it counts as being prefilled
        append(state, which, slot)
        begin_again(plan, state, at)
    else:
        begin(plan, state, at, slot)
    return False
