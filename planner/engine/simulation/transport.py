"""The link: transfers in progress share it evenly, each up to a rate of its own.

As all have the same rate, one number says how much each would have sent by now: a transfer is through when that has
grown by its size, so that a change of the rate concerns no transfer but the first.
"""

from __future__ import annotations

import math

from planner.engine.simulation.compilation import compiled
from planner.engine.simulation.counting import change
from planner.engine.simulation.decode import enter_decode
from planner.engine.simulation.heap import pop, push
from planner.engine.simulation.queues import append, is_empty, take_first
from planner.engine.simulation.state import LANDING, SENDING, TAIL, Plan, Records, State


@compiled
def settle(state: State) -> None:
    """Sends until now at the rate that held."""
    clock, flows = state.clock[0], state.flows
    if flows[0].item:
        each = min(clock.rate_bps * (clock.now_s - clock.since_s), max(flows[1].key - clock.work_bits, 0.0))
        clock.work_bits += each
        clock.sent_bits += each * flows[0].item
    else:
        clock.work_bits = 0.0  # so that its digits are not used up
    clock.since_s = clock.now_s


@compiled
def share(plan: Plan, state: State) -> None:
    """Divides the capacity anew among the transfers that there are now."""
    clock, flows = state.clock[0], state.flows
    count = flows[0].item
    if not count:
        clock.across_s = math.inf
        return
    clock.rate_bps = min(plan.transfer_bps, min(clock.capacity_bps, plan.cluster_bps) / count)
    left = max(flows[1].key - clock.work_bits, 0.0)
    clock.across_s = clock.since_s + left / clock.rate_bps if clock.rate_bps > 0 else math.inf


@compiled
def ready_s(plan: Plan, request: Records, chunk: int) -> float:
    """When a chunk, counted from 1, is there to be sent."""
    if chunk == plan.chunks:
        return float(request.end_s)
    return float(request.begin_s + request.prefill_s * (chunk / plan.chunks))


@compiled
def send(plan: Plan, state: State, slot: int) -> None:
    """Begins to send the next chunk of a request; `settle` comes before, `share` after."""
    request = state.slots[slot]
    bits = request.layers_bits / plan.chunks
    if request.chunks + 1 == plan.chunks:
        # the recurrent state is there only after the last token
        bits += request.state_bits
    request.sending = 1
    push(state.flows, state.clock[0].work_bits + bits, slot)


@compiled
def wake(plan: Plan, state: State) -> None:
    """The next chunk of a transfer that was idle is there."""
    settle(state)
    change(state, SENDING, 1)
    send(plan, state, pop(state.wakes))
    share(plan, state)


@compiled
def begin_layers(plan: Plan, state: State, slot: int) -> None:
    """A prefill begins, of which a part can be sent before its end."""
    if plan.chunks > 1:
        push(state.wakes, ready_s(plan, state.slots[slot], 1), slot)


@compiled
def send_last(plan: Plan, state: State, slot: int) -> None:
    """A prefill is over: what is left goes as soon as what was sent before is through."""
    request = state.slots[slot]
    if not request.sending and request.chunks + 1 == plan.chunks:
        settle(state)
        change(state, SENDING, 1)
        send(plan, state, slot)
        share(plan, state)


@compiled
def chunk_across(plan: Plan, state: State) -> None:
    """The first of the transfers has sent a chunk; it goes on with the next, or waits for it, or is through."""
    clock, flows = state.clock[0], state.flows
    left = max(flows[1].key - clock.work_bits, 0.0)
    clock.sent_bits += left * flows[0].item
    clock.work_bits, clock.since_s = flows[1].key, clock.now_s
    slot = pop(flows)
    request = state.slots[slot]
    request.sending = 0
    request.chunks += 1
    if request.chunks < plan.chunks and ready_s(plan, request, request.chunks + 1) <= clock.now_s:
        send(plan, state, slot)
    else:
        change(state, SENDING, -1)
        if request.chunks == plan.chunks:
            clock.delivered_bits += request.layers_bits + request.state_bits
            _leave(plan, state, slot)
        elif request.chunks + 1 < plan.chunks:
            push(state.wakes, ready_s(plan, request, request.chunks + 1), slot)
    share(plan, state)


@compiled
def _leave(plan: Plan, state: State, slot: int) -> None:
    """The last bit is sent; half a round trip later it is there."""
    if plan.half_rtt_s == 0:
        change(state, TAIL, -1)
        enter_decode(plan, state, slot)
        return
    clock = state.clock[0]
    state.slots[slot].landed_s = clock.now_s + plan.half_rtt_s
    if is_empty(state, LANDING):
        clock.landed_s = state.slots[slot].landed_s
    append(state, LANDING, slot)


@compiled
def land(plan: Plan, state: State) -> None:
    """The first of those under way is there."""
    clock, slot = state.clock[0], take_first(state, LANDING)
    clock.landed_s = math.inf if is_empty(state, LANDING) else state.slots[state.queues[LANDING].first].landed_s
    change(state, TAIL, -1)
    enter_decode(plan, state, slot)


@compiled
def count_possible(plan: Plan, state: State) -> None:
    """Adds up what could have been sent until now."""
    clock = state.clock[0]
    possible_bps = min(clock.capacity_bps, plan.cluster_bps)
    clock.possible_bits += possible_bps * (clock.now_s - clock.possible_since_s)
    clock.possible_since_s = clock.now_s


@compiled
def change_capacity(plan: Plan, state: State) -> None:
    """The link carries more or less from now on."""
    settle(state)
    count_possible(plan, state)
    clock = state.clock[0]
    clock.change += 1
    clock.capacity_bps = plan.capacity_bps[clock.change]
    clock.change_s = plan.times_s[clock.change]
    share(plan, state)
