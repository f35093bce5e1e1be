"""Decode by iteration and by memory, against closed forms, exact recursions, and decode by request."""

from dataclasses import replace

import numpy as np
import pytest

from planner.engine.curves import LogLogCurve
from planner.engine.deployment import Decode, PdCluster
from planner.engine.lengths import Empirical
from planner.engine.simulation import Decoding, Experiment, report
from planner.engine.simulation.run import replicate
from planner.engine.throughput import Stage
from tests.engine.case_study import homogeneous, prfaas_pd

SEED = 11
NO_TIME = LogLogCurve([1.0, 2.0], [1e-9, 1e-9])
STEP_S = 0.025


def decoding_alone(rate_rps, n_d=1, max_batch=8, tokens=100.0, **changes):
    """Requests that are prefilled at once, all with prompts of 1,000 tokens."""
    deployed = replace(
        homogeneous(),
        lengths=Empirical([1000.0]),
        pd=PdCluster(1000, n_d, NO_TIME),
        decode=Decode(max_batch, STEP_S, tokens),
    )
    return Experiment(deployed, rate_rps, **({"warm_up": 0.0} | changes))


def record_of(experiment):
    return replicate(experiment, SEED, record=True).record


@pytest.mark.parametrize("rate_rps", [0.5, 5.0])
def test_by_iteration_nobody_waits_longer_than_a_step_where_there_is_room_for_all(rate_rps):
    """Who comes waits for the end of the step that is under way, and steps as often as by request."""
    by_request = decoding_alone(rate_rps, max_batch=200, output_scv=0.5, requests=2_000)
    one, other = record_of(by_request), record_of(replace(by_request, decoding=Decoding(iterations=True)))
    late = other["decode_s"] - one["decode_s"]
    assert np.all((late > -1e-9) & (late < STEP_S))
    steps = (other["done_s"] - other["decode_s"]) / STEP_S
    assert steps == pytest.approx(np.rint(steps), abs=1e-6)
    assert np.rint(steps) == pytest.approx((one["done_s"] - one["decode_s"]) / STEP_S, abs=0.5 + 1e-6)


def test_a_request_that_comes_to_an_idle_instance_steps_at_once():
    lonely = decoding_alone(0.01, requests=200, decoding=Decoding(iterations=True))
    record = record_of(lonely)
    idle = record["arrival_s"][1:] > record["done_s"][:-1]
    assert idle.sum() > 100
    assert record["decode_s"][1:][idle] == pytest.approx(record["landed_s"][1:][idle], abs=1e-12)


def test_the_wait_for_a_step_is_half_a_step_on_average():
    """Of an instance that is hardly ever idle, at whose steps Poisson arrivals look at random."""
    found = record_of(decoding_alone(6.0, max_batch=200, requests=50_000, decoding=Decoding(iterations=True)))
    waits = found["decode_s"] - found["landed_s"]
    assert waits[5_000:].mean() == pytest.approx(STEP_S / 2, rel=0.02)


@pytest.mark.parametrize("batch", [1, 7, 32])
def test_a_full_batch_has_the_step_time_of_its_size(batch):
    """TPOT = base + request · batch, and the context's part grows by the tokens that all say."""
    base_s, request_s, tokens = 0.01, 0.002, 200
    full = decoding_alone(
        1e5,
        max_batch=batch,
        tokens=float(tokens),
        requests=200 * batch,
        window_s=1.0,
        decoding=Decoding(iterations=True, base_s=base_s, request_s=request_s),
    )
    record = np.sort(record_of(full), order="decode_s")[5 * batch : -2 * batch]
    tpot = (record["done_s"] - record["first_s"]) / (tokens - 1)
    assert tpot == pytest.approx(base_s + request_s * batch, rel=1e-9)


