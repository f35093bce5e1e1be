"""The router: where a request is prefilled, and from where what is cached of it is copied first."""

from __future__ import annotations

from planner.engine import controller
from planner.engine.simulation.compilation import compiled, seldom
from planner.engine.simulation.counting import change
from planner.engine.simulation.decode import enter_decode
from planner.engine.simulation.layout import COPYING, LOCAL, NOBODY, REMOTE, TAIL, UP_PD_P, UP_PRFAAS, Records
from planner.engine.simulation.pools import cached_blocks, judge, keep_copied, keep_landed, missing_bits
from planner.engine.simulation.prefill import enter_later, enter_prefill
from planner.engine.simulation.requests import Batch
from planner.engine.simulation.state import Plan, State
from planner.engine.simulation.transport import start, way_for

is_remote = compiled(controller.is_remote)


@compiled
def arrive(plan: Plan, state: State, batch: Batch) -> None:
    """The next request of the batch comes in, and is routed."""
    clock, at = state.clock[0], state.clock[0].taken
    slot = clock.free
    request = state.slots[slot]
    clock.free = request.follows
    request.number, request.arrival_s, request.first_s = clock.number, clock.now_s, 0.0
    request.sending = request.restarts = request.copying = 0
    request.output, request.context = batch.output[at], batch.prompt[at]
    request.kv_bytes = batch.kv_bytes[at] if batch.kv_bytes.size else 0.0
    request.lot = batch.lot[at] if batch.lot.size else NOBODY
    if plan.given[0].cached:
        _name(batch, request, at)
    else:
        request.increment = batch.tokens[at]
        request.local_s, request.remote_s = batch.local_s[at], batch.remote_s[at]
        request.layers_bits, request.state_bits = batch.layers_bits[at], batch.state_bits[at]
    clock.taken += 1
    clock.number += 1
    clock.unfinished += 1
    route(plan, state, slot)


@compiled
def _name(batch: Batch, request: Records, at: int) -> None:
    """What a request has in common with others."""
    request.tokens = int(batch.tokens[at])
    request.chain, request.system, request.shared = batch.chain[at], batch.system[at], batch.shared[at]
    request.blocks, request.blocks_after = batch.blocks[at], batch.blocks_after[at]
    request.reserved_bytes = 0.0


@compiled
def route(plan: Plan, state: State, slot: int) -> None:
    """A request goes to one of the clusters, after what the other one's cache has of it if that is copied."""
    request = state.slots[slot]
    length = judge(plan, state, request) if plan.given[0].cached else request.increment
    away = is_remote(length, state.clock[0].threshold_tokens)
    if request.lot != NOBODY:
        away = request.lot == REMOTE
    if plan.given[0].failover:
        away = stood_in(plan, state, away)
    request.route = REMOTE if away else LOCAL
    if not plan.given[0].cached:
        request.prefill_s = request.remote_s if away else request.local_s
    elif _copies(plan, state, slot):
        return
    enter_prefill(plan, state, slot)


@seldom
def reroute(plan: Plan, state: State, slot: int) -> None:
    """The same, where it happens seldom."""
    route(plan, state, slot)


@compiled
def stood_in(plan: Plan, state: State, away: bool) -> bool:
    """The other cluster takes over from one that has no instance up, or no link to it; unless it has none itself."""
    local_is_up = state.places[UP_PD_P].count > 0
    if away:
        remote_is_up = state.places[UP_PRFAAS].count > 0 and _is_connected(plan, state)
        return remote_is_up or not local_is_up
    if local_is_up:
        return False
    return state.places[UP_PRFAAS].count > 0 and _is_connected(plan, state)


@compiled
def _is_connected(plan: Plan, state: State) -> bool:
    best_bps = 0.0
    for at in range(plan.given[0].ways):
        best_bps = max(best_bps, state.links[at].capacity_bps)
    return best_bps > 0


@seldom
def _copies(plan: Plan, state: State, slot: int) -> bool:
    """Whether what the other cluster has of a prompt is on its way; and how long the prefill will be, as things are."""
    request, local = state.slots[slot], state.slots[slot].route == LOCAL
    bits = missing_bits(plan, state, request)
    blocks = cached_blocks(plan, state.local_pool if local else state.remote_pool, request)
    left = max(request.tokens - max(blocks, request.copying) * plan.given[0].block_tokens, 1)
    request.prefill_s = plan.times_local_s[left] if local else plan.times_remote_s[left]
    if bits == 0:
        request.copying = 0
        return False
    state.clock[0].copied_bits += bits
    change(state, COPYING, 1)
    # what PD-P lacks comes the way of all KVCaches, what PrfaaS lacks the other way
    start(plan, state, slot, way_for(plan, state, 0 if local else plan.given[0].ways), bits)
    return True


@compiled
def landed(plan: Plan, state: State, slot: int) -> None:
    """All that was sent for a request is there: its KVCache, or the prefix that it was copied."""
    request = state.slots[slot]
    if request.copying:
        change(state, COPYING, -1)
        keep_copied(plan, state, request)
        enter_later(plan, state, slot)
        return
    change(state, TAIL, -1)
    if plan.given[0].cached:
        keep_landed(plan, state, request)
    enter_decode(plan, state, slot)
