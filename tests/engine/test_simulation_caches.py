"""Prefix caches at work: against sets of what was seen, against no cache at all, and by conservation."""

from dataclasses import fields, replace

import numpy as np
import pytest
from numpy.random import SeedSequence

from planner.engine.controller import static
from planner.engine.sessions import agents, chat
from planner.engine.simulation import (
    CacheRouting,
    Caching,
    Choice,
    Decoding,
    Experiment,
    Path,
    Prefill,
    Transport,
    prefix_cache,
)
from planner.engine.simulation.faults import Failures, Faults, Place
from planner.engine.simulation.requests import Requests
from planner.engine.simulation.run import Simulation, replicate
from tests.engine.case_study import homogeneous, prfaas_pd
from tests.engine.compiling import from_python
from tests.engine.prompts import Tree

used_bytes = from_python(prefix_cache.used_bytes)
SEED = 29
BLOCK = 512
LARGE = 1e13


def caching(pd_bytes=LARGE, prfaas_bytes=LARGE, **changes):
    return Caching(pd_bytes, prfaas_bytes, **({"block_tokens": BLOCK} | changes))


def cached(how, deployment=None, rate_rps=1.0, **changes):
    parts = {"prompts": chat(), "requests": 4_000, "warm_up": 0.0, "caching": how}
    return Experiment(deployment or prfaas_pd(4e3), rate_rps, **(parts | changes))


def drained(experiment):
    simulation = Simulation(experiment, SeedSequence(SEED, spawn_key=(0,)), record=True)
    for begin in range(0, experiment.requests, 4_000):
        assert simulation.arrive(min(4_000, experiment.requests - begin))
    simulation.drain()
    return simulation


def requests_of(experiment):
    return Requests(experiment, SeedSequence(SEED, spawn_key=(0,))).next(experiment.requests)


def names(batch, k, count):
    return [int(batch.system[k] if block < batch.shared[k] else batch.chain[k]) + block for block in range(count)]


@pytest.mark.parametrize("sessions", [chat(), agents()])
def test_without_overlap_a_large_pool_spares_each_request_the_longest_beginning_that_was_ever_seen(sessions):
    """Requests so far apart that each is done before the next: whole blocks with a state behind them, by a set."""
    slow = replace(sessions, think_s=1e9)
    experiment = cached(caching(), homogeneous(60, 40), 1e-7, prompts=slow, requests=2_000, window_s=1e5)
    batch, seen, spared = requests_of(experiment), set(), 0
    for k in range(experiment.requests):
        blocks = names(batch, k, int(batch.blocks_after[k]))
        mine = blocks[: batch.blocks[k]]
        # a recurrent state is there only where a prompt or an answer ended
        usable = [count for count in range(1, len(mine) + 1) if ("state", mine[count - 1]) in seen]
        spared += min(max(usable, default=0) * BLOCK, int(batch.tokens[k]))
        for end in (len(mine), len(blocks)):
            if end:
                seen.add(("state", blocks[end - 1]))
    sums = drained(experiment).state.sums
    assert sums["cached_tokens"].sum() == spared
    assert sums["prompt_tokens"].sum() == batch.tokens.sum()
    assert spared > 0.05 * batch.tokens.sum()


def test_empty_pools_are_no_cache_at_all():
    none = cached(None, output_scv=0.0)
    empty = replace(none, caching=caching(0.0, 0.0, routing=CacheRouting.BEST))
    one, other = (drained(each).state.record for each in (none, empty))
    for name in one.dtype.names:
        assert other[name] == pytest.approx(one[name], rel=1e-9, abs=1e-9)


def test_more_memory_spares_more_and_makes_ttft_shorter():
    found = []
    for size in (0.0, 2e10, 1e11, 1e13):
        run = replicate(cached(caching(size, size), requests=10_000, rate_rps=2.0), SEED)
        found.append((run.sums["cached_tokens"].sum(), -run.sums["ttft_s"].sum()))
    assert found == sorted(found)
    assert found[0][0] == 0 < found[1][0] < found[3][0]


