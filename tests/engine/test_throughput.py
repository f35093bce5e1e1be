import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from planner.engine.curves import LogLogCurve
from planner.engine.deployment import Decode, Link, PdCluster, PrfaasCluster
from planner.engine.lengths import Empirical
from planner.engine.throughput import Form, Stage, egress_demand, evaluate, kv_throughput, work
from tests.engine.case_study import H20, H200, S_KV, homogeneous, naive, prfaas_pd
from tests.examples import examples


def test_the_paper_form_reproduces_the_published_operating_point():
    at = evaluate(prfaas_pd(19400, 3, 5), Form.PAPER)
    assert at.offload_fraction == pytest.approx(0.4957, abs=5e-5)
    assert at.l_long == pytest.approx(45046, abs=1)
    assert at.l_short == pytest.approx(10224, abs=1)
    assert at.theta_prfaas_rps == pytest.approx(1.579, abs=5e-4)
    assert at.theta_pd_p_rps == pytest.approx(1.640, abs=5e-4)
    assert at.theta_pd_d_rps == pytest.approx(3.906, abs=5e-4)
    assert at.lambda_max_rps == pytest.approx(3.186, abs=5e-4)
    assert at.egress_bps == pytest.approx(12.2e9, rel=5e-3)


@pytest.mark.parametrize(
    ("deployment", "paper", "exact"),
    [(homogeneous(), 2.110, 2.033), (naive(), 2.449, 2.334)],
    ids=["homogeneous", "naive"],
)
def test_the_other_two_deployments_carry_what_table_6_implies(deployment, paper, exact):
    assert evaluate(deployment, Form.PAPER).lambda_max_rps == pytest.approx(paper, abs=5e-4)
    assert evaluate(deployment, Form.EXACT).lambda_max_rps == pytest.approx(exact, abs=5e-4)


@pytest.mark.parametrize(
    ("deployment", "mean", "p90"),
    [(prfaas_pd(19400), 2.22, 3.51), (homogeneous(), 4.43, 9.73), (naive(), 1.71, 3.51)],
    ids=["prfaas-pd", "homogeneous", "naive"],
)
@pytest.mark.parametrize("form", Form)
def test_unloaded_ttft_is_prefill_over_the_lengths_in_either_form(deployment, mean, p90, form):
    ttft = evaluate(deployment, form).ttft
    assert ttft.mean == pytest.approx(mean, abs=5e-3)
    assert ttft.p90 == pytest.approx(p90, abs=5e-3)


def test_kv_throughput_of_the_internal_model_is_table_5():
    published = np.array([3.61, 3.59, 3.19, 2.62]) * 1e9
    assert kv_throughput(S_KV, H200, [1024, 8192, 32768, 131072]) == pytest.approx(published, rel=0.01)


@pytest.mark.parametrize(
    ("gpus", "rate_gbps", "demand_gbps"),
    [
        (512, 59.93, 3800),  # MiniMax-M2.5 at 32K
        (512, 33.35, 2100),  # Qwen3-235B at 32K
        (512, 2.59, 166),  # Ring-2.5-1T at 32K
        (512, 1.46, 93),  # Ring-2.5-1T at 128K
        (10_000, 1.46, 1800),  # Ring-2.5-1T at 128K
    ],
)
def test_equation_2_gives_the_published_egress_of_large_clusters(gpus, rate_gbps, demand_gbps):
    assert float(egress_demand(gpus, 8, rate_gbps)) == pytest.approx(demand_gbps, rel=0.02)


def test_at_its_limit_a_prefill_bound_cluster_emits_what_equation_2_says():
    at = evaluate(naive(), Form.PAPER)
    assert at.egress_bps == pytest.approx(float(egress_demand(32, 8, kv_throughput(S_KV, H200, at.l_long))))


