"""What is decided from time to time: the threshold after each window, roles after each look, and what comes of it."""

from __future__ import annotations

import math

from planner.engine import controller
from planner.engine.controller import Pressure, Reallocation, Rule, Standing
from planner.engine.simulation.compilation import compiled, seldom
from planner.engine.simulation.counting import change, close_window
from planner.engine.simulation.decode import admit_more
from planner.engine.simulation.layout import (
    ABSENT,
    BUSY_PD_P,
    DRAINING,
    LOCAL,
    NOBODY,
    OWN_QUEUES,
    PD_D,
    TAIL,
    UP,
    UP_PD_D,
    UP_PD_P,
    WAIT_PD_P,
    WAIT_PRFAAS,
)
from planner.engine.simulation.prefill import begin_again, enter_chosen, take_free
from planner.engine.simulation.queues import is_empty, take_first
from planner.engine.simulation.roles import DECODE, NONE, PREFILL, emptied
from planner.engine.simulation.state import Plan, State
from planner.engine.simulation.transport import catch_up

adjusted = compiled(controller.adjusted)
reallocated = compiled(controller.reallocated)


@seldom
def end_window(plan: Plan, state: State) -> None:
    """What the last window showed goes into the time series, and moves the threshold."""
    clock = state.clock[0]
    catch_up(plan, state)
    sent = resent = possible = 0.0
    for at in range(plan.given[0].ways):
        link = state.links[at]
        sent += link.sent_bits - link.window_sent_bits
        resent += link.resent_bits - link.window_resent_bits
        possible += link.possible_bits - link.window_possible_bits
        link.window_sent_bits, link.window_resent_bits = link.sent_bits, link.resent_bits
        link.window_possible_bits = link.possible_bits
    index = math.floor(clock.tick_s / plan.given[0].window_s + 0.5) - 1
    close_window(plan, state, index, sent, resent, possible)
    clock.tick_s = (index + 2) * plan.given[0].window_s
    # a link that is down is wholly used
    clock.link_used = sent / possible if possible > 0 else 1.0
    if plan.track_tokens.size:
        follow_track(plan, state, clock.now_s)
    elif plan.given[0].moves_threshold:
        move_threshold(plan, state, resent / sent if sent > 0 else 0.0)


@compiled
def follow_track(plan: Plan, state: State, now_s: float) -> None:
    """The threshold that was recorded for the next window."""
    # half a window later, so that no rounding puts the end of an interval before it
    at = math.floor((now_s + plan.given[0].window_s / 2) / plan.given[0].track_s)
    state.clock[0].threshold_tokens = plan.track_tokens[min(at, plan.track_tokens.size - 1)]


@compiled
def move_threshold(plan: Plan, state: State, resent: float) -> None:
    """The threshold for the next window."""
    clock, places, given = state.clock[0], state.places, plan.given[0]
    marks = (given.step, given.high, given.low, given.surge, given.patience, given.resent, given.backlog)
    rule = Rule(clock.least_tokens, clock.most_tokens, *marks)
    queues = (places[TAIL].count, places[WAIT_PRFAAS].count, places[WAIT_PD_P].count)
    standing = Standing(clock.threshold_tokens, clock.calm)
    standing = adjusted(rule, standing, clock.link_used, resent, *queues)
    clock.threshold_tokens, clock.calm = standing.threshold_tokens, standing.calm


@seldom
def look(plan: Plan, state: State) -> None:
    """How busy both roles were since the last look; an instance may begin to change its role."""
    clock, places = state.clock[0], state.places
    clock.control_s += plan.given[0].period_s
    for place in (BUSY_PD_P, UP_PD_P, PD_D, UP_PD_D):
        change(state, place, 0)
    prefill = _share(places[BUSY_PD_P].area - clock.busy_prefill, places[UP_PD_P].area - clock.up_prefill)
    decode = _share(places[PD_D].area - clock.busy_decode, places[UP_PD_D].area - clock.up_decode)
    clock.busy_prefill, clock.up_prefill = places[BUSY_PD_P].area, places[UP_PD_P].area
    clock.busy_decode, clock.up_decode = places[PD_D].area, places[UP_PD_D].area
    if clock.draining != NONE:
        return
    before = Pressure(clock.short_prefill, clock.short_decode, clock.calm_roles, 0)
    n_d = places[UP_PD_D].count / plan.given[0].max_batch
    given = plan.given[0]
    marks = (given.period_s, given.role_high, given.room, given.role_patience, given.least_prefill, given.least_decode)
    rule = Reallocation(*marks, given.delay_s, given.role_calm)
    found = reallocated(rule, before, prefill, decode, places[UP_PD_P].count, n_d, given.planned_prefill)
    clock.short_prefill, clock.short_decode, clock.calm_roles = found.prefill, found.decode, found.calm
    if found.change > 0:
        drain_decoder(plan, state)
    elif found.change < 0:
        drain_prefiller(plan, state)