def test_steps_take_longer_as_contexts_grow():
    """Alone, with a prompt of P tokens: the k-th step takes base + request + token · (P + k - 1)."""
    base_s, request_s, token_s, tokens = 0.01, 0.002, 1e-5, 300
    alone = decoding_alone(0.01, tokens=float(tokens), requests=50, decoding=Decoding(True, base_s, request_s, token_s))
    record = record_of(alone)
    alone_s = tokens * (base_s + request_s + token_s * 1000) + token_s * tokens * (tokens - 1) / 2
    isolated = record["decode_s"] == record["landed_s"]
    isolated &= np.append(record["done_s"][:-1] < record["landed_s"][1:], True)
    assert isolated.sum() > 20
    assert (record["done_s"] - record["decode_s"])[isolated] == pytest.approx(alone_s, rel=1e-9)
    assert (record["first_s"] - record["decode_s"])[isolated] == pytest.approx(0.01 + 0.002 + 1e-5 * 1000, rel=1e-9)


def test_the_mean_time_between_tokens_is_counted_as_the_records_have_it():
    experiment = decoding_alone(
        7.0, n_d=2, max_batch=16, requests=20_000, decoding=Decoding(True, 0.01, 0.001, 1e-7), output_scv=1.0
    )
    run = replicate(experiment, SEED, record=True)
    record = run.record
    spoken = run.sums["spoken"].sum()
    assert 0.9 * 20_000 < spoken <= 20_000
    assert run.tpot.sum() == spoken
    mean_s = run.sums["tpot_s"].sum() / spoken
    least_s, most_s = 0.01 + 0.001, 0.01 + 0.001 * 16 + 1e-7 * 16 * 5_000
    assert least_s < mean_s < most_s
    assert run.sums["ttft_s"].sum() == pytest.approx((record["first_s"] - record["arrival_s"]).sum(), rel=1e-9)


def test_the_steps_batch_is_that_of_the_load():
    """Little: rate · tokens · TPOT requests step at a time, and TPOT = base + request · batch."""
    rate_rps, tokens, base_s, request_s = 4.0, 400.0, 0.01, 2e-4
    experiment = decoding_alone(
        rate_rps,
        max_batch=1000,
        tokens=tokens,
        requests=40_000,
        decoding=Decoding(True, base_s, request_s),
        warm_up=0.1,
    )
    found = report(experiment, [replicate(experiment, SEED, index) for index in range(4)])
    load = rate_rps * tokens
    batch = load * base_s / (1 - load * request_s)
    busy = found.utilisation[Stage.PD_D].mean * 1000
    # the batch that a request is in is larger than the mean by itself: about one in fifty here
    assert busy == pytest.approx(batch, rel=0.06)


def test_memory_holds_up_a_request_that_a_batch_has_room_for():
    """With memory for k of equal requests, it is a batch of k."""
    sizes = prfaas_pd().s_kv(np.array([1100.0]))[0]
    wide = decoding_alone(
        2.0, max_batch=50, requests=5_000, decoding=Decoding(memory_bytes=4.5 * sizes), output_scv=0.0
    )
    narrow = decoding_alone(2.0, max_batch=4, requests=5_000)
    one, other = record_of(wide), record_of(narrow)
    assert (other["decode_s"] - other["landed_s"]).max() > 1.0
    assert np.array_equal(one, other)


def test_a_request_too_large_for_any_memory_is_served_alone():
    tight = decoding_alone(0.1, max_batch=50, requests=300, decoding=Decoding(memory_bytes=1.0))
    alone = decoding_alone(0.1, max_batch=1, requests=300)
    assert np.array_equal(record_of(tight), record_of(alone))


def test_instances_fill_evenly():
    """Requests join the instance with the fewest, so that batch and step time are those of an n-th of the load."""
    whole = decoding_alone(3.0, n_d=1, max_batch=400, requests=30_000, decoding=Decoding(True, 0.01, 1e-4))
    three = decoding_alone(9.0, n_d=3, max_batch=400, requests=90_000, decoding=Decoding(True, 0.01, 1e-4))
    tpots = []
    for each in (whole, three):
        run = replicate(each, SEED)
        tpots.append(run.sums["tpot_s"].sum() / run.sums["spoken"].sum())
    assert tpots[1] == pytest.approx(tpots[0], rel=0.01)
