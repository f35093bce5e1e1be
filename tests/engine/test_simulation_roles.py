"""Instances that change their role as the work moves, and what it brings."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import SeedSequence

from planner.engine.arrivals import Recorded
from planner.engine.controller import bandwidth_aware, reallocation
from planner.engine.simulation import Choice, Decoding, Experiment, Prefill, report
from planner.engine.simulation.faults import Failures, Faults, Place
from planner.engine.simulation.layout import UP_PD_D, UP_PD_P
from planner.engine.simulation.run import Simulation, replicate
from planner.engine.throughput import evaluate
from tests.engine.case_study import homogeneous, prfaas_pd

SEED = 23
ROLES = reallocation(period_s=60.0, delay_s=30.0)
SWINGS = Recorded(1_800.0, [0.4, 1.6])


def drained(experiment):
    simulation = Simulation(experiment, SeedSequence(SEED, spawn_key=(0,)), record=True)
    for begin in range(0, experiment.requests, 5_000):
        assert simulation.arrive(min(5_000, experiment.requests - begin))
    simulation.drain()
    return simulation


def test_a_split_that_cannot_carry_the_load_becomes_one_that_can():
    """3 prefill and 9 decode instances carry 0.7 req/s; 9 and 3 carry 2.1."""
    wrong = homogeneous(n_p=3, n_d=9)
    rate_rps = 1.5
    assert evaluate(wrong).lambda_max_rps < rate_rps < evaluate(homogeneous(8, 4)).lambda_max_rps
    experiment = Experiment(wrong, rate_rps, requests=60_000, reallocation=ROLES)
    run = replicate(experiment, SEED)
    assert 3 <= run.conversions <= 7
    assert report(experiment, [run]).stable
    last = run.series[-1]
    assert 6 <= last["prefill"] / last["windows"] <= 9
    assert last["prefill"] + last["decode"] == pytest.approx(12 * last["windows"])
    fixed = replace(experiment, reallocation=None)
    assert not report(fixed, [replicate(fixed, SEED)]).stable


def test_a_split_that_carries_the_load_stays():
    experiment = Experiment(homogeneous(9, 3), 1.2, requests=60_000, reallocation=ROLES)
    assert replicate(experiment, SEED).conversions == 0


def test_one_role_at_a_time_keeps_no_fewer_than_it_must():
    rule = reallocation(period_s=20.0, delay_s=10.0, least_prefill=2, least_decode=3, high=0.5, room=0.5, patience=1)
    simulation = drained(Experiment(homogeneous(6, 5), 1.2, SWINGS, 20_000, reallocation=rule, warm_up=0.0))
    assert simulation.clock["conversions"] >= 2
    series = simulation.state.series
    there = series[series["windows"] > 0]
    assert np.all(there["prefill"] >= 2 * there["windows"])
    assert np.all(there["decode"] >= 3 * there["windows"] - 1e-9)
    # at most one is on its way
    assert np.all(there["prefill"] + there["decode"] >= 10 * there["windows"] - 1e-9)


HOWS = {
    "one queue": {},
    "shortest queue": {"prefill": Prefill(choice=Choice.SHORTEST_QUEUE)},
    "the same for all alike": {"prefill": Prefill(choice=Choice.PREFIX_AFFINE)},
    "in turns": {"prefill": Prefill(chunk_tokens=4_000)},
    "in turns of own queues": {"prefill": Prefill(choice=Choice.SHORTEST_QUEUE, chunk_tokens=4_000)},
    "in batches": {"prefill": Prefill(batch_tokens=40_000)},
    "by iteration": {"decoding": Decoding(iterations=True, memory_bytes=3e10)},
    "with faults": {"faults": Faults(failures=tuple(Failures(place, 900.0, 60.0) for place in Place))},
}


@pytest.mark.parametrize("how", HOWS)
def test_no_request_and_no_instance_is_lost_in_changing(how):
    rule = reallocation(period_s=20.0, delay_s=15.0, high=0.6, room=0.6, patience=1)
    experiment = Experiment(prfaas_pd(15e3, 4, 4), 1.8, SWINGS, 10_000, 0.0, 1.0, reallocation=rule, **HOWS[how])
    simulation = drained(experiment)
    clock, count = simulation.clock, simulation.state.places["count"]
    assert clock["conversions"] > 3
    assert clock["completed"] == clock["number"] == experiment.requests
    assert np.all(count[:UP_PD_P] == 0)
    if how != "with faults":
        on_the_way = clock["draining"] != 0
        assert count[UP_PD_P] + count[UP_PD_D] / 20 + on_the_way == 8
    assert simulation.state.sums["requests"].sum() == experiment.requests
    assert simulation.mark().areas.min() >= 0


def test_an_instance_serves_in_its_new_role_the_delay_after_it_is_empty():
    """All decode instances are idle: the first look that may, empties one at once."""
    rule = reallocation(period_s=50.0, delay_s=40.0, patience=2, high=0.9, room=0.9)
    experiment = Experiment(homogeneous(1, 11), 1.5, requests=2_000, reallocation=rule, window_s=10.0, warm_up=0.0)
    simulation = drained(replace(experiment, requests=400))
    series = simulation.state.series[: int(simulation.state.series["windows"].sum())]
    busy_from = np.flatnonzero(series["decode"] < 11)[0] * 10.0
    serves_from = np.flatnonzero(series["prefill"] > 1)[0] * 10.0
    assert busy_from in (90.0, 100.0, 140.0, 150.0)
    # decode instances are hardly ever quite empty, so it drains for as long as one request takes at most
    assert 30.0 <= serves_from - busy_from <= 40.0 + 1024 * 0.025 + 10.0


def test_the_best_threshold_of_each_split_is_taken_over():
    """Whenever no instance is on its way, t is that of as many prefill instances as there are."""
    best = (0.0, *[1_000.0 * n_p for n_p in range(1, 9)])
    rule = reallocation(period_s=20.0, delay_s=15.0, high=0.6, room=0.6, patience=1)
    experiment = Experiment(
        prfaas_pd(4_000.0, 4, 4), 1.8, SWINGS, 10_000, reallocation=rule, best_tokens=best, window_s=30.0
    )
    simulation = drained(experiment)
    assert simulation.clock["windows_a_bin"] == 1
    series = simulation.state.series
    settled = series[series["prefill"] + series["decode"] == 8]
    assert np.unique(settled["prefill"]).size > 1
    assert settled["threshold_tokens"].tolist() == [best[int(n_p)] for n_p in settled["prefill"]]


def test_where_the_threshold_moves_the_best_one_is_its_lower_bound():
    best = (0.0, *[1_000.0 * n_p for n_p in range(1, 9)])
    roles = reallocation(period_s=20.0, delay_s=15.0, high=0.6, room=0.6, patience=1)
    experiment = Experiment(
        prfaas_pd(4_000.0, 4, 4, bandwidth_bps=4e9),
        1.8,
        SWINGS,
        10_000,
        rule=bandwidth_aware(4_000, 40_000),
        reallocation=roles,
        best_tokens=best,
        window_s=5.0,
    )
    simulation = drained(experiment)
    least = simulation.clock["least_tokens"]
    assert least == best[int(simulation.state.places["count"][UP_PD_P])] or simulation.clock["draining"] != 0
    assert least <= simulation.clock["threshold_tokens"] <= 40_000