@pytest.mark.parametrize("routing", CacheRouting)
@pytest.mark.parametrize("copies", [False, True])
def test_nothing_is_lost_whichever_cache_is_judged_by(routing, copies):
    faults = Faults(failures=tuple(Failures(place, 400.0, 40.0) for place in Place))
    experiment = cached(
        caching(5e10, 5e10, routing=routing, copies=copies, state_every=4),
        rate_rps=2.0,
        faults=faults,
        transport=Transport(8, (Path(60e9, rtt_s=0.1), Path(40e9, rtt_s=0.02))),
        decoding=Decoding(iterations=True),
    )
    simulation = drained(experiment)
    clock, state = simulation.clock, simulation.state
    assert clock["completed"] == clock["number"] == experiment.requests
    assert clock["restarts"] > 20
    assert np.all(state.places["count"][:9] == 0)
    assert simulation.mark().areas.min() >= 0
    judged_by_both = routing in (CacheRouting.BEST, CacheRouting.BY_BANDWIDTH)
    assert (clock["copied_bits"] > 0) == (copies and judged_by_both)
    for pool in (state.local_pool, state.remote_pool):
        assert pool.head[0]["transfer_bytes"] == pytest.approx(0.0, abs=1.0)
        assert used_bytes(pool) <= 5e10
    sent = state.links["sent_bits"].sum()
    # what was called off had been sent in part
    assert sent >= (clock["delivered_bits"] + clock["copied_bits"]) * (1 - 1e-9)
    assert np.all(state.sums["cached_tokens"] <= state.sums["prompt_tokens"])


def test_without_faults_links_carry_what_is_delivered_and_copied_and_no_more():
    simulation = drained(cached(caching(routing=CacheRouting.BEST), rate_rps=2.0))
    clock, links = simulation.clock, simulation.state.links
    assert clock["copied_bits"] > 0
    assert links["sent_bits"].sum() == pytest.approx(clock["delivered_bits"] + clock["copied_bits"], rel=1e-9)
    assert links["sent_bits"][1] > 0


def test_a_cache_sends_less_across():
    """Only the increment crosses, where PD has kept what it has received."""
    with_cache, without = (
        replicate(cached(caching(size, size), rule=static(0.0), requests=8_000), SEED) for size in (LARGE, 0.0)
    )
    assert with_cache.sent_bits.sum() < 0.8 * without.sent_bits.sum()


def test_the_pd_clusters_own_cache_sends_fewer_away_than_length_does():
    by_length, own = (
        replicate(cached(caching(routing=routing), rule=static(4e3)), SEED)
        for routing in (CacheRouting.LENGTH, CacheRouting.OWN)
    )
    assert own.sums["requests"][1] < by_length.sums["requests"][1]


def test_of_those_that_begin_alike_one_instance_takes_all():
    """So no two of them are prefilled at a time, though the others' instances are free."""
    tree = Tree(2_000, 6, 5, BLOCK, 1)
    how = Prefill(choice=Choice.PREFIX_AFFINE)
    experiment = cached(caching(0.0, 0.0), homogeneous(8, 40), 3.0, prompts=tree, requests=2_000, prefill=how)
    record, batch = drained(experiment).state.record, requests_of(experiment)
    first = tree.named_blocks[batch.chain]
    groups = {name: np.flatnonzero((first == name) & (batch.blocks > 0)) for name in np.unique(first)}
    for mine in groups.values():
        order = mine[np.argsort(record["begin_s"][mine])]
        assert np.all(record["begin_s"][order][1:] >= record["end_s"][order][:-1] - 1e-9)
    overlapping = np.sort(record["begin_s"])[1:] < np.sort(record["end_s"])[:-1]
    assert overlapping.mean() > 0.1


# --- the same again ----------------------------------------------------------------------------------------------


def whole_of_it(**changes):
    """Everything at once."""
    parts = {
        "rate_rps": 2.0,
        "prefill": Prefill(chunk_tokens=4_000),
        "decoding": Decoding(iterations=True, base_s=0.02, request_s=1e-4, token_s=1e-9, memory_bytes=1e12),
        "transport": Transport(8, (Path(60e9, rtt_s=0.1), Path(40e9, rtt_s=0.02))),
        "faults": Faults(failures=tuple(Failures(place, 2_000.0, 40.0) for place in Place)),
    }
    return cached(caching(5e10, 5e10, state_every=4), **(parts | changes))


def test_the_same_seed_gives_the_same_bits_with_everything_on():
    first, again = (replicate(whole_of_it(), SEED, 3) for _ in range(2))
    for each in fields(first):
        assert np.array_equal(getattr(first, each.name), getattr(again, each.name))
    assert replicate(whole_of_it(), SEED, 4).sums["ttft_s"].sum() != first.sums["ttft_s"].sum()


def test_memory_does_not_grow_with_the_requests_whatever_is_on():
    """Arrays of the state are as large after ten times as many."""
    sizes = []
    for count in (4_000, 40_000):
        simulation = Simulation(whole_of_it(requests=count), SeedSequence(SEED, spawn_key=(0,)))
        for _ in range(count // 4_000):
            assert simulation.arrive(4_000)
        arrays = [each for part in simulation.state for each in (part if isinstance(part, tuple) else (part,))]
        sizes.append(sum(array.nbytes for array in arrays))
    assert sizes[0] == sizes[1]
