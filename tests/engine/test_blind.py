"""Routing that knows no lengths: against what each stage brings by hand, all on one side, and every share tried."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.engine import sweep
from planner.engine.blind import best_remote_share
from planner.engine.curves import LogLogCurve
from planner.engine.deployment import Decode, PdCluster, PrfaasCluster
from planner.engine.latency import under_load
from planner.engine.lengths import Empirical
from planner.engine.search import MapAxes, Problem, best, solve
from planner.engine.throughput import Form, Stage, evaluate
from tests.engine.case_study import DECODE, H20, H200, homogeneous, prfaas_pd
from tests.examples import examples

MEAN = 27_486.0
"""Of the case study's lengths, in tokens."""
ENDLESS = Decode(1e9, 0.025, 1024)


def blind(share, *args, **changes):
    return prfaas_pd(math.inf, *args, remote_share=share, **changes)


def proportional(seconds_per_token):
    return LogLogCurve([1.0, 1e6], [seconds_per_token, seconds_per_token * 1e6])


def carried(deployment, share, form=Form.EXACT):
    return evaluate(replace(deployment, remote_share=share), form).lambda_max_rps


# --- a share that is given ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize("changes", [{}, {"bandwidth_bps": 6e9}, {"prfaas": PrfaasCluster(4, H200, 1e9)}])
@pytest.mark.parametrize(("share", "threshold"), [(0.0, math.inf), (1.0, 0.0)])
def test_with_all_on_one_side_it_is_the_policy_that_sends_all_there(share, threshold, changes, form):
    # NaN is not equal to itself, and is written alike
    assert repr(evaluate(blind(share, **changes), form)) == repr(evaluate(prfaas_pd(threshold, **changes), form))


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_so_it_is_with_ttft_under_load(share):
    assert under_load(blind(share), 1.2) == under_load(prfaas_pd(0.0 if share else math.inf), 1.2)


@pytest.mark.parametrize("form", Form)
def test_each_stage_saturates_at_its_capacity_over_its_share_of_the_mean_work(form):
    """Where T and S are in proportion to the length, both forms count the mean length alone."""
    changes = {"prfaas": PrfaasCluster(4, proportional(6e-5)), "s_kv": proportional(2e4)}
    pd = PdCluster(3, 5, proportional(2e-4))
    at = evaluate(blind(0.3, bandwidth_bps=10e9, pd=pd, **changes), form)
    assert at.stage_lambda_rps == {
        Stage.PRFAAS: pytest.approx(4 / (0.3 * 6e-5 * MEAN), rel=1e-4),
        Stage.LINK: pytest.approx(10e9 / (0.3 * 8 * 2e4 * MEAN), rel=1e-4),
        Stage.PD_P: pytest.approx(3 / (0.7 * 2e-4 * MEAN), rel=1e-4),
        Stage.PD_D: pytest.approx(5 * 20 / (0.025 * 1024)),
    }
    assert at.lambda_max_rps == min(at.stage_lambda_rps.values())
    assert (at.offload_fraction, at.l_long, at.l_short) == (0.3, pytest.approx(MEAN, abs=1), at.l_long)
    assert at.egress_bps == pytest.approx(at.lambda_max_rps * 0.3 * 8 * 2e4 * MEAN, rel=1e-4)
    assert at.ttft.mean == pytest.approx((0.3 * 6e-5 + 0.7 * 2e-4) * MEAN, rel=1e-4)


@pytest.mark.parametrize(("share", "percentiles"), [(0.3, (4.0, 8.0, 8.0)), (0.8, (2.0, 4.0, 8.0))])
def test_percentiles_of_ttft_are_those_of_the_mixture(share, percentiles):
    """Half are of 1,000 tokens and half of 2,000: 1 or 2 s remotely, 4 or 8 s locally."""
    two = Empirical([1000.0, 2000.0])
    cluster, pd = PrfaasCluster(1, proportional(1e-3)), PdCluster(1, 1, proportional(4e-3))
    found = evaluate(blind(share, prfaas=cluster, pd=pd, lengths=two)).ttft
    assert (found.p50, found.p90, found.p99) == pytest.approx(percentiles, rel=1e-6)


