"""The links: transfers in progress share each evenly, up to a rate of their own.

As all on a link have the same rate, one number says how much each would have sent by now: a transfer is through when
that has grown by its size, so that a change of the rate concerns no transfer but the first.
"""

from __future__ import annotations

import math

from planner.engine.simulation import tcp
from planner.engine.simulation.compilation import compiled, seldom
from planner.engine.simulation.counting import change
from planner.engine.simulation.heap import pop, push, remove
from planner.engine.simulation.layout import NOBODY, REMOTE, SENDING, UP_PRFAAS, Records
from planner.engine.simulation.state import Plan, State, Timeline

retransmitted = compiled(tcp.retransmitted)


@compiled
def settle(plan: Plan, state: State, at: int) -> None:
    """Sends until now at the rate that held."""
    link, flows, now_s = state.links[at], state.flows[at], state.clock[0].now_s
    if flows[0].item:
        each = min(link.rate_bps * (now_s - link.since_s), max(flows[1].key - link.work_bits, 0.0))
        link.work_bits += each
        _count_sent(link, each * flows[0].item)
    else:
        link.work_bits = 0.0  # so that its digits are not used up
    link.since_s = now_s


@compiled
def _count_sent(link: Records, bits: float) -> None:
    link.sent_bits += bits
    link.resent_bits += bits * link.resends


@compiled
def _resent(plan: Plan, at: int, rate_bps: float) -> float:
    """Share that is sent again where a transfer has such a rate."""
    paths = plan.paths
    each_bps = rate_bps / paths[at].connections
    return retransmitted(each_bps, paths[at].alone_bps, paths[at].rtt_s, paths[at].mss_bytes, paths[at].loss)


@compiled
def share(plan: Plan, state: State, at: int) -> None:
    """Divides a link's capacity anew among the transfers that there are now."""
    link, flows, clock = state.links[at], state.flows[at], state.clock[0]
    count = flows[0].item
    if count:
        link.rate_bps = min(plan.paths[at].transfer_bps, usable_bps(plan, state, at) / count)
        if plan.paths[at].connections > 0:
            # what is sent again takes the place of what is sent
            link.resends = _resent(plan, at, link.rate_bps)
            link.rate_bps *= 1 - link.resends
        left = max(flows[1].key - link.work_bits, 0.0)
        link.across_s = link.since_s + left / link.rate_bps if link.rate_bps > 0 else math.inf
    else:
        link.across_s = math.inf
    _find_next(plan, state, at, clock)


@compiled
def _find_next(plan: Plan, state: State, at: int, clock: Records) -> None:
    """Which link has the next transfer that has sent what it can, after one of them has changed."""
    links = state.links
    if links[at].across_s <= clock.across_s:
        clock.across_s, clock.across_link = links[at].across_s, at
    elif clock.across_link == at:
        for other in range(links.size):
            if other == 0 or links[other].across_s < clock.across_s:
                clock.across_s, clock.across_link = links[other].across_s, other


@compiled
def usable_bps(plan: Plan, state: State, at: int) -> float:
    """What a link carries now: no more than PrfaaS's instances send."""
    capacity_bps = state.links[at].capacity_bps
    if at >= plan.given[0].ways:
        return float(capacity_bps)
    return float(min(capacity_bps, plan.given[0].own_bps * state.places[UP_PRFAAS].count * plan.paths[at].share))


@compiled
def way_for(plan: Plan, state: State, first: int) -> int:
    """Of the links in one direction, the one that gives a further transfer the most."""
    return first if plan.given[0].ways == 1 else best_way(plan, state, first)


@seldom
def best_way(plan: Plan, state: State, first: int) -> int:
    """See `way_for`."""
    chosen, most_bps = first, -1.0
    for at in range(first, first + plan.given[0].ways):
        each_bps = min(plan.paths[at].transfer_bps, usable_bps(plan, state, at) / (state.flows[at][0].item + 1))
        if each_bps > most_bps:
            chosen, most_bps = at, each_bps
    return chosen


@compiled
def ready_s(request: Records, piece: int) -> float:
    """When a piece, counted from 1, is there to be sent."""
    if piece == request.pieces:
        return float(request.end_s)
    return float(request.begin_s + request.prefill_s * (piece / request.pieces))


@compiled
def start(plan: Plan, state: State, slot: int, at: int, bits: float) -> None:
    """A transfer goes on a link."""
    settle(plan, state, at)
    request = state.slots[slot]
    request.sending, request.link = 1, at
    change(state, SENDING, 1)
    push(state.flows[at], state.links[at].work_bits + bits, slot)
    share(plan, state, at)


@compiled
def piece_bits(request: Records) -> float:
    """Of the next piece; the recurrent state is there only after the last token."""
    bits = request.layers_bits / request.pieces
    if request.sent + 1 == request.pieces:
        bits += request.state_bits
    return float(bits)


@compiled
def send(plan: Plan, state: State, slot: int) -> None:
    """The next piece of a request that has none under way."""
    start(plan, state, slot, way_for(plan, state, 0), piece_bits(state.slots[slot]))


