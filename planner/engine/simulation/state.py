"""What a simulation remembers between two events, in arrays that grow with the requests in the system alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from planner.engine.controller import Rule
from planner.engine.curves import Array
from planner.engine.simulation.settings import Experiment, Order, constant

type Records = Any
"""A structured array. Compiled, its fields are attributes of its records, of which NumPy's types know nothing."""

NOBODY = -1
LOCAL, REMOTE = 0, 1
FIRST_SLOTS = 1024
MOST_SLOTS = 2**20
"""Requests in the system beyond which nobody needs to see how it goes on."""
ENDLESS_BPS = 1e30
"""Stands for an infinite bandwidth: whatever crosses it takes less than a clock can tell."""

# Where a request is, each with the number of requests that are there.
WAIT_PD_P, PD_P, WAIT_PRFAAS, PRFAAS, TAIL, WAIT_PD_D, PD_D, SENDING = range(8)
PLACES = 8
"""All but SENDING, which lies within PRFAAS and TAIL, are one after another."""

CLOCK = np.dtype(
    [
        ("now_s", float),
        ("taken", np.int64),  # requests that have arrived, of the batch
        ("number", np.int64),  # and of all
        ("counted_from", np.int64),
        ("free", np.int64),  # first slot of the list of free ones
        ("unfinished", np.int64),
        ("tick_s", float),
        ("threshold_tokens", float),
        ("calm", float),
        # the link: bits that each transfer would have sent since the link was last idle, at which rate, up to when
        ("work_bits", float),
        ("rate_bps", float),
        ("since_s", float),
        ("across_s", float),  # when the next transfer has sent what it can
        ("capacity_bps", float),
        ("change", np.int64),  # next change of the capacity, and when
        ("change_s", float),
        ("landed_s", float),  # when the first of those that are across is there
        ("sent_bits", float),
        ("possible_bits", float),
        ("possible_since_s", float),
        ("window_sent_bits", float),  # as of the window's beginning
        ("window_possible_bits", float),
        ("windows_a_bin", np.int64),
        ("completed", np.int64),
        ("completed_work_s", float),
        ("delivered_bits", float),
    ],
    align=True,
)
SLOT = np.dtype(
    [
        ("follows", np.int64),  # the next slot of the same list
        ("number", np.int64),
        ("route", np.int64),
        ("chunks", np.int64),  # sent so far
        ("sending", np.int64),
        ("arrival_s", float),
        ("prefill_s", float),
        ("begin_s", float),
        ("end_s", float),
        ("layers_bits", float),
        ("state_bits", float),
        ("landed_s", float),
        ("hold_s", float),
    ],
    align=True,
)
HEAP = np.dtype([("key", np.float64), ("turn", np.int64), ("item", np.int64)], align=True)
QUEUE = np.dtype([("first", np.int64), ("last", np.int64)], align=True)
WAITING_LOCAL, WAITING_REMOTE, LANDING, WAITING_DECODE = range(4)
PLACE = np.dtype([("count", float), ("area", float), ("since_s", float)], align=True)
BIN = np.dtype(
    [
        ("windows", float),
        ("egress_bits", float),
        ("least_bits", float),
        ("most_bits", float),
        ("threshold_tokens", float),
        ("in_system", float),
    ],
    align=True,
)
BINS = 256
RECORD = np.dtype(
    [
        ("route", np.int64),
        ("arrival_s", float),
        ("begin_s", float),
        ("end_s", float),
        ("landed_s", float),
        ("decode_s", float),
        ("done_s", float),
    ],
    align=True,
)
SUMS = np.dtype(
    [
        ("requests", np.int64),
        ("ttft_s", float),
        ("prefill_wait_s", float),
        ("prefill_waited", np.int64),
        ("tail_s", float),
        ("decode_wait_s", float),
        ("decode_waited", np.int64),
    ],
    align=True,
)


class Plan(NamedTuple):
    """What does not change, as the event loop needs it."""

    rule: Rule
    servers: tuple[int, int]
    """Of PD-P and of PrfaaS."""
    decode_slots: int
    step_s: float
    shortest_first: bool
    chunks: int
    half_rtt_s: float
    transfer_bps: float
    """The most that one transfer gets, ..."""
    cluster_bps: float
    """... and all together."""
    times_s: Array
    """Changes of the link's capacity."""
    capacity_bps: Array
    window_s: float


