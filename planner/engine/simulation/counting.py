"""What is counted while it happens: how many are where, times to the first token, egress by window."""

from __future__ import annotations

import math

from planner.engine.simulation import histogram
from planner.engine.simulation.compilation import compiled
from planner.engine.simulation.state import BINS, PD_D, Records, State

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
    """A request begins to decode now; its first token comes a step later."""
    clock = state.clock[0]
    if state.record.size:
        kept = state.record[request.number]
        kept.route, kept.arrival_s, kept.begin_s = request.route, request.arrival_s, request.begin_s
        kept.end_s, kept.landed_s, kept.decode_s = request.end_s, request.landed_s, clock.now_s
        kept.done_s = clock.now_s + request.hold_s
    if request.number < clock.counted_from:
        return
    sums, ttft_s = state.sums[request.route], clock.now_s + step_s - request.arrival_s
    sums.requests += 1
    sums.ttft_s += ttft_s
    sums.prefill_wait_s += request.begin_s - request.arrival_s
    sums.prefill_waited += request.begin_s > request.arrival_s
    sums.tail_s += request.landed_s - request.end_s
    sums.decode_wait_s += clock.now_s - request.landed_s
    sums.decode_waited += clock.now_s > request.landed_s
    state.histograms[request.route, cell(ttft_s)] += 1


@compiled
def fold(series: Records) -> None:
    """Joins neighbouring bins, so that the second half is free."""
    for at in range(BINS):
        into, frm = series[at], 2 * at
        if frm < BINS:
            a, b = series[frm], series[frm + 1]
            into.windows, into.egress_bits = a.windows + b.windows, a.egress_bits + b.egress_bits
            into.least_bits, into.most_bits = min(a.least_bits, b.least_bits), max(a.most_bits, b.most_bits)
            into.threshold_tokens = a.threshold_tokens + b.threshold_tokens
            into.in_system = a.in_system + b.in_system
        else:
            into.windows, into.egress_bits, into.least_bits, into.most_bits = 0.0, 0.0, math.inf, 0.0
            into.threshold_tokens = into.in_system = 0.0


@compiled
def in_system(state: State) -> float:
    """Requests that have come and not gone."""
    total = 0.0
    for place in range(PD_D + 1):
        total += state.places[place].count
    return total


@compiled
def close_window(state: State, index: int, bits: float) -> None:
    """Adds a window, counted from 0, to the time series: its egress, and the threshold that held."""
    clock, series = state.clock[0], state.series
    while index // clock.windows_a_bin >= BINS:
        fold(series)
        clock.windows_a_bin *= 2
    into = series[index // clock.windows_a_bin]
    into.windows += 1
    into.egress_bits += bits
    into.least_bits, into.most_bits = min(into.least_bits, bits), max(into.most_bits, bits)
    into.threshold_tokens += clock.threshold_tokens
    into.in_system += in_system(state)
