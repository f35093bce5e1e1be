"""A threshold that was recorded, followed interval by interval; and those that wait, over time."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import SeedSequence

from planner.engine.controller import static
from planner.engine.simulation import Experiment, Track, report
from planner.engine.simulation.layout import LOCAL, REMOTE
from planner.engine.simulation.run import Simulation, replicate
from tests.engine.case_study import prfaas_pd

BASE = Experiment(prfaas_pd(), 1.8, requests=3000, warm_up=0.0)


def recorded(experiment):
    simulation = Simulation(experiment, SeedSequence(1, spawn_key=(0,)), record=True)
    assert simulation.arrive(experiment.requests)
    simulation.drain()
    return simulation.state.record


def test_requests_go_where_the_threshold_of_their_moment_sends_them():
    track = Track(60.0, (0.0, math.inf, 0.0))
    record = recorded(replace(BASE, track=track))
    interval = np.minimum(record["arrival_s"] // 60.0, 2)
    assert (record["route"][interval == 1] == LOCAL).all()
    assert (record["route"][interval != 1] == REMOTE).all()
    assert np.bincount(interval.astype(int)).min() > 50


def test_a_track_that_stands_still_is_the_static_threshold_bit_for_bit():
    still = replicate(replace(BASE, track=Track(10.0, (21_000.0, 21_000.0))), 3)
    static_t = replicate(replace(BASE, rule=static(21_000.0)), 3)
    assert (still.histograms == static_t.histograms).all()
    assert (still.sums == static_t.sums).all()
    assert (still.sent_bits == static_t.sent_bits).all()


def test_what_waits_over_time_is_what_the_mean_wait_says_by_littles_law():
    run = replicate(replace(BASE, rate_rps=2.4, requests=20_000), 1)
    sums, told = run.sums, report(BASE, [run]).series
    waited = sums["prefill_wait_s"].sum() + sums["tail_s"].sum() + sums["decode_wait_s"].sum()
    assert told.waiting.mean() == pytest.approx(waited / run.end_s, rel=0.1)
    assert (told.waiting <= told.in_system).all()


@pytest.mark.parametrize(
    ("interval_s", "tokens", "said"),
    [(0.0, (1.0,), "interval_s must be positive"), (1.0, (), "one value at least"), (1.0, (-1.0,), "none that is neg")],
)
def test_a_track_that_cannot_be_is_refused(interval_s, tokens, said):
    with pytest.raises(ValueError, match=said):
        Track(interval_s, tokens)
