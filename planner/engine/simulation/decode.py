"""Decode: a request holds a place in an instance's batch for all of its output; who waits longest is next.

By request, each is done after as many steps as it has tokens. By iteration, an instance is an event: its batch steps
together, and who has come meanwhile joins the next step.
"""

from __future__ import annotations

from planner.engine.simulation.compilation import compiled, seldom
from planner.engine.simulation.counting import change, count_done, count_first_token
from planner.engine.simulation.heap import pop, push
from planner.engine.simulation.layout import DRAINING, NOBODY, PD_D, UP, WAIT_PD_D, WAITING_DECODE
from planner.engine.simulation.pools import keep_answer
from planner.engine.simulation.queues import append, is_empty, take_first
from planner.engine.simulation.roles import emptied
from planner.engine.simulation.state import Plan, State

NO_STEP = 2**62


@compiled
def room_for(plan: Plan, state: State, slot: int) -> int:
    """The instance with the fewest requests of those that have room for one more; NOBODY if none has."""
    chosen, fewest = NOBODY, plan.given[0].max_batch
    needed_bytes = state.slots[slot].kv_bytes
    for at in range(state.decoders.size):
        instance = state.decoders[at]
        # a request that no instance has memory for is served alone, or it would wait for ever
        fits = instance.count == 0 or instance.kv_bytes + needed_bytes <= plan.given[0].memory_bytes
        if instance.status == UP and instance.count < fewest and fits:
            chosen, fewest = at, instance.count
    return int(chosen)


@compiled
def join(plan: Plan, state: State, slot: int, at: int) -> None:
    """A request takes a place in an instance's batch."""
    request, instance = state.slots[slot], state.decoders[at]
    request.at, request.position = at, instance.count
    state.members[at, instance.count] = slot
    instance.count += 1
    instance.kv_bytes += request.kv_bytes
    change(state, PD_D, 1)
    if not plan.given[0].iterations:
        push(state.decode, state.clock[0].now_s + request.output * plan.given[0].step_s, slot)
        count_first_token(state, request, plan.given[0].step_s)
    elif not instance.stepping:
        begin_step(plan, state, at)


@seldom
def begin_step(plan: Plan, state: State, at: int) -> None:
    """An instance steps with all that it holds; whoever is new has its first token at the end."""
    instance = state.decoders[at]
    for position in range(instance.running, instance.count):
        instance.context += state.slots[state.members[at, position]].context
    step_s = plan.given[0].base_s + plan.given[0].request_s * instance.count + plan.given[0].token_s * instance.context
    for position in range(instance.running, instance.count):
        request = state.slots[state.members[at, position]]
        request.last_step = instance.steps + int(request.output)
        instance.last_step = min(instance.last_step, request.last_step)
        count_first_token(state, request, step_s)
    instance.running, instance.stepping = instance.count, 1
    push(state.decode, state.clock[0].now_s + step_s, at)


@seldom
def end_step(plan: Plan, state: State) -> None:
    """The first instance to have stepped: each of its requests has a token more, and some have all of theirs."""
    at = pop(state.decode)
    instance = state.decoders[at]
    instance.steps += 1
    instance.context += instance.running
    if instance.steps >= instance.last_step:
        _let_go(plan, state, at)
        admit(plan, state)
    if instance.count:
        begin_step(plan, state, at)
    else:
        instance.stepping = 0


@compiled
def _let_go(plan: Plan, state: State, at: int) -> None:
    """Requests that have all of their output leave an instance; the others keep their order."""
    instance = state.decoders[at]
    count, running, stay, last = instance.count, instance.running, 0, NO_STEP
    for position in range(count):
        slot = state.members[at, position]
        request = state.slots[slot]
        if position < running and request.last_step <= instance.steps:
            instance.context -= request.context + request.output
            instance.running -= 1
            _leave(plan, state, slot)
        else:
            state.members[at, stay] = slot
            request.position = stay
            stay += 1
            if position < running:
                last = min(last, request.last_step)
    instance.last_step = last
    if instance.status == DRAINING and not instance.count:
        emptied(plan, state)


@compiled
def _leave(plan: Plan, state: State, slot: int) -> None:
    """A request is done: what it held is free."""
    clock, request = state.clock[0], state.slots[slot]
    instance = state.decoders[request.at]
    instance.count -= 1
    instance.kv_bytes -= request.kv_bytes
    change(state, PD_D, -1)
    clock.completed += 1
    clock.unfinished -= 1
    count_done(plan, state, request)
    keep_answer(plan, state, request)
    request.follows = clock.free
    clock.free = slot


@compiled
def close_gap(state: State, at: int, position: int) -> None:
    """The last of an instance's requests, of which one has just left, takes its position."""
    last = state.members[at, state.decoders[at].count]
    state.members[at, position] = last
    state.slots[last].position = position


@compiled
def end_decode(plan: Plan, state: State) -> None:
    """The first to be done: a step, or by request one that has all of its output; the next one takes its place."""
    if plan.given[0].iterations:
        end_step(plan, state)
        return
    slot = pop(state.decode)
    at, position = state.slots[slot].at, state.slots[slot].position
    _leave(plan, state, slot)
    close_gap(state, at, position)
    instance = state.decoders[at]
    if instance.status == DRAINING and not instance.count:
        emptied(plan, state)
    admit(plan, state)


@compiled
def admit(plan: Plan, state: State) -> None:
    """Those that wait take the places that are free; the first in the queue is not overtaken."""
    while not is_empty(state, WAITING_DECODE):
        slot = state.queues[WAITING_DECODE].first
        at = room_for(plan, state, slot)
        if at == NOBODY:
            break
        take_first(state, WAITING_DECODE)
        change(state, WAIT_PD_D, -1)
        join(plan, state, slot, at)


@seldom
def admit_more(plan: Plan, state: State) -> None:
    """The same, where it happens seldom."""
    admit(plan, state)


@compiled
def enter_decode(plan: Plan, state: State, slot: int) -> None:
    """A request, all of its KVCache there, takes a place or waits for one."""
    state.slots[slot].landed_s = state.clock[0].now_s
    at = room_for(plan, state, slot) if is_empty(state, WAITING_DECODE) else NOBODY
    if at != NOBODY:
        join(plan, state, slot, at)
    else:
        change(state, WAIT_PD_D, 1)
        append(state, WAITING_DECODE, slot)