@compiled
def wake(plan: Plan, state: State) -> None:
    """The next piece of a transfer that was idle is there."""
    send(plan, state, pop(state.wakes))


@compiled
def begin_layers(plan: Plan, state: State, slot: int) -> None:
    """A prefill begins, of which a part can be sent before its end."""
    request = state.slots[slot]
    request.sent = request.made = 0
    if plan.given[0].chunk_tokens == 0 and request.pieces > 1:
        push(state.wakes, ready_s(request, 1), slot)


@compiled
def send_made(plan: Plan, state: State, slot: int) -> None:
    """A part of a prefill is done that takes turns with others: it goes, unless an earlier part is still under way."""
    request = state.slots[slot]
    request.made += 1
    if not request.sending:
        send(plan, state, slot)


@compiled
def send_last(plan: Plan, state: State, slot: int) -> None:
    """A prefill is over: what is left goes as soon as what was sent before is through."""
    request = state.slots[slot]
    request.made = request.pieces
    if not request.sending and request.sent + 1 == request.pieces:
        send(plan, state, slot)


@compiled
def chunk_across(plan: Plan, state: State) -> int:
    """The first of the transfers has sent a piece; it goes on with the next, or waits for it, or is through.

    The one that is through and there; NOBODY otherwise.
    """
    clock = state.clock[0]
    at = clock.across_link
    link, flows = state.links[at], state.flows[at]
    left = max(flows[1].key - link.work_bits, 0.0)
    _count_sent(link, left * flows[0].item)
    link.work_bits, link.since_s = flows[1].key, clock.now_s
    slot = pop(flows)
    request = state.slots[slot]
    request.sending = 0
    if request.copying:
        change(state, SENDING, -1)
        share(plan, state, at)
        return _land_later(plan, state, slot, 2 * plan.paths[at].half_rtt_s)
    request.sent += 1
    if request.sent < request.pieces and is_ready(plan, request, clock.now_s):
        if plan.given[0].ways == 1:
            # on the same link, which is divided once for both
            request.sending = 1
            push(flows, link.work_bits + piece_bits(request), slot)
            share(plan, state, at)
            return NOBODY
        change(state, SENDING, -1)
        share(plan, state, at)
        send(plan, state, slot)
        return NOBODY
    change(state, SENDING, -1)
    share(plan, state, at)
    if request.sent == request.pieces:
        clock.delivered_bits += request.layers_bits + request.state_bits
        return _land_later(plan, state, slot, plan.paths[at].half_rtt_s)
    if plan.given[0].chunk_tokens == 0 and request.sent + 1 < request.pieces:
        push(state.wakes, ready_s(request, request.sent + 1), slot)
    return NOBODY


@compiled
def is_ready(plan: Plan, request: Records, now_s: float) -> bool:
    """Whether the next piece is there to be sent."""
    if plan.given[0].chunk_tokens:
        return bool(request.made > request.sent)
    return ready_s(request, request.sent + 1) <= now_s


@compiled
def _land_later(plan: Plan, state: State, slot: int, delay_s: float) -> int:
    """The last bit is sent; a while later it is there. The request, if that is now."""
    if delay_s == 0:
        return slot
    push(state.landing, state.clock[0].now_s + delay_s, slot)
    return NOBODY


@compiled
def count_possible(plan: Plan, state: State, at: int) -> None:
    """Adds up what could have been sent until now."""
    link, now_s = state.links[at], state.clock[0].now_s
    link.possible_bits += usable_bps(plan, state, at) * (now_s - link.possible_since_s)
    link.possible_since_s = now_s


@seldom
def catch_up(plan: Plan, state: State) -> None:
    """Brings what is counted of every link up to now."""
    for at in range(state.links.size):
        settle(plan, state, at)
        count_possible(plan, state, at)


@seldom
def share_all(plan: Plan, state: State) -> None:
    """Divides every link anew, after what can be sent at all has changed."""
    for at in range(state.links.size):
        share(plan, state, at)


@seldom
def change_capacity(plan: Plan, state: State, timeline: Timeline) -> None:
    """A link carries more or less from now on, in either direction."""
    clock = state.clock[0]
    way = timeline.change_link[clock.change]
    for at in (way, way + plan.given[0].ways):
        settle(plan, state, at)
        count_possible(plan, state, at)
        state.links[at].capacity_bps = timeline.change_bps[clock.change]
        share(plan, state, at)
    clock.change += 1
    clock.change_s = timeline.change_s[clock.change]


@seldom
def call_off(plan: Plan, state: State, slot: int) -> None:
    """What a request was sending, or waited to send, is no longer sent."""
    request = state.slots[slot]
    if request.sending:
        at = request.link
        settle(plan, state, at)
        remove(state.flows[at], slot)
        request.sending = 0
        change(state, SENDING, -1)
        share(plan, state, at)
    elif request.route == REMOTE:
        remove(state.wakes, slot)
