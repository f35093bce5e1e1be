"""The cheapest purchase under a promise on TTFT: against every count tried, and against what it promises."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.engine import equal_cost, slo
from planner.engine.arrivals import Renewal
from planner.engine.cost import LinkRate
from planner.engine.latency import Circumstances, under_load
from planner.engine.least_cost import Bought, cheapest
from planner.engine.lengths import Empirical
from planner.engine.options import LinkOption, PdOption, PrfaasOption, Reserve, loads
from planner.engine.slo import Promise, cheapest_keeping
from planner.engine.throughput import evaluate
from tests.engine.case_study import DECODE, H20, H200
from tests.engine.test_equal_cost import space
from tests.examples import examples

STEADY = Circumstances()


def promised(given_space, bought, rate_rps, promise, around=STEADY):
    """The promised percentile of a purchase, evaluated by itself."""
    serving = replace(given_space, reserve=replace(given_space.reserve, utilisation=1.0))
    return promise.of(under_load(equal_cost.deployment(serving, bought), rate_rps, around))


@pytest.mark.parametrize(("ttft_s", "usd"), [(1e6, 120), (5.0, 144), (4.0, 160), (3.6, 200)])
def test_a_tighter_promise_costs_more(ttft_s, usd):
    promise = Promise(ttft_s)
    found = cheapest_keeping(space(), 3.0, promise, STEADY)
    assert found.usd_per_h == pytest.approx(usd)
    assert promised(space(), found.bought, 3.0, promise) <= ttft_s
    assert slo.ttft(space(), found.bought, 3.0, STEADY).p90 == pytest.approx(
        promised(space(), found.bought, 3.0, promise)
    )
    assert found.usd_per_h >= cheapest(space(), loads(space()), 3.0).usd_per_h - 1e-9


def test_a_promise_below_prefill_itself_cannot_be_kept():
    found = cheapest_keeping(space(), 3.0, Promise(3.0), STEADY)
    assert found.bought is None
    assert slo.least_percentile(space(), 3.0, 0.9, STEADY) == pytest.approx(3.55, abs=0.01)


@examples(3)
@given(
    st.floats(0.3, 1.2),
    st.floats(1.1, 4.0),
    st.sampled_from([0.5, 0.9, 0.99]),
    st.sampled_from([Reserve(), Reserve(0.8, 1, 0.2)]),
    st.sampled_from([0.0, 1e-12]),
)
def test_no_counts_that_keep_the_promise_are_cheaper(rate_rps, slack, share, reserve, usd_per_byte):
    given_space = space(
        prfaas=(PrfaasOption("h200", H200, 16.0, 4),),
        pd=(PdOption("h20", H20, DECODE, 8.0, 5),),
        links=(LinkOption("wan", 20e9, LinkRate(1.0, usd_per_byte)),),
        reserve=reserve,
    )
    least = slo.least_percentile(given_space, rate_rps, share, STEADY)
    promise = Promise(least * slack, share)
    found = cheapest_keeping(given_space, rate_rps, promise, STEADY)
    cheapest_tried = brute(given_space, rate_rps, promise)
    if found.bought is None:
        assert cheapest_tried == np.inf
        return
    assert found.usd_per_h <= cheapest_tried * (1 + 1e-9)
    assert promised(given_space, found.bought, rate_rps, promise) <= promise.ttft_s * (1 + 1e-9)


def brute(given_space, rate_rps, promise):
    """USD an hour of the cheapest of all counts at a few of the thresholds that the search begins with."""
    grid = np.unique(np.append(0.0, given_space.lengths.quantile(np.linspace(0.0, 1.0, slo.THRESHOLDS))))[::12]
    (pd,), most = given_space.pd, np.inf
    for t, n_r in itertools.product([*grid, np.inf], range(given_space.prfaas[0].most + 1)):
        for n_p, n_d in itertools.product(range(pd.most + 1), repeat=2):
            if n_p + n_d > pd.most or (n_r == 0) != (t == np.inf):
                continue
            away = None if t == np.inf else 0
            bought = Bought(away, away, 0, n_r, n_p, n_d, t)
            deployed = equal_cost.deployment(given_space, bought)
            limit = evaluate(deployed)
            usd = equal_cost.cost(given_space, bought, limit.egress_bps * rate_rps / max(limit.lambda_max_rps, 1e-9))
            cheaper = limit.lambda_max_rps > rate_rps and usd.usd_per_h < most
            if cheaper and promised(given_space, bought, rate_rps, promise) <= promise.ttft_s:
                most = usd.usd_per_h
    return most


def test_a_search_that_runs_out_of_time_says_what_it_may_have_missed():
    in_time = cheapest_keeping(space(), 3.0, Promise(5.0), STEADY)
    assert in_time.gap == 0
    assert in_time.tried > 0
    hurried = cheapest_keeping(space(), 3.0, Promise(5.0), STEADY, seconds=0.0)
    assert hurried.bought is None
    assert hurried.gap == np.inf
    assert hurried.at_least_usd_per_h <= in_time.usd_per_h


@examples(3)
@given(st.floats(0.02, 0.4))
def test_the_gap_covers_what_more_time_finds(seconds):
    best = cheapest_keeping(space(), 3.0, Promise(5.0), STEADY).usd_per_h
    found = cheapest_keeping(space(), 3.0, Promise(5.0), STEADY, seconds=seconds)
    assert found.at_least_usd_per_h <= best <= found.usd_per_h


def test_bursts_cost_instances():
    promise = Promise(5.0)
    steady = cheapest_keeping(space(), 3.0, promise, STEADY)
    bursty = cheapest_keeping(space(), 3.0, promise, Circumstances(Renewal(2.0)))
    assert bursty.usd_per_h > steady.usd_per_h


def test_progress_tells_the_least_cost_so_far():
    told = []
    cheapest_keeping(
        space(), 3.0, Promise(5.0), STEADY, lambda done, total, message: told.append((done, total, message))
    )
    assert told
    assert all(done < total for done, total, _ in told)
    assert "USD/h so far" in told[-1][2]


def test_among_few_lengths_the_longest_may_be_the_threshold_next_to_the_best():
    few = space(lengths=Empirical(np.array([2_000.0, 60_000.0]), [9, 1]))
    found = cheapest_keeping(few, 3.0, Promise(6.0), STEADY)
    assert found.bought.prfaas is not None
    assert promised(few, found.bought, 3.0, Promise(6.0)) <= 6.0
