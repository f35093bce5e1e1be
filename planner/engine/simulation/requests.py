"""Requests in batches: when they come, how long they are, what work they bring.

Each purpose has its own stream of random numbers, so that two policies meet the very same requests. Sequences do not
depend on how many are asked for at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng

from planner.engine.arrivals import Arrivals, Diurnal, Mmpp2, Poisson, Recorded, Renewal
from planner.engine.curves import Array
from planner.engine.latency import state_bytes
from planner.engine.simulation.settings import Experiment
from planner.engine.throughput import BITS_PER_BYTE

BLOCK = 16_384
"""Arrivals that are drawn at once."""
STAYS = 16_384
"""Stays in a state that are drawn at once; even, so that each lot begins in the same state."""


class Batch(NamedTuple):
    """Requests by arrival, each array of shape (n,). What no route can need is 0."""

    arrival_s: Array
    tokens: Array
    local_s: Array
    """Prefill by PD-P, in seconds."""
    remote_s: Array
    """Prefill by PrfaaS."""
    layers_bits: Array
    """What is made during the prefill, across the link."""
    state_bits: Array
    """What is there only after it."""
    hold_s: Array
    """Time in a decode batch."""


class Requests:
    """An endless row of requests."""

    def __init__(self, experiment: Experiment, seed: SeedSequence) -> None:
        """The same seed gives the same requests, whatever the rule, the order and the instances."""
        arrivals, thinning, lengths, outputs = (default_rng(child) for child in seed.spawn(4))
        self._experiment = experiment
        self._arrivals = taking(blocks(experiment.arrivals, experiment.rate_rps, arrivals, thinning))
        self._lengths, self._outputs = lengths, outputs
        self._state = state_bytes(experiment.deployment.s_kv)

    def next(self, count: int) -> Batch:
        """The next so many."""
        deployed, rule = self._experiment.deployment, self._experiment.routing
        tokens = deployed.lengths.quantile(self._lengths.random(count))
        away, stay = tokens > rule.least_tokens, tokens <= rule.most_tokens
        remote_s, local_s, layers, state = np.zeros((4, count))
        local_s[stay] = deployed.pd.t_prefill(tokens[stay])
        if deployed.prfaas is not None:
            remote_s[away] = deployed.prfaas.t_prefill(tokens[away])
            sizes = deployed.s_kv(tokens[away])
            state[away] = BITS_PER_BYTE * np.minimum(self._state, sizes)
            layers[away] = BITS_PER_BYTE * sizes - state[away]
        return Batch(self._arrivals(count), tokens, local_s, remote_s, layers, state, self._holds(count))

    def _holds(self, count: int) -> Array:
        decode, scv = self._experiment.deployment.decode, self._experiment.output_scv
        if scv == 0:
            return np.full(count, max(decode.output_tokens, 1.0) * decode.step_s)
        output = self._outputs.standard_gamma(1 / scv, count) * scv * decode.output_tokens
        return np.maximum(output, 1.0) * decode.step_s


def taking(blocks: Iterator[Array]) -> Callable[[int], Array]:
    """A function that hands out as many of the blocks' numbers as it is asked for, in turn."""
    left = np.empty(0)

    def take(count: int) -> Array:
        nonlocal left
        parts, size = [left], left.size
        while size < count:
            parts.append(next(blocks))
            size += parts[-1].size
        whole = np.concatenate(parts)
        left = whole[count:]
        return whole[:count]

    return take


def blocks(arrivals: Arrivals, rate_rps: float, rng: Generator, thinning: Generator) -> Iterator[Array]:
    """Arrivals after time 0 in seconds, rising, block by block and without end: see each process' `sample`.

    Raises TypeError on a process that is not known here.
    """
    match arrivals:
        case Poisson():
            return (even / rate_rps for even in _even(rng))
        case Renewal():
            return _renewal(arrivals, rate_rps, rng)
        case Mmpp2():
            return _mmpp(arrivals, rate_rps, rng, thinning)
        case Diurnal():
            return _diurnal(arrivals, rate_rps, rng, thinning)
        case Recorded():
            return _recorded(arrivals, rate_rps, rng)
    raise TypeError(f"{type(arrivals).__name__} arrivals cannot be simulated")


def _even(rng: Generator) -> Iterator[Array]:
    """A Poisson process of one a second."""
    last = 0.0
    while True:
        times = last + np.cumsum(rng.standard_exponential(BLOCK))
        last = float(times[-1])
        yield times


def _renewal(process: Renewal, rate_rps: float, rng: Generator) -> Iterator[Array]:
    shape = process.variation**-2
    last = rng.standard_gamma(shape + 1) / shape * rng.random()
    yield np.array([last / rate_rps])
    while True:
        times = last + np.cumsum(rng.standard_gamma(shape, BLOCK) / shape)
        last = float(times[-1])
        yield times / rate_rps


def _mmpp(process: Mmpp2, rate_rps: float, rng: Generator, staying: Generator) -> Iterator[Array]:
    """Stays are drawn until they hold the block's arrivals, and forgotten as they pass."""
    rates, sojourns = np.array(process.rates(rate_rps)), np.array(process.sojourns_s)
    states = (int(staying.random() * sojourns.sum() >= sojourns[0]) + np.arange(STAYS)) % 2
    times, expected = np.zeros(1), np.zeros(1)
    for even in _even(rng):
        while expected[-1] <= even[-1]:
            stays = staying.standard_exponential(STAYS) * sojourns[states]
            times = np.concatenate([times, times[-1] + np.cumsum(stays)])
            expected = np.concatenate([expected, expected[-1] + np.cumsum(stays * rates[states])])
        yield np.interp(even, expected, times)
        passed = max(int(np.searchsorted(expected, even[-1])) - 1, 0)
        times, expected = times[passed:], expected[passed:]


def _diurnal(process: Diurnal, rate_rps: float, rng: Generator, thinning: Generator) -> Iterator[Array]:
    peak = rate_rps * (1 + process.amplitude)
    for even in _even(rng):
        candidates = even / peak
        yield candidates[thinning.random(BLOCK) * peak < process.rate_at(candidates, rate_rps)]


def _recorded(process: Recorded, rate_rps: float, rng: Generator) -> Iterator[Array]:
    edges = np.arange(process.recorded_rps.size + 1) * process.interval_s
    share = np.concatenate([[0.0], np.cumsum(process.recorded_rps / process.recorded_rps.sum())])
    for even in _even(rng):
        rounds, within = np.divmod(even / rate_rps, edges[-1])
        yield rounds * edges[-1] + np.interp(within / edges[-1] * share[-1], share, edges)