def test_a_link_of_6_gbps_binds_and_a_lower_threshold_carries_less():
    at = evaluate(prfaas_pd(28797, bandwidth_bps=6e9))
    assert at.lambda_max_rps == pytest.approx(1.952, abs=5e-4)
    assert at.binding == (Stage.LINK, Stage.PD_P)
    assert evaluate(prfaas_pd(19600, bandwidth_bps=6e9)).lambda_max_rps == pytest.approx(1.57, abs=5e-3)
    assert evaluate(prfaas_pd(19600, bandwidth_bps=6e9)).binding == (Stage.LINK,)


def one_length(tokens, **changes):
    return prfaas_pd(lengths=Empirical([tokens]), **changes)


def test_with_a_single_length_both_forms_are_plain_division():
    for form in Form:
        at = evaluate(one_length(8192, threshold=100.0), form)
        assert at.theta_prfaas_rps == pytest.approx(4 / 0.72)
        assert at.stage_lambda_rps[Stage.LINK] == pytest.approx(100e9 / (308.9 * 2**20 * 8))
        assert at.lambda_max_rps == pytest.approx(3.90625)
        assert at.binding == (Stage.PD_D,)
        assert (at.ttft.mean, at.ttft.p99) == pytest.approx((0.72, 0.72))


def test_all_remote_leaves_pd_p_without_work():
    at = evaluate(prfaas_pd(0.0))
    assert at.offload_fraction == 1
    assert at.stage_lambda_rps[Stage.PD_P] == np.inf
    assert np.isnan(at.theta_pd_p_rps)
    assert np.isnan(at.l_short)
    assert at.lambda_max_rps == pytest.approx(2.334, abs=5e-4)


def test_all_local_leaves_prfaas_and_the_link_without_work():
    at = evaluate(prfaas_pd(np.inf, 9, 3))
    assert at.offload_fraction == 0
    assert at.egress_bps == 0
    assert np.isnan(at.theta_prfaas_rps)
    assert at.lambda_max_rps == pytest.approx(evaluate(homogeneous()).lambda_max_rps)


@pytest.mark.parametrize(
    ("changes", "bound"),
    [
        ({"n_p": 0, "n_d": 8}, Stage.PD_P),
        ({"n_prfaas": 0}, Stage.PRFAAS),
        ({"bandwidth_bps": 0.0}, Stage.LINK),
        ({"n_p": 8, "n_d": 0}, Stage.PD_D),
    ],
)
@pytest.mark.parametrize("form", Form)
def test_an_empty_stage_that_requests_need_carries_nothing_and_is_named(changes, bound, form):
    at = evaluate(prfaas_pd(19400, **changes), form)
    assert at.lambda_max_rps == 0
    assert at.binding == (bound,)
    assert at.egress_bps == 0
    assert at.utilisation(bound) == 1


@pytest.mark.parametrize("form", Form)
def test_an_empty_stage_that_nobody_needs_does_no_harm(form):
    assert evaluate(prfaas_pd(0.0, 0, 8, bandwidth_bps=np.inf), form).lambda_max_rps > 2
    assert evaluate(prfaas_pd(np.inf, 9, 3, n_prfaas=0, bandwidth_bps=0.0), form).lambda_max_rps > 2


def test_an_endless_link_never_binds_and_is_idle():
    at = evaluate(prfaas_pd(19400, bandwidth_bps=np.inf))
    assert at.stage_lambda_rps[Stage.LINK] == np.inf
    assert at.utilisation(Stage.LINK) == 0
    assert at.lambda_max_rps == evaluate(prfaas_pd(19400)).lambda_max_rps


def test_the_curves_that_some_request_leaves_are_named():
    assert list(evaluate(prfaas_pd(19400)).extrapolated) == ["T_prefill of PD-P"]
    assert list(evaluate(prfaas_pd(0.0)).extrapolated) == ["S_kv", "T_prefill of PrfaaS"]
    assert evaluate(one_length(8192, threshold=100.0)).extrapolated == {}


deployments = st.builds(
    prfaas_pd,
    threshold=st.floats(1, 2e5),
    n_p=st.integers(0, 8),
    n_d=st.integers(0, 8),
    n_prfaas=st.integers(0, 8),
    bandwidth_bps=st.sampled_from([0.0, 1e9, 6e9, 1e11, np.inf]),
)


