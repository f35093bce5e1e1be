"""What is counted while it happens: how many are where, times to the first token and between tokens, windows."""

from __future__ import annotations

import math

from planner.engine.simulation import histogram
from planner.engine.simulation.compilation import compiled, seldom
from planner.engine.simulation.layout import (
    BINS,
    COPYING,
    TAIL,
    UP_PD_D,
    UP_PD_P,
    UP_PRFAAS,
    WAIT_PD_D,
    WAIT_PD_P,
    WAIT_PRFAAS,
    Records,
)
from planner.engine.simulation.state import Plan, State

cell = compiled(histogram.cell)


@compiled
def change(state: State, place: int, by: int) -> None:
    """So many requests more, or fewer, are at a place from now on."""
    there, now = state.places[place], state.clock[0].now_s
    there.area += there.count * (now - there.since_s)
    there.since_s = now
    there.count += by


@compiled
def count_first_token(state: State, request: Records, step_s: float) -> None:
    """A request begins to decode now; its first token comes a step later; only its first one counts."""
    clock = state.clock[0]
    request.decode_s = clock.now_s
    if request.first_s > 0:
        return
    request.first_s = clock.now_s + step_s
    if request.number < clock.counted_from:
        return
    sums, ttft_s = state.sums[request.route], request.first_s - request.arrival_s
    sums.requests += 1
    sums.ttft_s += ttft_s
    sums.prefill_wait_s += request.begin_s - request.arrival_s
    sums.prefill_waited += request.begin_s > request.arrival_s
    sums.tail_s += request.landed_s - request.end_s
    sums.decode_wait_s += clock.now_s - request.landed_s
    sums.decode_waited += clock.now_s > request.landed_s
    sums.prompt_tokens += request.tokens
    sums.cached_tokens += request.cached_tokens
    state.histograms[request.route, cell(ttft_s)] += 1


@compiled
def count_done(plan: Plan, state: State, request: Records) -> None:
    """A request has all of its answer."""
    clock = state.clock[0]
    if state.record.size:
        kept = state.record[request.number]
        kept.route, kept.arrival_s, kept.begin_s = request.route, request.arrival_s, request.begin_s
        kept.end_s, kept.landed_s, kept.decode_s = request.end_s, request.landed_s, request.decode_s
        kept.first_s, kept.done_s = request.first_s, clock.now_s
    if request.number < clock.counted_from:
        return
    sums = state.sums[request.route]
    sums.restarted += request.restarts > 0
    # by request every step takes the same time, and nothing is to be counted
    if plan.given[0].iterations and request.output > 1:
        tpot_s = (clock.now_s - request.first_s) / (request.output - 1)
        sums.spoken += 1
        sums.tpot_s += tpot_s
        state.tpot[request.route, cell(tpot_s)] += 1


@seldom
def fold(series: Records) -> None:
    """Joins neighbouring bins, so that the second half is free."""
    for at in range(BINS):
        into, frm = series[at], 2 * at
        if frm < BINS:
            a, b = series[frm], series[frm + 1]
            into.windows, into.egress_bits = a.windows + b.windows, a.egress_bits + b.egress_bits
            into.least_bits, into.most_bits = min(a.least_bits, b.least_bits), max(a.most_bits, b.most_bits)
            into.resent_bits, into.possible_bits = a.resent_bits + b.resent_bits, a.possible_bits + b.possible_bits
            into.threshold_tokens = a.threshold_tokens + b.threshold_tokens
            into.in_system, into.waiting = a.in_system + b.in_system, a.waiting + b.waiting
            into.prfaas, into.prefill, into.decode = a.prfaas + b.prfaas, a.prefill + b.prefill, a.decode + b.decode
        else:
            into.windows, into.egress_bits, into.least_bits, into.most_bits = 0.0, 0.0, math.inf, 0.0
            into.resent_bits = into.possible_bits = into.threshold_tokens = into.in_system = 0.0
            into.waiting = into.prfaas = into.prefill = into.decode = 0.0


@compiled
def in_system(state: State) -> float:
    """Requests that have come and not gone."""
    total = 0.0
    for place in range(COPYING + 1):
        total += state.places[place].count
    return total


@seldom
def close_window(plan: Plan, state: State, index: int, sent_bits: float, resent_bits: float, possible: float) -> None:
    """Adds a window, counted from 0, to the time series: what crossed, and what held at its end."""
    clock, series, places = state.clock[0], state.series, state.places
    while index // clock.windows_a_bin >= BINS:
        fold(series)
        clock.windows_a_bin *= 2
    into = series[index // clock.windows_a_bin]
    into.windows += 1
    into.egress_bits += sent_bits
    into.least_bits, into.most_bits = min(into.least_bits, sent_bits), max(into.most_bits, sent_bits)
    into.resent_bits += resent_bits
    into.possible_bits += possible
    into.threshold_tokens += clock.threshold_tokens
    into.in_system += in_system(state)
    into.waiting += places[WAIT_PD_P].count + places[WAIT_PRFAAS].count + places[TAIL].count + places[WAIT_PD_D].count
    into.prfaas += places[UP_PRFAAS].count
    into.prefill += places[UP_PD_P].count
    into.decode += places[UP_PD_D].count / plan.given[0].max_batch
