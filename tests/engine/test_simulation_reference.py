"""The simulator request by request: against SimPy, against exact recursions, and against its own books."""

import subprocess
import sys
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import SeedSequence

from planner.engine.arrivals import Mmpp2
from planner.engine.controller import all_remote, bandwidth_aware, static
from planner.engine.lengths import Empirical
from planner.engine.simulation import Decoding, Experiment, Order, Path, Prefill, Transport, report
from planner.engine.simulation import run as running
from planner.engine.simulation.layout import (
    PD_D,
    PD_P,
    PRFAAS,
    SENDING,
    TAIL,
    UP_PD_D,
    UP_PD_P,
    UP_PRFAAS,
    WAIT_PD_D,
    WAIT_PD_P,
    WAIT_PRFAAS,
)
from planner.engine.simulation.replication import in_system
from planner.engine.simulation.requests import Requests
from planner.engine.simulation.run import Simulation, Stopped, replicate
from planner.engine.simulation.weather import Weather, Window
from planner.engine.throughput import evaluate
from tests.engine.case_study import DECODE, homogeneous, prfaas_pd
from tests.engine.queues import simulated_waits
from tests.engine.reference import System
from tests.engine.scenarios import agree, cached_experiments, columns, experiments
from tests.examples import examples

SEED = 20_260_429


def requests_of(experiment, seed=SEED):
    """The very requests that replication 0 meets."""
    return Requests(experiment, SeedSequence(seed, spawn_key=(0,))).next(experiment.requests)


# --- request by request ------------------------------------------------------------------------------------------


PLAIN = {
    "transport": st.just(Transport(2)),
    "prefill": st.just(Prefill()),
    "decoding": st.just(Decoding()),
    "faults": st.none(),
    "reallocation": st.none(),
}


def alone(what, experiments=experiments):
    """Experiments with one thing that varies, and nothing else that is new."""
    return experiments(**{name: each for name, each in PLAIN.items() if name != what})


@pytest.mark.parametrize("what", PLAIN)
@examples(25)
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_every_request_meets_what_it_meets_in_simpy(what, data, seed):
    agree(data.draw(alone(what)), seed)


@examples(40)
@given(experiments(), st.integers(0, 2**32))
def test_so_it_does_with_everything_that_can_be_switched(experiment, seed):
    agree(experiment, seed)


@examples(25)
@given(alone("caching", cached_experiments), st.integers(0, 2**32))
def test_so_it_does_with_prefix_caches(experiment, seed):
    agree(experiment, seed)


@examples(25)
@given(cached_experiments(), st.integers(0, 2**32))
def test_so_it_does_with_prefix_caches_and_everything(experiment, seed):
    agree(experiment, seed)


def test_the_threshold_moves_as_simpy_moves_it():
    rule = bandwidth_aware(8e3, 60e3, patience=2)
    experiment = Experiment(
        prfaas_pd(8e3),
        2.0,
        requests=600,
        warm_up=0.0,
        rule=rule,
        transport=Transport(paths=(Path(20e9, weather=Weather(windows=(Window(60, 120, 2e9),))),)),
    )
    system = System(experiment, SEED)
    expected = system.run()
    run = replicate(experiment, SEED, record=True)
    assert columns(run.record) == pytest.approx(expected, rel=1e-9)
    assert run.bin_s == experiment.window_s
    assert run.series["threshold_tokens"] == pytest.approx(system.control.thresholds[: run.series.size])
    assert max(system.control.thresholds) > 12e3
    assert system.control.thresholds[-1] < max(system.control.thresholds)


def test_a_queue_of_many_thousands_is_the_recursions():
    """More than there are slots at first, so that the arrays grow on the way."""
    experiment = Experiment(homogeneous(n_p=2, n_d=9), 3.0, requests=8_000, warm_up=0.0)
    batch = requests_of(experiment)
    record = replicate(experiment, SEED, record=True).record
    waits = simulated_waits(batch.arrival_s, batch.local_s, 2)
    assert record["begin_s"] - record["arrival_s"] == pytest.approx(waits, rel=1e-9, abs=1e-9)
    assert waits.max() > 1000


# --- books -------------------------------------------------------------------------------------------------------


