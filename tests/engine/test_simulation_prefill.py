"""Prefill in queues of their own, in batches, in turns and by ageing: against queueing theory and by invariants."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import SeedSequence

from planner.engine.curves import LogLogCurve
from planner.engine.deployment import Decode, PdCluster
from planner.engine.lengths import Empirical, TruncatedLogNormal
from planner.engine.simulation import Choice, Experiment, Order, Prefill, report
from planner.engine.simulation.requests import Requests
from planner.engine.simulation.run import replicate
from planner.engine.throughput import Stage
from tests.engine.case_study import homogeneous, prfaas_pd
from tests.engine.queues import mean_wait_md, simulated_waits

SEED = 13
NO_TIME = Decode(10_000, 1e-9, 1.0)
LENGTHS = TruncatedLogNormal(8.0, 1.0, 128, 65_536)
PER_TOKEN = LogLogCurve([100.0, 1000.0], [0.01, 0.1])
CONSTANT = LogLogCurve([100.0, 1_000_000.0], [1.0, 1.0 + 1e-12])


def prefill_alone(rate_rps, instances=1, times=PER_TOKEN, lengths=LENGTHS, **changes):
    """Requests whose prefill takes a time in proportion to their length, and nothing else takes any."""
    deployed = replace(homogeneous(), lengths=lengths, pd=PdCluster(instances, 1, times), decode=NO_TIME)
    return Experiment(deployed, rate_rps, **({"warm_up": 0.0, "requests": 20_000} | changes))


def record_of(experiment):
    return replicate(experiment, SEED, record=True).record


def wait_s(experiment, replications=6):
    runs = [replicate(experiment, SEED, index) for index in range(replications)]
    return report(experiment, runs).waits[Stage.PD_P].mean_s


def mean_service_s():
    return float(LENGTHS.partial_expectations([lambda length: 1e-4 * length], np.inf)[0][0])


def test_one_instance_is_one_queue_whoever_chooses():
    """With a single instance there is nothing to choose."""
    rate = 0.8 / mean_service_s()
    shared, own, alike = (record_of(prefill_alone(rate, prefill=Prefill(choice=choice))) for choice in Choice)
    assert (shared["begin_s"] - shared["arrival_s"]).max() > 5
    assert np.array_equal(shared, own)
    assert np.array_equal(shared, alike)


def test_who_takes_the_queue_with_the_least_work_waits_as_in_one_queue():
    """Of those that come in turn, each begins where it is first: the recursion of Kiefer and Wolfowitz (1955)."""
    experiment = prefill_alone(4 * 0.8 / mean_service_s(), 4)
    shared, own = (
        record_of(replace(experiment, prefill=Prefill(choice=choice)))
        for choice in (Choice.SHARED, Choice.SHORTEST_QUEUE)
    )
    waits = simulated_waits(shared["arrival_s"], 1e-4 * lengths_of(experiment), 4)
    assert waits.max() > 2
    assert own["begin_s"] - own["arrival_s"] == pytest.approx(waits, abs=1e-6)
    assert shared["begin_s"] - shared["arrival_s"] == pytest.approx(waits, abs=1e-6)


def test_by_chance_each_instance_is_an_m_g_1_queue():
    """Without caches nobody begins alike, so each request draws its instance: rate · E[S²] / 2(1 - rho) of each."""
    powers = [lambda length: 1e-4 * length, lambda length: (1e-4 * length) ** 2]
    first, second = LENGTHS.partial_expectations(powers, np.inf)[0]
    rate = 0.7 / first
    found = wait_s(prefill_alone(4 * rate, 4, requests=300_000, prefill=Prefill(choice=Choice.PREFIX_AFFINE)))
    assert found.mean == pytest.approx(rate * second / 2 / 0.3, rel=0.05)


@pytest.mark.parametrize("batch", [2, 8])
def test_batches_serve_as_many_times_the_load_of_one_by_one(batch):
    """In as much time as one, whatever their number: a server of batches carries `batch` times the rate."""
    lengths = Empirical([1000.0])
    how = Prefill(batch_tokens=1000 * batch)
    experiment = prefill_alone(0.9 * batch, 1, CONSTANT, lengths, prefill=how, requests=50_000)
    record = record_of(experiment)
    begins, counts = np.unique(record["begin_s"], return_counts=True)
    assert counts.max() == batch
    assert np.all(np.diff(begins) > 1 - 1e-6)
    waits = record["begin_s"] - record["arrival_s"]
    # it waits at least as in M/D/1 of that load in batches that are always full, less their filling, and at most as if
    # whoever comes waited for a full batch to gather as well
    full = mean_wait_md(1, 0.9)
    assert waits.mean() < full + (batch - 1) / (2 * 0.9 * batch)
    assert waits.mean() > full / batch


def test_a_batch_takes_the_time_of_all_its_tokens():
    experiment = prefill_alone(0.9 / mean_service_s(), prefill=Prefill(batch_tokens=20_000))
    record, tokens = record_of(experiment), lengths_of(experiment)
    for begin in np.unique(record["begin_s"])[:2_000]:
        mine = record["begin_s"] == begin
        together = np.ceil(tokens[mine]).sum() if mine.sum() > 1 else tokens[mine].sum()
        assert mine.sum() == 1 or together <= 20_000
        assert record["end_s"][mine] == pytest.approx(begin + 1e-4 * together, rel=1e-9)


def lengths_of(experiment):
    return Requests(experiment, SeedSequence(SEED, spawn_key=(0,))).next(experiment.requests).tokens


def test_batches_that_cross_the_link_lose_none():
    experiment = Experiment(
        prfaas_pd(0.0, 0, 8, n_prfaas=2), 2.2, requests=5_000, warm_up=0.0, prefill=Prefill(batch_tokens=60_000)
    )
    run = replicate(experiment, SEED, record=True)
    assert run.unfinished == 0
    assert np.unique(run.record["begin_s"]).size < 4_500
    assert np.all(run.record["landed_s"] >= run.record["end_s"])


@pytest.mark.parametrize("instances", [1, 3])
def test_in_turns_no_work_is_lost_and_an_instance_is_busy_as_long_as_anybody_waits(instances):
    """Turns change who is first, not what there is to be done: of one instance the busy periods are the same."""
    rate = instances * 0.8 / mean_service_s()
    whole, turns = (
        record_of(prefill_alone(rate, instances, prefill=Prefill(chunk_tokens=chunk))) for chunk in (0, 700)
    )
    if instances == 1:
        assert turns["end_s"].max() == pytest.approx(whole["end_s"].max(), rel=1e-9)
    tokens = lengths_of(prefill_alone(rate, instances))
    assert np.all(turns["end_s"] - turns["begin_s"] >= 1e-4 * tokens - 1e-9)


def test_small_turns_are_processor_sharing():
    """The mean time of a request of size x is x / (1 - rho), whatever the distribution."""
    rate = 0.7 / mean_service_s()
    experiment = prefill_alone(rate, requests=60_000, prefill=Prefill(chunk_tokens=20), warm_up=0.0)
    slowed = []
    for index in range(4):
        record = replicate(experiment, SEED, index, record=True).record
        slowed.append((record["end_s"] - record["arrival_s"]).mean() / mean_service_s())
    assert np.mean(slowed) == pytest.approx(1 / 0.3, rel=0.06)


def test_ageing_lies_between_the_shortest_first_and_first_come_first_served():
    rate = 0.9 / mean_service_s()
    orders = (Prefill(), Prefill(Order.SHORTEST, 1e6), Prefill(Order.SHORTEST, 0.02), Prefill(Order.SHORTEST))
    fcfs, aged, between, shortest = (record_of(prefill_alone(rate, prefill=how)) for how in orders)
    waits = [(each["begin_s"] - each["arrival_s"]) for each in (fcfs, aged, between, shortest)]
    # so large an ageing is the order of arrival, but for those that come within the same moment
    assert waits[1].mean() == pytest.approx(waits[0].mean(), rel=1e-3)
    assert waits[3].mean() < waits[2].mean() < waits[0].mean()
    assert waits[0].max() < waits[2].max() < waits[3].max()


def test_shortest_first_keeps_cobhams_law():
    """Non-preemptive, shortest first (Phipps 1956): mean wait = ∫ rate · E[S²]/2 / (1 - rho(x))² dF(x)."""
    rate = 0.7 / mean_service_s()
    grid = np.asarray(LENGTHS.quantile((np.arange(20_000) + 0.5) / 20_000))
    service = 1e-4 * grid
    second = np.mean(service**2)
    below = rate * np.cumsum(service) / grid.size
    expected = np.mean(rate * second / 2 / (1 - below) ** 2)
    found = wait_s(prefill_alone(rate, requests=200_000, prefill=Prefill(Order.SHORTEST)))
    assert found.mean == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Prefill(ageing=-1.0), "ageing"),
        (lambda: Prefill(batch_tokens=-1), "batch_tokens"),
        (lambda: Prefill(Order.SHORTEST, choice=Choice.SHORTEST_QUEUE), "one queue"),
        (lambda: Prefill(Order.SHORTEST, chunk_tokens=100), "takes turns"),
        (lambda: Prefill(batch_tokens=100, chunk_tokens=100), "takes turns"),
    ],
)
def test_what_cannot_be_had_together_is_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()
