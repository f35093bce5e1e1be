"""TTFT under load: against unloaded percentiles, closed forms, and a simulation of the whole way."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.engine import ttft
from planner.engine.arrivals import Mmpp2, Poisson, Renewal
from planner.engine.curves import LogLogCurve
from planner.engine.deployment import Decode
from planner.engine.latency import Circumstances, state_bytes, under_load
from planner.engine.throughput import Stage, evaluate
from tests.engine.case_study import DECODE, S_KV, homogeneous, naive, prfaas_pd
from tests.engine.queues import simulated_waits, steady
from tests.examples import examples

STEP_S = DECODE.step_s
BEST_T = 19_652.0


def simulated_ttft(deployment, rate_rps, count, seed=7, arrivals=None, rtt_s=0.0):
    """TTFT of requests in turn, event by event; layers are made evenly while a prefill runs, the state at its end."""
    rng = np.random.default_rng(seed)
    process = arrivals or Poisson()
    at = process.sample(count, rate_rps, rng)
    tokens = deployment.lengths.quantile(rng.random(count))
    remote = tokens > deployment.threshold_tokens
    done = np.empty(count)
    for chosen, t_prefill, servers in (
        (remote, deployment.prfaas and deployment.prfaas.t_prefill, deployment.prfaas and deployment.prfaas.instances),
        (~remote, deployment.pd.t_prefill, deployment.pd.prefill_instances),
    ):
        if chosen.any():
            prefill = t_prefill(tokens[chosen])
            begin = at[chosen] + simulated_waits(at[chosen], prefill, int(servers))
            done[chosen] = begin + prefill
            if chosen is remote:
                done[chosen] = _sent(deployment, begin, prefill, tokens[chosen]) + rtt_s / 2
    order = np.argsort(done, kind="stable")
    slots = int(deployment.pd.decode_instances * deployment.decode.max_batch)
    held = np.full(count, deployment.decode.output_tokens * deployment.decode.step_s)
    done[order] += simulated_waits(done[order], held, slots)
    return steady(done + STEP_S - at)


LAYERS = 32


def _sent(deployment, begin, prefill, tokens):
    """When the KVCache of each is across: the link sends layers in the order in which they are there."""
    state_s = 8 * state_bytes(deployment.s_kv) / deployment.link.usable_bps
    layer_s = (8 * deployment.s_kv(tokens) / deployment.link.usable_bps - state_s) / LAYERS
    there = begin[:, np.newaxis] + prefill[:, np.newaxis] * np.append(np.arange(1, LAYERS + 1), LAYERS) / LAYERS
    takes = np.column_stack([np.repeat(layer_s[:, np.newaxis], LAYERS, axis=1), np.full(begin.size, state_s)])
    order = np.argsort(there, axis=None, kind="stable")
    work = np.cumsum(takes.ravel()[order])
    across = np.empty(there.size)
    across[order] = work + np.maximum.accumulate(there.ravel()[order] - work + takes.ravel()[order])
    return across.reshape(there.shape).max(axis=1)


def measured(deployment, rate_rps, count=60_000, **how):
    seconds = simulated_ttft(deployment, rate_rps, count, **how)
    return np.array([seconds.mean(), *np.quantile(seconds, [0.5, 0.9, 0.99])])


def approximated(deployment, rate_rps, **how):
    found = under_load(deployment, rate_rps, Circumstances(**how))
    return np.array([found.mean, found.p50, found.p90, found.p99])


# --- nothing waits -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deployment", [homogeneous(), naive(), prfaas_pd(BEST_T)])
def test_without_load_it_is_prefill_the_transfers_tail_and_a_step(deployment):
    found = under_load(deployment, 1e-9)
    state_s = 0.0 if deployment.link is None else 8 * state_bytes(S_KV) / deployment.link.usable_bps
    unloaded = np.array(ttft.percentiles(deployment))
    assert np.all(np.array([found.p50, found.p90, found.p99]) - unloaded >= STEP_S - 1e-3 * unloaded)
    assert np.all(np.array([found.p50, found.p90, found.p99]) - unloaded <= STEP_S + state_s + 1e-2 * unloaded)
    mean = evaluate(deployment).ttft.mean
    assert mean + STEP_S - 1e-3 <= found.mean <= mean + STEP_S + state_s + 1e-3


def test_a_slow_link_is_what_a_request_waits_for():
    slow, fast = (under_load(naive_over(bps), 1e-9) for bps in (1e9, 1e12))
    assert slow.p50 > fast.p50 + 1.0
    lengths = naive().lengths
    median_s = 8 * float(S_KV(lengths.quantile(0.5))) / 1e9
    assert slow.p50 == pytest.approx(median_s + STEP_S, rel=0.02)  # the transfer outlasts the prefill


def naive_over(bps):
    deployed = naive()
    return replace(deployed, link=replace(deployed.link, usable_bps=bps))


def test_half_a_round_trip_is_added_to_what_goes_away():
    near, far = under_load(naive(), 0.1), under_load(naive(), 0.1, Circumstances(rtt_s=0.2))
    assert far.mean - near.mean == pytest.approx(0.1)
    assert under_load(homogeneous(), 0.1, Circumstances(rtt_s=0.2)).mean == under_load(homogeneous(), 0.1).mean


def test_the_state_is_the_part_that_does_not_grow():
    assert state_bytes(S_KV) / 2**20 == pytest.approx(163, abs=0.5)
    assert state_bytes(LogLogCurve([1000, 2000, 4000], [1e6, 2e6, 4e6])) == pytest.approx(0, abs=1)


# --- under load --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("deployment", "rate_rps", "within"),
    [
        # mean, P50, P90 and P99, with what the simulation itself scatters by: 2 % at 2.2, 6 % at 2.8 req/s
        (prfaas_pd(BEST_T), 1.5, 0.03),
        (prfaas_pd(BEST_T), 2.2, 0.05),
        (prfaas_pd(BEST_T), 2.8, 0.12),
        (homogeneous(), 1.5, 0.03),
        (naive(), 1.8, 0.05),
    ],
)
def test_a_simulation_finds_nearly_the_same(deployment, rate_rps, within):
    simulated = measured(deployment, rate_rps)
    assert approximated(deployment, rate_rps) == pytest.approx(simulated, rel=within)


def test_bursts_by_renewal_are_near_a_simulation():
    simulated = measured(prfaas_pd(BEST_T), 2.0, arrivals=Renewal(2.0))
    found = approximated(prfaas_pd(BEST_T), 2.0, arrivals=Renewal(2.0))
    assert found == pytest.approx(simulated, rel=0.12)
    assert np.all(found > approximated(prfaas_pd(BEST_T), 2.0))


def test_bursts_that_last_are_near_a_simulation():
    bursts = Mmpp2((1.0, 3.0), (600.0, 200.0))
    simulated = measured(prfaas_pd(BEST_T), 1.4, arrivals=bursts, count=150_000)
    assert approximated(prfaas_pd(BEST_T), 1.4, arrivals=bursts) == pytest.approx(simulated, rel=0.25)


@examples(25)
@given(st.floats(0.2, 2.9), st.floats(1.01, 1.3))
def test_more_requests_never_wait_less_and_more_instances_never_more(rate_rps, more):
    before = approximated(prfaas_pd(BEST_T), rate_rps)
    assert np.all(approximated(prfaas_pd(BEST_T), rate_rps * more) >= before * (1 - 1e-6))
    larger = prfaas_pd(BEST_T, n_p=4, n_d=6, n_prfaas=5)
    assert np.all(approximated(larger, rate_rps) <= before * (1 + 1e-6))


def test_beyond_capacity_the_time_has_no_end():
    assert under_load(prfaas_pd(BEST_T), 3.2).p90 == np.inf
    dead = under_load(naive_over(0.0), 0.1)
    assert dead.p50 == np.inf
    assert dead.mean == np.inf


def test_too_few_slots_make_requests_wait_for_decode():
    full = prfaas_pd(BEST_T, decode=Decode(max_batch=12, step_s=0.025, output_tokens=1024))
    waits = under_load(full, 2.25).waits_s
    assert waits[Stage.PD_D] > 10 * under_load(prfaas_pd(BEST_T), 2.25).waits_s[Stage.PD_D]