def busy_way(**changes):
    parts = {
        "deployment": prfaas_pd(15e3, n_d=4, bandwidth_bps=12e9),
        "rate_rps": 2.4,
        "requests": 20_000,
        "warm_up": 0.0,
        "output_scv": 1.0,
        "transport": Transport(8, (Path(rtt_s=0.2),)),
    }
    return Experiment(**(parts | changes))


def drained(experiment):
    simulation = Simulation(experiment, SeedSequence(SEED, spawn_key=(0,)), record=True)
    assert simulation.arrive(experiment.requests)
    simulation.drain()
    return simulation


def is_empty(simulation, experiment):
    """Nobody is anywhere, nothing is still to come, and every instance is there and free."""
    state, up = simulation.state, experiment.instances
    max_batch = int(experiment.deployment.decode.max_batch)
    assert state.places["count"][:UP_PD_P].tolist() == [0] * UP_PD_P
    assert state.places["count"][[UP_PRFAAS, UP_PD_P, UP_PD_D]].tolist() == [up[0], up[1], up[2] * max_batch]
    heaps = (state.local, state.remote, state.waiting_local, state.waiting_remote, state.wakes, state.landing)
    assert not any(heap[0]["item"] for heap in (*heaps, state.decode, *state.flows))


@pytest.mark.parametrize("order", Order)
def test_littles_law_holds_at_every_stage(order):
    """The time integral of how many are there, kept event by event, is the sum of how long each was."""
    experiment = busy_way(prefill=Prefill(order))
    simulation = drained(experiment)
    record, areas = simulation.state.record, simulation.mark().areas
    away = record["route"] == 1
    spent = {
        WAIT_PD_P: (record["begin_s"] - record["arrival_s"])[~away],
        PD_P: (record["end_s"] - record["begin_s"])[~away],
        WAIT_PRFAAS: (record["begin_s"] - record["arrival_s"])[away],
        PRFAAS: (record["end_s"] - record["begin_s"])[away],
        TAIL: (record["landed_s"] - record["end_s"])[away],
        WAIT_PD_D: record["decode_s"] - record["landed_s"],
        PD_D: record["done_s"] - record["decode_s"],
    }
    for place, seconds in spent.items():
        assert seconds.sum() > 0
        assert areas[place] == pytest.approx(seconds.sum(), rel=1e-9)
    assert in_system(areas) == pytest.approx((record["done_s"] - record["arrival_s"]).sum(), rel=1e-9)


@pytest.mark.parametrize("chunks", [1, 8])
def test_no_work_and_no_byte_is_lost_or_made(chunks):
    experiment = busy_way(transport=Transport(chunks))
    simulation, batch = drained(experiment), requests_of(experiment)
    clock, areas = simulation.clock, simulation.mark().areas
    away = batch.tokens > 15e3
    bits = (batch.layers_bits + batch.state_bits)[away].sum()
    assert clock["completed"] == clock["number"] == experiment.requests
    assert clock["unfinished"] == 0
    assert clock["delivered_bits"] == pytest.approx(bits, rel=1e-12)
    assert simulation.mark().sent_bits.sum() == pytest.approx(bits, rel=1e-12)
    assert clock["completed_work_s"] == pytest.approx(
        batch.remote_s[away].sum() + batch.local_s[~away].sum(), rel=1e-12
    )
    assert areas[[PRFAAS, PD_P]].sum() == pytest.approx(clock["completed_work_s"], rel=1e-9)
    assert areas[PD_D] == pytest.approx(batch.output.sum() * DECODE.step_s, rel=1e-9)
    is_empty(simulation, experiment)


def test_the_link_is_never_faster_than_it_can_be_and_never_idle_with_work():
    experiment = busy_way(deployment=prfaas_pd(0.0, 0, 8, n_prfaas=6, bandwidth_bps=4e9), transport=Transport(1))
    simulation = drained(experiment)
    link = simulation.state.links[0]
    assert link["sent_bits"] <= link["possible_bits"] * (1 + 1e-12)
    record, batch = simulation.state.record, requests_of(experiment)
    # all of it is sent after the prefill, so the link is one queue of work: its busy periods do not depend on sharing
    order = np.argsort(record["end_s"], kind="stable")
    takes = (batch.layers_bits + batch.state_bits)[order] / 4e9
    ends = record["end_s"][order]
    last = simulated_waits(ends, takes, 1)[-1] + ends[-1] + takes[-1]
    assert record["landed_s"].max() == pytest.approx(last, rel=1e-9)