def test_of_each_curve_is_extrapolated_what_is_extrapolated_of_all_requests():
    short = Empirical([512.0, 512.0, 8192.0, 8192.0])
    found = evaluate(blind(0.25, lengths=short)).extrapolated
    assert {name: share.requests for name, share in found.items()} == {
        "S_kv": 0.5,
        "T_prefill of PrfaaS": 0.5,
        "T_prefill of PD-P": 0.5,
    }
    assert set(evaluate(blind(1.0, lengths=short)).extrapolated) == {"S_kv", "T_prefill of PrfaaS"}


def test_under_load_each_side_is_a_queue_of_its_own_share():
    """One instance each, requests of one length, an endless link: two M/D/1, whose mean wait is ρ·T / 2(1 - ρ)."""
    one, rate_rps, share = Empirical([8192.0]), 1.2, 0.6
    found = under_load(blind(share, 1, 1, n_prfaas=1, bandwidth_bps=math.inf, lengths=one, decode=ENDLESS), rate_rps)
    waits = []
    for part, seconds in ((share, 0.72), (1 - share, 1.513)):
        busy = rate_rps * part * seconds
        waits.append(busy * seconds / (2 * (1 - busy)))
    assert found.waits_s[Stage.PRFAAS] == pytest.approx(waits[0], rel=1e-6)
    assert found.waits_s[Stage.PD_P] == pytest.approx(waits[1], rel=1e-6)
    mean = share * (0.72 + waits[0]) + (1 - share) * (1.513 + waits[1]) + ENDLESS.step_s
    assert found.mean == pytest.approx(mean, rel=1e-6)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"remote_share": 1.5}, "from 0 to 1"),
        ({"remote_share": math.nan}, "from 0 to 1"),
        ({"threshold_tokens": 100.0}, "no threshold"),
        ({"prfaas": None, "link": None}, "needs a PrfaaS cluster"),
    ],
)
def test_a_share_that_cannot_be_is_refused(changes, said):
    with pytest.raises(ValueError, match=said):
        replace(blind(0.5), **changes)


# --- the best share ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", Form)
@examples(20)
@given(
    st.integers(0, 6), st.integers(0, 6), st.integers(0, 6), st.sampled_from([0.0, 1e9, 1e11, math.inf]), st.booleans()
)
def test_no_share_carries_more_than_the_best_and_of_those_as_good_none_is_sooner(form, n_r, n_p, n_d, bps, is_slow):
    prfaas = PrfaasCluster(n_r, H20 if is_slow else H200)
    deployed = blind(0.5, n_p, n_d, prfaas=prfaas, bandwidth_bps=bps, pd=PdCluster(n_p, n_d, H200 if is_slow else H20))
    share = best_remote_share(deployed, form)
    most, others = carried(deployed, share, form), np.linspace(0.0, 1.0, 21)
    rates = np.array([carried(deployed, float(other), form) for other in others])
    assert np.all(rates <= most * (1 + 1e-9))
    sooner = np.array([evaluate(replace(deployed, remote_share=float(other))).ttft.mean for other in others])
    equal = rates >= most * (1 - 1e-12)
    assert np.all(sooner[equal] >= evaluate(replace(deployed, remote_share=share)).ttft.mean * (1 - 1e-9))


def test_two_clusters_of_one_chip_carry_what_one_pool_of_all_their_instances_does():
    both = blind(0.5, 3, 6, prfaas=PrfaasCluster(4, H20), bandwidth_bps=math.inf, decode=ENDLESS)
    share = best_remote_share(both)
    assert share == pytest.approx(4 / 7)
    pool = evaluate(replace(homogeneous(7, 6), decode=ENDLESS)).lambda_max_rps
    assert carried(both, share) == pytest.approx(pool, rel=1e-12)


def test_both_sides_carry_together_what_each_carries_alone():
    rates = [evaluate(prfaas_pd(t, decode=ENDLESS)).lambda_max_rps for t in (0.0, math.inf)]
    deployed = blind(0.5, decode=ENDLESS)
    assert carried(deployed, best_remote_share(deployed)) == pytest.approx(sum(rates), rel=1e-12)


