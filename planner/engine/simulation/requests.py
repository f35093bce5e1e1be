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
from planner.engine.lengths import Drawn
from planner.engine.simulation.layout import LOCAL, REMOTE
from planner.engine.simulation.prompts import NO_BLOCKS, Int64, Prompting, Prompts
from planner.engine.simulation.settings import Experiment
from planner.engine.throughput import BITS_PER_BYTE

BLOCK = 16_384
"""Arrivals that are drawn at once."""
STAYS = 16_384
"""Stays in a state that are drawn at once; even, so that each lot begins in the same state."""
LOTS = 2**32 - 1
"""Key of the stream of lots, which no `spawn` reaches: what is drawn beside it stays as it is without lots."""


class Batch(NamedTuple):
    """Requests by arrival, each array of shape (n,). What no route can need is 0, or not there."""

    arrival_s: Array
    tokens: Array
    """To be prefilled, as far as that is known now."""
    prompt: Array
    """All of it, which decode goes on from."""
    local_s: Array
    """Prefill by PD-P, in seconds."""
    remote_s: Array
    """Prefill by PrfaaS."""
    layers_bits: Array
    """What is made during the prefill, across the link."""
    state_bits: Array
    """What is there only after it."""
    output: Array
    """Tokens of the answer, one at least."""
    kv_bytes: Array
    """KVCache with the whole answer; shape (0,) where decode has all the memory it needs."""
    chain: Int64
    """See `Prompts`; shape (0,) where there is no prefix cache."""
    system: Int64
    shared: Int64
    blocks: Int64
    blocks_after: Int64
    lot: Int64
    """LOCAL or REMOTE, as drawn for each; shape (0,) where lengths decide."""


class Requests:
    """An endless row of requests."""

    def __init__(self, experiment: Experiment, seed: SeedSequence) -> None:
        """The same seed gives the same requests, whatever the rule, the order and the instances."""
        streams = seed.spawn(5)
        arrivals, thinning, lengths, outputs = (default_rng(child) for child in streams[:4])
        self._experiment = experiment
        self._arrivals = taking(blocks(experiment.arrivals, experiment.rate_rps, arrivals, thinning))
        self._lengths, self._outputs = lengths, outputs
        self._state = state_bytes(experiment.deployment.s_kv)
        self._prompts = _started(experiment, streams[4])
        self._lots = default_rng(SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, LOTS)))
        self._anywhere = experiment.reroutes

    def next(self, count: int) -> Batch:
        """The next so many."""
        lot = self._drawn_lots(count)
        if self._prompts is not None:
            return self._named(self._prompts.next(count), lot)
        drawn = self._drawn(count)
        # an iteration makes whole tokens
        output = np.rint(drawn.output) if self._experiment.decoding.iterations else drawn.output
        return self._whole(self._arrivals(count), drawn._replace(output=np.maximum(output, 1.0)), lot)

    def _drawn_lots(self, count: int) -> Int64:
        """Where each goes if lengths do not matter; of two shares, the larger sends the same away and more."""
        share = self._experiment.remote_share
        if share is None:
            return NO_BLOCKS
        return np.where(self._lots.random(count) < share, REMOTE, LOCAL).astype(np.int64)

    def _drawn(self, count: int) -> Drawn:
        experiment = self._experiment
        if experiment.lengths is not None:
            return experiment.lengths.draw(count, self._lengths, self._outputs)
        tokens = experiment.deployment.lengths.quantile(self._lengths.random(count))
        mean, scv = experiment.deployment.decode.output_tokens, experiment.output_scv
        output = np.full(count, mean) if scv == 0 else self._outputs.standard_gamma(1 / scv, count) * scv * mean
        return Drawn(tokens, tokens, output)

    def _named(self, prompts: Prompts, lot: Int64) -> Batch:
        # arrays of another layout would have the event loop compiled once more
        prompts = Prompts._make(np.ascontiguousarray(column) for column in prompts)
        output = np.maximum(prompts.output, 1).astype(float)
        tokens = prompts.tokens.astype(float)
        if self._experiment.caching is None:
            return self._whole(prompts.arrival_s, Drawn(tokens, tokens, output), lot)
        none, kv_bytes = np.zeros(0), self._kv_bytes(tokens, output)
        names = (prompts.chain, prompts.system, prompts.shared, prompts.blocks, prompts.blocks_after)
        return Batch(prompts.arrival_s, tokens, tokens, none, none, none, none, output, kv_bytes, *names, lot)

    def _whole(self, arrival_s: Array, drawn: Drawn, lot: Int64) -> Batch:
        """Requests of which it is known what is left to prefill, with what that takes wherever they may go."""
        tokens = drawn.increment
        deployed, rule = self._experiment.deployment, self._experiment.routing
        away, stay = tokens > rule.least_tokens, tokens <= rule.most_tokens
        if lot.size:
            away, stay = lot == REMOTE, lot == LOCAL
        if self._anywhere:
            away[:] = stay[:] = True
        remote_s, local_s, layers, state = np.zeros((4, tokens.size))
        local_s[stay] = deployed.pd.t_prefill(tokens[stay])
        if deployed.prfaas is not None:
            remote_s[away] = deployed.prfaas.t_prefill(tokens[away])
            sizes = deployed.s_kv(tokens[away])
            state[away] = BITS_PER_BYTE * np.minimum(self._state, sizes)
            layers[away] = BITS_PER_BYTE * sizes - state[away]
        kv_bytes, names = self._kv_bytes(drawn.prompt, drawn.output), [*[NO_BLOCKS] * 5, lot]
        takes = (local_s, remote_s, layers, state)
        return Batch(arrival_s, tokens, drawn.prompt, *takes, drawn.output, kv_bytes, *names)

    def _kv_bytes(self, tokens: Array, output: Array) -> Array:
        if self._experiment.decoding.memory_bytes == np.inf:
            return np.zeros(0)
        return self._experiment.deployment.s_kv(tokens + output)


def _started(experiment: Experiment, seed: SeedSequence) -> Prompting | None:
    if experiment.prompts is None:
        return None
    block_tokens = experiment.caching.block_tokens if experiment.caching else 512
    return experiment.prompts.start(experiment.rate_rps, experiment.arrivals, block_tokens, seed)


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