# --- the same again ----------------------------------------------------------------------------------------------


def same(a, b):
    """All but the record of every request."""
    return all(
        np.array_equal(getattr(a, field.name), getattr(b, field.name)) for field in fields(a) if field.name != "record"
    )


def test_the_same_seed_gives_the_same_bits_whatever_ran_before():
    experiment = busy_way(arrivals=Mmpp2((1.0, 3.0), (60.0, 20.0)))
    first = [replicate(experiment, 5, index) for index in (0, 1, 2)]
    again = [replicate(experiment, 5, index) for index in (2, 0, 1)]
    assert all(same(first[one.index], one) for one in again)
    assert not same(first[0], first[1])
    assert not same(first[0], replicate(experiment, 6, 0))


def test_requests_do_not_depend_on_the_policy_or_on_how_many_are_drawn_at_a_time():
    """What no route needs is left out, and nothing else differs."""
    one = busy_way(arrivals=Mmpp2((1.0, 3.0), (60.0, 20.0)))
    other = replace(one, rule=static(60e3), prefill=Prefill(Order.SHORTEST), deployment=prfaas_pd(15e3, n_d=7))
    whole, row = requests_of(one), Requests(other, SeedSequence(SEED, spawn_key=(0,)))
    parts = [row.next(count) for count in (1, 4095, 15_000, 904)]
    for name in ("arrival_s", "tokens", "output"):
        assert np.array_equal(getattr(whole, name), np.concatenate([getattr(part, name) for part in parts]))


def test_recording_changes_nothing():
    experiment = busy_way()
    assert same(replicate(experiment, 5), replicate(experiment, 5, record=True))


def test_progress_is_told_and_stopping_is_heard():
    told = []
    replicate(busy_way(), 5, on_progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 20_000
    with pytest.raises(Stopped):
        replicate(busy_way(), 5, should_stop=lambda: True)


def test_too_many_in_the_system_end_it_and_say_so(monkeypatch):
    monkeypatch.setattr(running, "MOST_SLOTS", 4096)
    run = replicate(Experiment(homogeneous(n_p=1), 3.0, requests=20_000), SEED)
    assert run.overflowed
    assert run.unfinished >= 4096
    assert run.growth_rps[WAIT_PD_P] == pytest.approx(3.0 - evaluate(homogeneous(n_p=1)).lambda_max_rps, rel=0.05)


def test_too_many_before_anything_counts_are_reported_all_the_same(monkeypatch):
    monkeypatch.setattr(running, "MOST_SLOTS", 1024)
    experiment = Experiment(homogeneous(n_p=1), 3.0, requests=20_000, warm_up=0.9)
    found = report(experiment, [replicate(experiment, SEED)])
    assert not found.stable
    assert found.ttft_s is None
    assert found.rate_rps.mean == pytest.approx(3.0, rel=0.1)


def test_of_equally_short_requests_the_first_is_served_first():
    """With one length only, the shortest first are the first come."""
    one = Experiment(replace(homogeneous(2, 9), lengths=Empirical([9_000.0])), 1.4, requests=2_000)
    fcfs, shortest = (replicate(replace(one, prefill=Prefill(order)), SEED, record=True).record for order in Order)
    assert (fcfs["begin_s"] - fcfs["arrival_s"]).max() > 10
    assert np.array_equal(fcfs, shortest)


def test_a_dead_link_leaves_requests_that_never_finish():
    experiment = Experiment(
        prfaas_pd(15e3),
        1.0,
        requests=500,
        rule=all_remote(),
        failover=False,
        transport=Transport(paths=(Path(weather=Weather(windows=(Window(50, 1e9),))),)),
    )
    run = replicate(experiment, SEED)
    assert 400 < run.unfinished < 500


def test_what_is_imported_for_forms_and_reports_is_without_numba():
    code = "import sys, planner.engine.simulation, planner.engine.controller; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_only_requests_that_prefill_or_have_just_done_so_are_sending():
    simulation = drained(busy_way())
    areas = simulation.mark().areas
    assert 0 < areas[SENDING] <= areas[PRFAAS] + areas[TAIL]