@compiled
def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 1.0


@compiled
def drain_decoder(plan: Plan, state: State) -> None:
    """The decode instance with the fewest requests takes no more."""
    chosen, fewest = NOBODY, plan.given[0].max_batch + 1
    for at in range(state.decoders.size):
        if state.decoders[at].status == UP and state.decoders[at].count < fewest:
            chosen, fewest = at, state.decoders[at].count
    if chosen == NOBODY:
        return
    clock = state.clock[0]
    clock.draining, clock.drained = DECODE, chosen
    state.decoders[chosen].status = DRAINING
    change(state, UP_PD_D, -plan.given[0].max_batch)
    if not state.decoders[chosen].count:
        emptied(plan, state)


@compiled
def drain_prefiller(plan: Plan, state: State) -> None:
    """A prefill instance takes no more: one that is free, or else the one that will be first."""
    chosen = state.free[LOCAL]
    if chosen == NOBODY:
        chosen = state.local[1].item if state.local[0].item else NOBODY
    if chosen == NOBODY:
        return
    clock = state.clock[0]
    clock.draining, clock.drained = PREFILL, chosen
    change(state, UP_PD_P, -1)
    instance = state.prefillers[chosen]
    instance.status = DRAINING
    if instance.slot == NOBODY:
        take_free(state, chosen)
        emptied(plan, state)
    redirect(plan, state, chosen)


@seldom
def redirect(plan: Plan, state: State, at: int) -> None:
    """Requests that wait for one instance alone, and now in vain, wait for another one of its cluster."""
    while not is_empty(state, OWN_QUEUES + at):
        slot = take_first(state, OWN_QUEUES + at)
        if state.slots[slot].done_s == 0:
            change(state, WAIT_PD_P if state.slots[slot].route == LOCAL else WAIT_PRFAAS, -1)
        enter_chosen(plan, state, slot)
    state.prefillers[at].waiting = 0
    state.prefillers[at].backlog_s = 0.0


@seldom
def convert(plan: Plan, state: State) -> None:
    """The instance that was emptied serves in its new role, with the threshold that is best then."""
    clock = state.clock[0]
    clock.converted_s = math.inf
    clock.conversions += 1
    if clock.draining == DECODE:
        state.decoders[clock.drained].status = ABSENT
        at = absent_prefiller(state)
        state.prefillers[at].status, state.prefillers[at].slot = UP, NOBODY
        change(state, UP_PD_P, 1)
        begin_again(plan, state, at)
    else:
        state.prefillers[clock.drained].status = ABSENT
        state.decoders[absent_decoder(state)].status = UP
        change(state, UP_PD_D, plan.given[0].max_batch)
        admit_more(plan, state)
    clock.draining = NONE
    if plan.best_tokens.size:
        t = plan.best_tokens[int(state.places[UP_PD_P].count)]
        # where the threshold does not move by itself, both bounds are t
        clock.most_tokens = clock.most_tokens if plan.given[0].moves_threshold else t
        clock.least_tokens = min(t, clock.most_tokens)
        clock.threshold_tokens = max(clock.threshold_tokens, t) if plan.given[0].moves_threshold else t


@compiled
def absent_prefiller(state: State) -> int:
    """A PD instance that could prefill and does not; there is one for each that decodes."""
    for at in range(state.prefillers.size):
        if state.prefillers[at].role == LOCAL and state.prefillers[at].status == ABSENT:
            return at
    return NOBODY


@compiled
def absent_decoder(state: State) -> int:
    """A PD instance that could decode and does not; there is one for each that prefills."""
    for at in range(state.decoders.size):
        if state.decoders[at].status == ABSENT:
            return at
    return NOBODY
