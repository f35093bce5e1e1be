"""Instances that go down and come up: against the machine-repair model, by conservation, and with what takes over."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import SeedSequence
from scipy.special import comb

from planner.engine.controller import all_local, all_remote
from planner.engine.curves import LogLogCurve
from planner.engine.deployment import Decode, PdCluster
from planner.engine.lengths import Empirical
from planner.engine.simulation import Choice, Decoding, Experiment, Path, Prefill, Transport, report
from planner.engine.simulation.faults import Failures, Fault, Faults, Place, Spares, cluster_down
from planner.engine.simulation.layout import UP_PD_D, UP_PD_P, UP_PRFAAS
from planner.engine.simulation.run import Simulation, replicate
from planner.engine.simulation.weather import Weather, Window
from planner.engine.throughput import Stage
from tests.engine.case_study import homogeneous, prfaas_pd

SEED = 19
ALL_FAIL = Faults(failures=tuple(Failures(place, 300.0, 40.0) for place in Place))
HOWS = {
    "one by one": {},
    "shortest queue": {"prefill": Prefill(choice=Choice.SHORTEST_QUEUE)},
    "in turns": {"prefill": Prefill(chunk_tokens=4_000)},
    "in turns of own queues": {"prefill": Prefill(choice=Choice.SHORTEST_QUEUE, chunk_tokens=4_000)},
    "in batches": {"prefill": Prefill(batch_tokens=40_000)},
    "by iteration": {"decoding": Decoding(iterations=True, memory_bytes=3e10)},
    "without failover": {"failover": False},
}


def failing(faults=ALL_FAIL, **changes):
    parts = {"rate_rps": 1.6, "requests": 10_000, "warm_up": 0.0, "output_scv": 1.0, "faults": faults}
    return Experiment(prfaas_pd(15e3, n_d=4), **(parts | changes))


def drained(experiment):
    simulation = Simulation(experiment, SeedSequence(SEED, spawn_key=(0,)), record=True)
    for begin in range(0, experiment.requests, 5_000):
        assert simulation.arrive(min(5_000, experiment.requests - begin))
    simulation.drain()
    return simulation


@pytest.mark.parametrize("how", HOWS)
def test_no_request_is_lost_and_each_has_one_first_token(how):
    experiment = failing(**HOWS[how])
    simulation = drained(experiment)
    clock, record, sums = simulation.clock, simulation.state.record, simulation.state.sums
    assert clock["completed"] == clock["number"] == experiment.requests
    assert clock["restarts"] > 100
    assert sums["requests"].sum() == experiment.requests == simulation.state.histograms.sum()
    assert sums["ttft_s"].sum() == pytest.approx((record["first_s"] - record["arrival_s"]).sum(), rel=1e-9)
    times = [record[name] for name in ("arrival_s", "begin_s", "end_s", "landed_s", "decode_s", "done_s")]
    assert np.all(np.diff(times, axis=0) >= -1e-9)
    assert np.all(simulation.state.places["count"][:UP_PD_P] == 0)
    assert simulation.mark().areas.min() >= 0


@pytest.mark.parametrize("how", HOWS)
def test_instances_are_all_back_after_the_last_repair(how):
    """Planned faults end in the middle of the arrivals: everything is there again, and free for what comes."""
    planned = tuple(Fault(place, count, 500.0, 900.0) for place in Place for count in (1, 2))
    experiment = failing(Faults((*planned, cluster_down(Place.PD_P, 1_500.0, 1_560.0))), **HOWS[how])
    simulation = drained(experiment)
    n_prfaas, n_p, n_d = experiment.instances
    count = simulation.state.places["count"]
    assert (count[UP_PRFAAS], count[UP_PD_P], count[UP_PD_D]) == (n_prfaas, n_p, 20 * n_d)
    assert np.all(simulation.state.places["skipped"] == 0)
    assert np.all(simulation.state.prefillers["waiting"] == 0)
    assert simulation.state.prefillers["backlog_s"] == pytest.approx(0.0, abs=1e-6)
    assert simulation.clock["unfinished"] == 0


def test_as_many_are_up_as_the_repair_model_says():
    """Each by itself: mean_up / (mean_up + mean_down) of the instances of each place."""
    experiment = failing(requests=100_000)
    run = replicate(experiment, SEED)
    for place, count in ((UP_PRFAAS, 4), (UP_PD_P, 3), (UP_PD_D, 80)):
        assert run.mean_at[place] / count == pytest.approx(300 / 340, rel=0.02)


def one_server(rate_rps, mean_up_s, mean_down_s, **changes):
    """A decode instance for one request at a time, each for a second on average, that breaks down."""
    deployed = replace(
        homogeneous(),
        lengths=Empirical([1000.0]),
        pd=PdCluster(1000, 1, LogLogCurve([1.0, 2.0], [1e-9, 1e-9])),
        decode=Decode(1, 1e-7, 1e7),
    )
    faults = Faults(failures=(Failures(Place.PD_D, mean_up_s, mean_down_s),))
    return Experiment(deployed, rate_rps, output_scv=1.0, faults=faults, **({"requests": 200_000} | changes))


def test_a_server_that_breaks_down_waits_as_in_m_g_1_with_repeated_service():
    """M/M/1 with breakdowns that begin the same service anew: Avi-Itzhak and Naor (1963), model of lost work.

    A service that lasts x and fails at rate a is completed in C(x) with E[C] = (e^(ax) - 1)(1/a + R); the queue is
    full where rate · E[C] = 1. With exponential service of mean 1 the mean of e^(ax) is 1 / (1 - a).
    """
    up_s, down_s = 20.0, 2.0
    a = 1 / up_s
    mean_c = (1 / (1 - a) - 1) * (up_s + down_s)
    for load, stable in ((0.85, True), (1.2, False)):
        experiment = one_server(load / mean_c, up_s, down_s)
        found = report(experiment, [replicate(experiment, SEED, index) for index in range(3)])
        assert found.stable is stable
    # of the busy server, a share of the time is spent on what is lost again
    experiment = one_server(0.5 / mean_c, up_s, down_s)
    runs = [replicate(experiment, SEED, index) for index in range(6)]
    assert np.mean([run.restarts for run in runs]) / experiment.requests == pytest.approx(a / (1 - a), rel=0.03)


def test_a_hot_spare_shortens_an_outage_to_the_time_that_it_needs():
    """min(repair, ready) of exponential repairs: mean_down · (1 - e^(-ready / mean_down))."""
    ready_s, down_s, up_s = 10.0, 60.0, 600.0
    failures = (Failures(Place.PD_P, up_s, down_s),)
    bare, spared = (
        replicate(failing(Faults(failures=failures, spares=spares), requests=60_000), SEED)
        for spares in ((), (Spares(Place.PD_P, 3, ready_s),))
    )
    outage_s = down_s * (1 - np.exp(-ready_s / down_s))
    assert 1 - bare.mean_at[UP_PD_P] / 3 == pytest.approx(down_s / (up_s + down_s), rel=0.15)
    assert 1 - spared.mean_at[UP_PD_P] / 3 == pytest.approx(outage_s / (up_s + down_s), rel=0.15)
    assert spared.sums["ttft_s"].sum() < bare.sums["ttft_s"].sum()


def test_the_share_of_time_with_k_up_is_binomial():
    """By windows of the series: three independent instances of prefill."""
    experiment = failing(Faults(failures=(Failures(Place.PD_P, 300.0, 100.0),)), requests=400, rate_rps=0.002)
    experiment = replace(experiment, window_s=900.0)
    counted = [replicate(experiment, SEED, index).series for index in range(4)]
    each = np.concatenate([series["prefill"][series["windows"] == 1] for series in counted])
    shares = [np.mean(each == k) for k in range(4)]
    expected = [comb(3, k) * 0.75**k * 0.25 ** (3 - k) for k in range(4)]
    assert shares == pytest.approx(expected, abs=0.06)


def test_who_is_restarted_waits_for_the_whole_prefill_again():
    """One instance, one prompt at a time: the first of them is at half its work as it fails."""
    deployed = replace(homogeneous(1, 1), lengths=Empirical([32_768.0]))
    experiment = Experiment(
        deployed, 0.001, requests=1, warm_up=0.0, faults=Faults((Fault(Place.PD_P, 1, 0.0, 1e4),)), window_s=1e3
    )
    arrival_s = drained(experiment).state.record["arrival_s"][0]
    faults = Faults((Fault(Place.PD_P, 1, arrival_s + 2.0, arrival_s + 7.0),))
    record = drained(replace(experiment, faults=faults)).state.record[0]
    assert record["begin_s"] == pytest.approx(arrival_s + 7.0, rel=1e-9)
    assert record["end_s"] - record["begin_s"] == pytest.approx(4.958, rel=1e-9)


# --- failover ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("place", "rule", "other"), [(Place.PRFAAS, all_remote(), 0), (Place.PD_P, all_local(), 1)])
def test_a_cluster_that_is_down_is_stood_in_for(place, rule, other):
    down = Faults((cluster_down(place, 1_000.0, 2_000.0),))
    stays, goes = (
        drained(failing(down, rule=rule, failover=failover, requests=5_000, rate_rps=0.3)).state.record
        for failover in (False, True)
    )
    during = (goes["arrival_s"] > 1_000) & (goes["arrival_s"] < 2_000)
    assert np.all(goes["route"][during] == other)
    assert np.all(stays["route"] == 1 - other)
    # who was being prefilled there or waited for it as it went down came before
    assert np.all(goes["route"][~during & (goes["arrival_s"] > 2_000)] == 1 - other)
    waits = [(each["first_s"] - each["arrival_s"])[during].mean() for each in (stays, goes)]
    assert waits[1] < waits[0] / 10


def test_a_link_that_is_down_is_one_less_cluster():
    dead = Transport(paths=(Path(weather=Weather(windows=(Window(1_000.0, 2_000.0),))),))
    record = drained(failing(Faults(), transport=dead, rule=all_remote(), requests=5_000)).state.record
    during = (record["arrival_s"] > 1_000) & (record["arrival_s"] < 2_000)
    assert np.all(record["route"][during] == 0)
    assert np.all(record["route"][~during] == 1)


def test_who_goes_to_the_other_cluster_because_his_own_never_has_an_instance_is_prefilled_there_all_the_same():
    """A threshold that sends requests where nothing is: the other cluster takes them, in the time that it needs."""
    no_local = Experiment(prfaas_pd(15e3, n_p=0, n_prfaas=8), 0.5, requests=2_000, warm_up=0.0)
    no_link = Experiment(prfaas_pd(15e3, bandwidth_bps=0.0, n_p=9), 0.5, requests=2_000, warm_up=0.0)
    for experiment, route in ((no_local, 1), (no_link, 0)):
        record = drained(experiment).state.record
        assert np.all(record["route"] == route)
        assert (record["end_s"] - record["begin_s"]).min() > 0.1


def test_decode_that_is_down_for_a_while_holds_up_requests_and_loses_none():
    down = Faults((cluster_down(Place.PD_D, 1_000.0, 1_100.0),))
    run = replicate(failing(down, requests=5_000, rate_rps=0.5), SEED, record=True)
    assert run.unfinished == 0
    held = (run.record["landed_s"] > 1_000) & (run.record["landed_s"] < 1_100)
    assert held.sum() > 20
    assert np.all(run.record["decode_s"][held] >= 1_100)


def test_load_on_what_is_left_is_higher():
    """One of four PrfaaS instances down for good: the others have its work, and are as much busier."""
    down = Faults((Fault(Place.PRFAAS, 1, 0.0, 1e9),))
    whole, less = (failing(faults, requests=40_000) for faults in (Faults(), down))
    busy = [report(each, [replicate(each, SEED)]).utilisation[Stage.PRFAAS].mean for each in (whole, less)]
    assert busy[1] / busy[0] == pytest.approx(4 / 3, rel=0.01)
