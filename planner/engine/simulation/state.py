"""What a simulation remembers between two events, in arrays that grow with the requests in the system alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.engine.controller import Reallocation
from planner.engine.curves import Array
from planner.engine.latency import state_bytes
from planner.engine.simulation.layout import (
    ABSENT,
    BIN,
    BINS,
    CLOCK,
    DECODER,
    ENDLESS_BPS,
    HEAP,
    LINK,
    LOCAL,
    NOBODY,
    OWN_QUEUES,
    PATH,
    PLACE,
    PLACES,
    PLAN,
    PREFILLER,
    QUEUE,
    RECORD,
    REMOTE,
    SLOT,
    SUMS,
    UP,
    UP_PD_D,
    UP_PD_P,
    UP_PRFAAS,
    Records,
)
from planner.engine.simulation.options import CacheRouting, Choice, Order
from planner.engine.simulation.prefix_cache import Pool, new_pool
from planner.engine.simulation.prompts import NO_BLOCKS
from planner.engine.simulation.settings import Experiment
from planner.engine.throughput import BITS_PER_BYTE

FIRST_SLOTS = 1024
MOST_SLOTS = 2**20
"""Requests in the system beyond which nobody needs to see how it goes on."""
CHOICES = {Choice.SHARED: 0, Choice.SHORTEST_QUEUE: 1, Choice.PREFIX_AFFINE: 2}
CACHE_ROUTINGS = {CacheRouting.LENGTH: 0, CacheRouting.OWN: 1, CacheRouting.BEST: 2, CacheRouting.BY_BANDWIDTH: 3}


class Plan(NamedTuple):
    """What does not change, as the event loop needs it: a few arrays, since each call hands all of them on."""

    given: Records
    """One record, PLAN."""
    paths: Records
    """The links to the PD cluster, and then the same the other way."""
    best_tokens: Array
    """t by N_p; empty: it stays."""
    track_tokens: Array
    """t by interval, as it was recorded; empty: it follows the rule."""
    times_local_s: Array
    """T_prefill of so many tokens on either side, and the bits of their layers, by token; empty if not needed."""
    times_remote_s: Array
    layers_bits: Array
    named_blocks: NDArray[np.int64]


class Timeline(NamedTuple):
    """What happens to links and instances, whatever requests do, as far as it is known; each ends with infinity."""

    change_s: Array
    change_link: NDArray[np.int64]
    change_bps: Array
    fault_s: Array
    fault_place: NDArray[np.int64]
    """UP_PRFAAS, UP_PD_P or UP_PD_D."""
    fault_change: NDArray[np.int64]
    """-1: one goes down; 1: one comes up."""
    fault_draw: Array
    """In [0, 1): which."""


class State(NamedTuple):
    """Everything that changes, in structured arrays."""

    clock: Records
    slots: Records
    queues: Records
    prefillers: Records
    """Instances: those of PrfaaS, then those of the PD cluster that prefill or could."""
    decoders: Records
    members: NDArray[np.int64]
    """Requests of each decode instance, shape (instances, batch)."""
    free: NDArray[np.int64]
    """First of the free prefill instances of either role."""
    local: Records
    """Heaps: busy instances of either side by when they are done, ..."""
    remote: Records
    waiting_local: Records
    """... requests that wait for one, if the shortest is first, ..."""
    waiting_remote: Records
    wakes: Records
    """... idle transfers by when they have more to send, ..."""
    landing: Records
    """... those that are across by when they are there, ..."""
    decode: Records
    """... and decoding requests by when they are done, or instances by when their step is."""
    flows: Records
    """Heaps of busy transfers by the work at which they are done, one for each link, shape (links, size)."""
    links: Records
    places: Records
    local_pool: Pool
    remote_pool: Pool
    series: Records
    sums: Records
    histograms: NDArray[np.int64]
    """TTFT by route, shape (2, bins)."""
    tpot: NDArray[np.int64]
    """TPOT by route, shape (2, bins)."""
    record: Records
    """Every request, shape (requests,), or nothing."""


SIZED = ("waiting_local", "waiting_remote", "wakes", "landing")
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
    """The experiment as numbers."""
    times_local, times_remote, layers = _tables(experiment)
    given = np.zeros(1, dtype=PLAN)
    fields = _rules(experiment) | _serving(experiment) | _caching(experiment)
    for name, value in fields.items():
        given[name] = value
    return Plan(
        given=given,
        paths=_paths(experiment),
        best_tokens=np.array(experiment.best_tokens, dtype=float),
        track_tokens=np.array(experiment.track.tokens if experiment.track else (), dtype=float),
        times_local_s=times_local,
        times_remote_s=times_remote,
        layers_bits=layers,
        named_blocks=experiment.prompts.named_blocks if experiment.prompts else NO_BLOCKS,
    )


def _rules(experiment: Experiment) -> dict[str, float]:
    rule, roles = experiment.routing, experiment.reallocation or Reallocation()
    return {
        **{name: getattr(rule, name) for name in ("step", "high", "low", "surge", "patience", "resent", "backlog")},
        **{name: getattr(roles, name) for name in ("period_s", "room", "least_prefill", "least_decode", "delay_s")},
        "role_high": roles.high,
        "role_patience": roles.patience,
        "role_calm": roles.calm,
        "planned_prefill": experiment.instances[1],
        "moves_threshold": rule.least_tokens < rule.most_tokens,
        "track_s": experiment.track.interval_s if experiment.track else 0.0,
        "moves_roles": experiment.reallocation is not None,
        "failover": experiment.failover,
        "window_s": experiment.window_s,
    }


def _serving(experiment: Experiment) -> dict[str, float]:
    deployed, prefill, decoding = experiment.deployment, experiment.prefill, experiment.decoding
    own = deployed.prfaas.egress_bps if deployed.prfaas else np.inf
    return {
        "shortest_first": prefill.order is Order.SHORTEST,
        "ageing": prefill.ageing,
        "choice": CHOICES[prefill.choice],
        "batch_tokens": prefill.batch_tokens,
        "chunk_tokens": prefill.chunk_tokens,
        "chunks": experiment.transport.chunks,
        "ways": len(experiment.transport.paths),
        "own_bps": min(own, ENDLESS_BPS),
        "step_s": deployed.decode.step_s,
        "base_s": deployed.decode.step_s if decoding.base_s is None else decoding.base_s,
        "request_s": decoding.request_s,
        "token_s": decoding.token_s,
        "iterations": decoding.iterations,
        "max_batch": int(deployed.decode.max_batch),
        "memory_bytes": decoding.memory_bytes,
    }


def _caching(experiment: Experiment) -> dict[str, float]:
    caching, state = experiment.caching, state_bytes(experiment.deployment.s_kv)
    found = {"block_bytes": 1.0, "state_bytes": state, "state_bits": BITS_PER_BYTE * state}
    if caching is None:
        return found
    return found | {
        "cached": True,
        "cache_routing": CACHE_ROUTINGS[caching.routing],
        "copies": caching.copies,
        "block_tokens": caching.block_tokens,
        "block_bytes": block_bytes(experiment),
        "state_every": caching.state_every,
        "keeps_answers": caching.keeps_answers,
    }


def block_bytes(experiment: Experiment) -> float:
    """Bytes of a block of a prompt: the part of S_kv that grows, evenly. Raises ValueError where nothing does."""
    s_kv, caching = experiment.deployment.s_kv, experiment.caching
    (shorter, longer), (less, more) = s_kv.lengths[-2:], s_kv(s_kv.lengths[-2:])
    size = float((more - less) / (longer - shorter)) * (caching.block_tokens if caching else 1)
    if not size > 0:
        raise ValueError("prefix caches need a KVCache that grows with the prompt")
    return size


def _tables(experiment: Experiment) -> tuple[Array, Array, Array]:
    """Prefill times of either side and bits of layers, of 0 to the longest tokens; nothing if nobody asks."""
    none = np.zeros(0)
    if not experiment.needs_times:
        return none, none, none
    deployed, tokens = experiment.deployment, np.arange(1.0, experiment.longest_tokens + 1)
    state = state_bytes(deployed.s_kv)
    local = deployed.pd.t_prefill(tokens)
    remote = deployed.prfaas.t_prefill(tokens) if deployed.prfaas else np.zeros(tokens.size)
    layers = BITS_PER_BYTE * np.maximum(deployed.s_kv(tokens) - state, 0.0)
    return np.append(0.0, local), np.append(0.0, remote), np.append(0.0, layers)


def nominal_bps(experiment: Experiment) -> list[float]:
    """What each path carries when nothing is in its way."""
    link = experiment.deployment.link
    return [(link.usable_bps if link else 0.0) if path.bps is None else path.bps for path in experiment.transport.paths]


def _paths(experiment: Experiment) -> Records:
    paths, deployed = experiment.transport.paths, experiment.deployment
    own = deployed.prfaas.egress_bps if deployed.prfaas else np.inf
    nominal = np.minimum(nominal_bps(experiment), ENDLESS_BPS)
    shares = nominal / nominal.sum() if nominal.sum() > 0 else np.full(len(paths), 1 / len(paths))
    found = np.zeros(len(paths), dtype=PATH)
    for row, path, part in zip(found, paths, shares, strict=True):
        row["transfer_bps"], row["share"] = min(path.transfer_bps, own, ENDLESS_BPS), part
        row["half_rtt_s"], row["rtt_s"], row["alone_bps"] = path.half_rtt_s, 2 * path.half_rtt_s, ENDLESS_BPS
        if path.tcp:
            row["connections"], row["alone_bps"] = path.tcp.connections, min(path.tcp.alone_bps, ENDLESS_BPS)
            row["mss_bytes"], row["loss"] = path.tcp.mss_bytes, path.tcp.loss
    return np.tile(found, 2)


def new_state(experiment: Experiment, plan: Plan, bins: int, recorded: int) -> State:
    """An empty system at time 0; `bins` of the histograms, and how many requests are recorded one by one."""
    given, max_batch = plan.given[0], int(plan.given["max_batch"][0])
    n_prfaas, n_p, n_d = (int(count) for count in experiment.instances)
    spare_p, spare_d = (n_d, n_p) if given["moves_roles"] else (0, 0)
    prefillers = _prefillers(n_prfaas, n_p, spare_p)
    decoders = np.zeros(n_d + spare_d, dtype=DECODER)
    decoders["status"][:n_d] = UP
    decoders["last_step"] = np.iinfo(np.int64).max
    queues = np.zeros(OWN_QUEUES + prefillers.size, dtype=QUEUE)
    queues["first"] = queues["last"] = NOBODY
    series = np.zeros(BINS, dtype=BIN)
    series["least_bits"] = np.inf
    links = 2 * int(given["ways"])
    return State(
        clock=_clock(experiment, plan),
        slots=new_slots(0, FIRST_SLOTS),
        queues=queues,
        prefillers=prefillers,
        decoders=decoders,
        members=np.full((decoders.size, max(max_batch, 1)), NOBODY),
        free=np.array([n_prfaas if n_p else NOBODY, 0 if n_prfaas else NOBODY]),
        local=new_heap(n_p + spare_p),
        remote=new_heap(n_prfaas),
        **{name: new_heap(FIRST_SLOTS) for name in SIZED},
        decode=new_heap(decoders.size * (1 if given["iterations"] else max_batch)),
        flows=np.stack([new_heap(FIRST_SLOTS) for _ in range(links)]),
        links=np.zeros(links, dtype=LINK),
        places=_places(n_prfaas, n_p, n_d * max_batch),
        local_pool=_pool(experiment, plan, experiment.caching.pd_bytes if experiment.caching else 0.0),
        remote_pool=_pool(experiment, plan, experiment.caching.prfaas_bytes if experiment.caching else 0.0),
        series=series,
        sums=np.zeros(2, dtype=SUMS),
        histograms=np.zeros((2, bins), dtype=np.int64),
        tpot=np.zeros((2, bins), dtype=np.int64),
        record=np.zeros(recorded, dtype=RECORD),
    )


def _pool(experiment: Experiment, plan: Plan, capacity_bytes: float) -> Pool:
    given = plan.given[0]
    return new_pool(
        capacity_bytes, float(given["block_bytes"]), float(given["state_bytes"]) if experiment.caching else 0.0
    )


def _clock(experiment: Experiment, plan: Plan) -> Records:
    clock, given, rule = np.zeros(1, dtype=CLOCK), plan.given[0], experiment.routing
    clock["across_s"] = clock["change_s"] = clock["fault_s"] = clock["converted_s"] = np.inf
    clock["tick_s"] = given["window_s"]
    clock["control_s"] = given["period_s"] if given["moves_roles"] else np.inf
    clock["threshold_tokens"] = clock["least_tokens"] = rule.least_tokens
    clock["most_tokens"] = rule.most_tokens
    if plan.track_tokens.size:
        clock["threshold_tokens"] = plan.track_tokens[0]
    clock["windows_a_bin"] = 1
    return clock


def _prefillers(n_prfaas: int, n_p: int, spare: int) -> Records:
    """All free; those that would have to be converted first are absent."""
    prefillers = np.zeros(n_prfaas + n_p + spare, dtype=PREFILLER)
    prefillers["slot"] = NOBODY
    prefillers["role"] = LOCAL
    prefillers["role"][:n_prfaas] = REMOTE
    prefillers["status"] = ABSENT
    prefillers["status"][: n_prfaas + n_p] = UP
    prefillers["next_free"] = NOBODY
    for begin, end in ((0, n_prfaas), (n_prfaas, n_prfaas + n_p)):
        if end > begin:
            prefillers["next_free"][begin : end - 1] = np.arange(begin + 1, end)
    return prefillers


def _places(n_prfaas: int, n_p: int, slots: int) -> Records:
    places = np.zeros(PLACES, dtype=PLACE)
    for place, count in ((UP_PRFAAS, n_prfaas), (UP_PD_P, n_p), (UP_PD_D, slots)):
        places["count"][place] = count
    return places


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
    flows = np.stack([grown(heap, 2 * size) for heap in state.flows])
    slots = np.concatenate([state.slots, new_slots(size, 2 * size)])
    return state._replace(slots=slots, flows=flows, **heaps)