@examples(60)
@given(deployments, st.sampled_from(list(Form)))
def test_every_stage_is_within_its_capacity_at_lambda_max_and_one_is_full(deployment, form):
    at = evaluate(deployment, form)
    assert all(0 <= at.utilisation(stage) <= 1 + 1e-12 for stage in at.stage_lambda_rps)
    assert max(at.utilisation(stage) for stage in at.binding) == pytest.approx(1)
    assert at.egress_bps <= deployment.link.usable_bps * (1 + 1e-9)
    assert at.ttft.p50 <= at.ttft.p90 <= at.ttft.p99


@examples(60)
@given(deployments)
def test_the_exact_form_is_mean_work_over_the_requests_themselves(deployment):
    drawn = deployment.lengths.quantile((np.arange(20_000) + 0.5) / 20_000)
    over = drawn > deployment.threshold_tokens
    demand = work(deployment, deployment.threshold_tokens, Form.EXACT)
    assert float(demand.prfaas_s) == pytest.approx(np.where(over, H200(drawn), 0).mean(), rel=2e-3, abs=2e-3)
    assert float(demand.pd_p_s) == pytest.approx(np.where(over, 0, H20(drawn)).mean(), rel=2e-3, abs=2e-3)
    assert float(demand.link_bits) == pytest.approx(8 * np.where(over, S_KV(drawn), 0).mean(), rel=2e-3, abs=2e6)


@examples(40)
@example(threshold=101391.0, samples=[100.0, 101.0, 102.0, 101391.0])
@example(threshold=16121.0, samples=[100.0] * 3 + [16345.0] * 5 + [16121.0, 16145.0])
@given(st.floats(1, 2e5), st.lists(st.floats(100, 2e5), min_size=1, max_size=30))
def test_ttft_percentiles_are_those_of_the_requests_prefill_times(threshold, samples):
    """On a chip that prefills longer prompts faster than a slow one does shorter ones, order by length misleads."""
    at = evaluate(prfaas_pd(threshold, lengths=Empirical(samples))).ttft
    drawn = np.array(samples)
    times = np.where(drawn > threshold, H200(drawn), H20(drawn))
    for ours, q in ((at.p50, 0.5), (at.p90, 0.9), (at.p99, 0.99)):
        assert ours == pytest.approx(np.quantile(times, q, method="inverted_cdf"), rel=1e-5, abs=1e-5)
    assert at.mean == pytest.approx(times.mean())


def test_ttft_percentiles_hold_for_a_profile_that_dips():
    dips = LogLogCurve([1000, 8000, 30000, 131072], [1.0, 0.5, 2.0, 9.0])
    deployment = prfaas_pd(0.0, prfaas=PrfaasCluster(4, dips))
    times = dips(deployment.lengths.quantile((np.arange(100_000) + 0.5) / 100_000))
    assert evaluate(deployment).ttft.p50 == pytest.approx(np.quantile(times, 0.5), rel=1e-3)
    assert evaluate(deployment).ttft.p99 == pytest.approx(np.quantile(times, 0.99), rel=1e-3)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: PrfaasCluster(-1, H200), "N_prfaas must not be negative"),
        (lambda: PdCluster(-1, 2, H20), "N_p must not be negative"),
        (lambda: PdCluster(1, float("nan"), H20), "N_d must not be negative"),
        (lambda: Link(-1), "bandwidth"),
        (lambda: Decode(0, 0.025, 1024), "max_batch must be positive"),
        (lambda: Decode(20, 0, 1024), "step_s must be positive"),
        (lambda: prfaas_pd(-1.0), "threshold"),
        (lambda: prfaas_pd(19400, prfaas=None, link=None), "the threshold must be infinite"),
        (lambda: prfaas_pd(19400, link=None), "come together"),
    ],
)
def test_a_deployment_that_cannot_be_is_refused(make, said):
    with pytest.raises(ValueError, match=said):
        make()
