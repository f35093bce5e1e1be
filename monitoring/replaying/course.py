"""How a day went: one replication of the simulator, request by request, and links and instances over time."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from monitoring.replaying.crossing import Crossing, Steps, on_the_wire
from planner.engine.curves import Array
from planner.engine.simulation.layout import LOCAL, REMOTE, UP_PD_D, UP_PD_P, UP_PRFAAS, Records
from planner.engine.simulation.requests import Batch, Requests
from planner.engine.simulation.settings import Experiment
from planner.engine.simulation.tcp import Tcp
from planner.engine.simulation.timeline import Events
from planner.engine.throughput import BITS_PER_BYTE

LOOKED_EVERY_S = 2.0
"""How far apart, on average, the totals of the link are read at least; between them they rise evenly."""
ROLES = {"prfaas": UP_PRFAAS, "prefill": UP_PD_P, "decode": UP_PD_D}
MOMENTS = ("arrival_s", "begin_s", "end_s", "landed_s", "decode_s", "first_s", "done_s")
REQUEST = np.dtype(
    [
        ("route", np.int64),
        *((name, float) for name in (*MOMENTS, "tokens", "output", "kv_bytes")),
        ("prefiller", np.int64),
        ("decoder", np.int64),
    ]
)
"""Times that were never reached are infinite. `kv_bytes` is what crosses the link, 0 where nothing does."""


class Overloaded(Exception):
    """More requests come than anybody needs to see waiting. The text says what to change."""


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """From time 0 to `duration_s`."""

    duration_s: float
    requests: Records
    """By arrival, REQUEST."""
    link: Crossing
    threshold_tokens: Steps
    instances: dict[str, Steps]
    """Up, by ROLES."""
    max_batch: int


def simulated(experiment: Experiment, seed: int, duration_s: float, look_s: float = LOOKED_EVERY_S) -> Course:
    """Compiles, or loads what was compiled before; the link's totals are read every `look_s` on average.

    Raises Overloaded, and ValueError of requests whose prompts have a cache.
    """
    if experiment.prompts is not None:
        raise ValueError("requests with prefix caches cannot be replayed")
    from planner.engine.simulation.run import Simulation

    expected = experiment.rate_rps * duration_s
    experiment = replace(experiment, requests=int(expected + 10 * np.sqrt(expected) + 100), warm_up=0.0)
    simulation = Simulation(experiment, _stream(seed), record=True)
    looks = _arrived(simulation, experiment, duration_s, look_s)
    arrived = int(simulation.clock["number"])
    simulation.drain()
    drawn = _stream(seed)
    batch, events = Requests(experiment, drawn).next(arrived), Events(experiment, drawn).upto(duration_s)
    looked_s, delivered, resent, threshold = (np.array(column, float) for column in zip(*looks, strict=True))
    tcp, usual_bps = _way(experiment)
    wire = on_the_wire(delivered, resent, tcp.loss if tcp else 0.0)
    return Course(
        duration_s=duration_s,
        requests=_requests(experiment, simulation.state.record[:arrived], batch),
        link=Crossing(looked_s, *wire, _capacity(events), tcp, usual_bps),
        threshold_tokens=Steps(looked_s, threshold),
        instances=_instances(experiment, events),
        max_batch=int(experiment.deployment.decode.max_batch),
    )


def _way(experiment: Experiment) -> tuple[Tcp | None, float]:
    """How transfers cross, and what the link usually carries in bit/s."""
    link, paths = experiment.deployment.link, experiment.transport.paths
    return paths[0].tcp, link.usable_bps if link else math.inf


def _stream(seed: int) -> SeedSequence:
    return SeedSequence(seed, spawn_key=(0,))


def _arrived(
    simulation: Any, experiment: Experiment, duration_s: float, look_s: float
) -> list[tuple[float, float, float, float]]:
    """Lets requests arrive until the time is over; at each look the time, bits delivered and sent again, and t."""
    many = max(1, round(look_s * experiment.rate_rps))
    looks = [(0.0, 0.0, 0.0, experiment.routing.least_tokens)]
    left = experiment.requests
    while left and looks[-1][0] <= duration_s:
        if not simulation.arrive(min(many, left)):
            raise Overloaded("more requests wait than a million: take a lower load, or a shorter burst or brown-out")
        left -= min(many, left)
        mark = simulation.mark()
        bits = float(mark.sent_bits.sum()), float(mark.resent_bits.sum())
        looks.append((mark.now_s, *bits, float(simulation.clock["threshold_tokens"])))
    return looks


def _requests(experiment: Experiment, record: Records, batch: Batch) -> Records:
    found = np.zeros(record.size, dtype=REQUEST)
    for name in ("route", *MOMENTS):
        found[name] = record[name]
    found["arrival_s"], found["tokens"], found["output"] = batch.arrival_s, batch.tokens, batch.output
    is_open = record["done_s"] == 0
    found["route"][is_open] = np.where(batch.tokens > experiment.routing.least_tokens, REMOTE, LOCAL)[is_open]
    for name in MOMENTS[1:]:
        found[name][is_open] = np.inf
    found["kv_bytes"] = np.where(found["route"] == REMOTE, batch.layers_bits + batch.state_bits, 0.0) / BITS_PER_BYTE
    n_prfaas, n_p, n_d = (int(count) for count in experiment.instances)
    for route, count in ((LOCAL, n_p), (REMOTE, n_prfaas)):
        some = np.flatnonzero(found["route"] == route)
        found["prefiller"][some] = assigned(found["begin_s"][some], found["end_s"][some], count)
    found["decoder"] = assigned(found["decode_s"], found["done_s"], n_d)
    return found


def assigned(begin_s: Array, end_s: Array, instances: int) -> np.ndarray:
    """Who of so many instances does each piece of work: by its beginning, whoever has the least under way then."""
    found = np.zeros(begin_s.size, np.int64)
    ends: list[list[float]] = [[] for _ in range(max(instances, 1))]
    for at in np.argsort(begin_s, kind="stable").tolist():
        for each in ends:
            each[:] = [end for end in each if end > begin_s[at]]
        found[at] = min(range(len(ends)), key=lambda which: len(ends[which]))
        ends[found[at]].append(float(end_s[at]))
    return found


def _capacity(events: Any) -> Steps:
    """Of all paths together."""
    times, links = events.change_s[:-1], events.change_link
    now = np.zeros(int(links.max(initial=-1)) + 1)
    values = []
    for link, bps in zip(links.tolist(), events.change_bps.tolist(), strict=True):
        now[link] = bps
        values.append(float(now.sum()))
    return Steps(times, np.array(values))


def _instances(experiment: Experiment, events: Any) -> dict[str, Steps]:
    found = {}
    times = events.fault_s[:-1]
    for (role, place), there in zip(ROLES.items(), experiment.instances, strict=True):
        own = events.fault_place == place
        changes = np.concatenate([[there], events.fault_change[own]])
        found[role] = Steps(np.concatenate([[0.0], times[own]]), np.maximum(np.cumsum(changes), 0.0))
    return found