def test_where_decode_binds_the_faster_side_gets_as_many_as_it_can():
    fast, slow = blind(0.5, n_p=9, n_d=2), blind(0.5, 9, 2, prfaas=PrfaasCluster(9, H20), pd=PdCluster(9, 2, H200))
    decode_rps = 2 * DECODE.instance_rps
    remote_rps = evaluate(prfaas_pd(0.0, 9, 2, decode=ENDLESS)).lambda_max_rps
    assert best_remote_share(fast) == pytest.approx(min(remote_rps / decode_rps, 1.0))
    local_rps = 9 / evaluate(replace(slow, remote_share=0.0)).ttft.mean
    assert best_remote_share(slow) == pytest.approx(max(1 - local_rps / decode_rps, 0.0))


@pytest.mark.parametrize(
    ("changes", "share"), [({"bandwidth_bps": 0.0}, 0.0), ({"n_prfaas": 0}, 0.0), ({"n_p": 0, "n_d": 8}, 1.0)]
)
def test_a_side_that_carries_nothing_gets_nothing(changes, share):
    assert best_remote_share(blind(0.5, **changes)) == share


@pytest.mark.parametrize("form", Form)
def test_the_search_finds_the_share_and_the_split_together(form):
    found = best(Problem(blind(0.1), form, free_threshold=False, free_split=True, free_share=True))
    rates = {
        (n_p, share): evaluate(blind(share, n_p, 8 - n_p), form).lambda_max_rps
        for n_p in range(9)
        for share in np.linspace(0.0, 1.0, 41).tolist()
    }
    assert found.lambda_max_rps >= max(rates.values())
    assert found.lambda_max_rps == pytest.approx(max(rates.values()), rel=0.02)
    there = evaluate(blind(found.remote_share, found.prefill_instances, found.decode_instances), form)
    assert there.lambda_max_rps == pytest.approx(found.lambda_max_rps, rel=1e-12)
    assert math.isinf(found.threshold_tokens)


def test_with_a_share_that_is_not_free_only_the_split_is_found():
    found = best(Problem(blind(0.5), Form.EXACT, free_threshold=False, free_split=True))
    rates = [evaluate(blind(0.5, n_p, 8 - n_p)).lambda_max_rps for n_p in range(9)]
    assert (found.remote_share, found.lambda_max_rps) == (0.5, pytest.approx(max(rates)))
    assert found.prefill_instances == np.argmax(rates)


def test_a_map_has_the_best_share_of_every_bandwidth():
    axes = MapAxes((1e9, 5e9, 100e9), None)
    asked = Problem(blind(0.5), Form.EXACT, free_threshold=False, free_split=False, free_share=True, axes=axes)
    found = solve(asked, lambda *news: None).map
    each = [blind(0.5, bandwidth_bps=bps) for bps in axes.bandwidths_bps]
    expected = [carried(deployed, best_remote_share(deployed)) for deployed in each]
    assert found.lambda_max_rps[:, 0, 0] == pytest.approx(expected)


def test_knowing_lengths_never_carries_less():
    for bps in (2e9, 6e9, 100e9):
        by_length = best(Problem(prfaas_pd(bandwidth_bps=bps), Form.EXACT, free_threshold=True, free_split=True))
        by_share = best(
            Problem(blind(0.5, bandwidth_bps=bps), Form.EXACT, free_threshold=False, free_split=True, free_share=True)
        )
        assert by_share.lambda_max_rps <= by_length.lambda_max_rps


def test_a_threshold_is_neither_searched_nor_swept_under_a_share_nor_a_share_under_a_threshold():
    with pytest.raises(ValueError, match="no threshold that could vary"):
        Problem(blind(0.5), Form.EXACT, free_threshold=True, free_split=False)
    with pytest.raises(ValueError, match="none that could vary"):
        Problem(prfaas_pd(), Form.EXACT, free_threshold=False, free_split=False, free_share=True)
    with pytest.raises(ValueError, match="no threshold to sweep over"):
        sweep.thresholds(blind(0.5), Form.EXACT)
    with pytest.raises(ValueError, match="needs a PrfaaS cluster"):
        best_remote_share(homogeneous())


def test_the_sweep_over_splits_is_at_the_given_share():
    found = sweep.splits(blind(0.7), Form.EXACT)
    expected = [evaluate(blind(0.7, n_p, 8 - n_p)).lambda_max_rps for n_p in range(9)]
    assert found.lambda_max_rps == pytest.approx(expected)
    assert (found.best_lambda_max_rps, found.best_threshold_tokens) == (None, None)