class State(NamedTuple):
    """Everything that changes, in structured arrays."""

    clock: Records
    slots: Records
    queues: Records
    local: Records
    """Heaps: busy instances of either side by when they are done, ..."""
    remote: Records
    waiting_local: Records
    """... requests that wait for one, if the shortest is first, ..."""
    waiting_remote: Records
    wakes: Records
    """... idle transfers by when they have more to send, busy ones by the work at which they are done, ..."""
    flows: Records
    decode: Records
    """... and decoding requests by when they are done."""
    places: Records
    series: Records
    sums: Records
    histograms: Records
    """TTFT by route, shape (2, bins)."""
    record: Records
    """Every request, shape (requests,), or nothing."""


SIZED = ("waiting_local", "waiting_remote", "wakes", "flows")
"""Heaps that may hold every request in the system."""


def new_heap(most: int) -> Records:
    """An empty heap for so many items: its count is item 0's, the least key is at 1, infinite while there is none."""
    heap = np.zeros(most + 2, dtype=HEAP)
    heap["key"] = np.inf
    return heap


def grown(heap: Records, most: int) -> Records:
    """The same with room for so many."""
    larger = new_heap(most)
    larger[: heap.size] = heap
    return larger


def plan_of(experiment: Experiment) -> Plan:
    """The experiment as numbers, each always of the same type: another one would be compiled anew."""
    deployed, transport = experiment.deployment, experiment.transport
    n_prfaas, n_p, _ = experiment.instances
    own = deployed.prfaas.egress_bps if deployed.prfaas else np.inf
    capacity = transport.capacity or constant(deployed.link.usable_bps if deployed.link else 0.0)
    return Plan(
        rule=Rule(*(float(value) for value in experiment.routing)),
        servers=(int(n_p), int(n_prfaas)),
        decode_slots=experiment.decode_slots,
        step_s=float(deployed.decode.step_s),
        shortest_first=experiment.order is Order.SHORTEST,
        chunks=int(transport.chunks),
        half_rtt_s=float(transport.rtt_s / 2),
        transfer_bps=float(min(own, transport.connection_bps, ENDLESS_BPS)),
        cluster_bps=float(min(own * n_prfaas if n_prfaas else 0.0, ENDLESS_BPS)),
        times_s=np.append(capacity.times_s[1:], np.inf),
        capacity_bps=np.minimum(capacity.bps, ENDLESS_BPS),
        window_s=float(experiment.window_s),
    )


def new_state(plan: Plan, bins: int, recorded: int) -> State:
    """An empty system at time 0; `bins` of the histograms, and how many requests are recorded one by one."""
    clock = np.zeros(1, dtype=CLOCK)
    clock["across_s"] = clock["landed_s"] = np.inf
    clock["tick_s"], clock["change_s"] = plan.window_s, plan.times_s[0]
    clock["capacity_bps"] = plan.capacity_bps[0]
    clock["threshold_tokens"] = plan.rule.least_tokens
    clock["windows_a_bin"] = 1
    queues = np.zeros(4, dtype=QUEUE)
    queues["first"] = queues["last"] = NOBODY
    series = np.zeros(BINS, dtype=BIN)
    series["least_bits"] = np.inf
    return State(
        clock=clock,
        slots=new_slots(0, FIRST_SLOTS),
        queues=queues,
        local=new_heap(plan.servers[LOCAL]),
        remote=new_heap(plan.servers[REMOTE]),
        **{name: new_heap(FIRST_SLOTS) for name in SIZED},
        decode=new_heap(plan.decode_slots),
        places=np.zeros(PLACES, dtype=PLACE),
        series=series,
        sums=np.zeros(2, dtype=SUMS),
        histograms=np.zeros((2, bins), dtype=np.int64),
        record=np.zeros(recorded, dtype=RECORD),
    )


def new_slots(begin: int, end: int) -> Records:
    """Free slots, each followed by the next."""
    slots = np.zeros(end - begin, dtype=SLOT)
    slots["follows"] = np.append(np.arange(begin + 1, end), NOBODY)
    return slots


def enlarged(state: State) -> State:
    """The same state, of which every slot is taken, with twice the slots."""
    size = state.slots.size
    state.clock["free"] = size
    heaps = {name: grown(getattr(state, name), 2 * size) for name in SIZED}
    return state._replace(slots=np.concatenate([state.slots, new_slots(size, 2 * size)]), **heaps)
