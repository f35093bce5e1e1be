import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.engine import search, sweep
from planner.engine.deployment import PrfaasCluster
from planner.engine.lengths import Empirical, TruncatedLogNormal
from planner.engine.search import MapAxes, Problem, best, crossing, solve, surface, threshold_grid
from planner.engine.throughput import Form, evaluate, work
from tests.engine.case_study import H20, H200, homogeneous, naive, prfaas_pd
from tests.examples import examples


def carried(optimum, deployment, form=Form.EXACT):
    return evaluate(
        prfaas_pd(
            optimum.threshold_tokens,
            optimum.prefill_instances,
            optimum.decode_instances,
            prfaas=deployment.prfaas,
            link=deployment.link,
            lengths=deployment.lengths,
        ),
        form,
    ).lambda_max_rps


@pytest.mark.parametrize(
    ("form", "low", "high", "most", "ratio"),
    [(Form.PAPER, 19550, 19700, 3.199, 1.516), (Form.EXACT, 19600, 19700, 3.139, 1.544)],
)
def test_the_case_study_is_best_at_the_published_split(form, low, high, most, ratio):
    found = best(Problem(prfaas_pd(), form, free_threshold=True, free_split=True))
    assert low <= found.threshold_tokens <= high
    assert (found.prefill_instances, found.decode_instances) == (3, 5)
    assert found.lambda_max_rps == pytest.approx(most, abs=5e-4)
    local = best(Problem(homogeneous(4, 8), form, free_threshold=False, free_split=True))
    assert (local.prefill_instances, local.decode_instances) == (9, 3)
    assert found.lambda_max_rps / local.lambda_max_rps == pytest.approx(ratio, abs=1e-3)


@pytest.mark.parametrize(("form", "most"), [(Form.PAPER, 2.449), (Form.EXACT, 2.334)])
def test_with_nothing_free_the_deployment_is_only_evaluated(form, most):
    found = best(Problem(naive(), form, free_threshold=False, free_split=False))
    assert found.lambda_max_rps == pytest.approx(most, abs=5e-4)
    assert found.threshold_tokens == 0


def test_under_a_narrow_link_the_threshold_rises_until_link_and_pd_p_balance():
    found = best(Problem(prfaas_pd(bandwidth_bps=6e9), Form.EXACT, free_threshold=True, free_split=False))
    assert found.threshold_tokens == pytest.approx(28800, abs=50)
    assert found.lambda_max_rps == pytest.approx(1.952, abs=5e-4)


def test_at_an_interior_optimum_both_prefill_sides_saturate_together():
    t = crossing(prfaas_pd())
    at = evaluate(prfaas_pd(t))
    assert at.theta_prfaas_rps / at.offload_fraction == pytest.approx(
        at.theta_pd_p_rps / (1 - at.offload_fraction), rel=1e-9
    )
    assert t == pytest.approx(best(Problem(prfaas_pd(), Form.EXACT, True, False)).threshold_tokens, rel=1e-9)


@pytest.mark.parametrize("changes", [{"n_p": 0}, {"n_prfaas": 0}, {"bandwidth_bps": 0.0}])
def test_a_dead_side_has_no_crossing(changes):
    assert crossing(prfaas_pd(**changes)) is None


fleets = st.builds(
    prfaas_pd,
    n_p=st.integers(0, 6),
    n_d=st.integers(0, 6),
    n_prfaas=st.integers(0, 6),
    bandwidth_bps=st.sampled_from([0.0, 2e9, 6e9, 1e11, np.inf]),
    lengths=st.builds(TruncatedLogNormal, st.floats(7, 11), st.floats(0.3, 2), st.just(128), st.just(131072))
    | st.lists(st.floats(200, 1e5), min_size=1, max_size=12).map(Empirical),
)


@examples(10)
@given(fleets, st.sampled_from(list(Form)))
def test_no_point_tried_one_by_one_carries_more_than_the_optimum(fleet, form):
    found = best(Problem(fleet, form, free_threshold=True, free_split=True))
    assert found.lambda_max_rps == pytest.approx(carried(found, fleet, form), rel=1e-9)
    total = int(fleet.pd.prefill_instances + fleet.pd.decode_instances)
    for n_p in range(total + 1):
        for t in [0.0, *fleet.lengths.quantile(np.linspace(0, 1, 12)), 2e5]:
            at = evaluate(
                prfaas_pd(t, n_p, total - n_p, prfaas=fleet.prfaas, link=fleet.link, lengths=fleet.lengths), form
            )
            assert at.lambda_max_rps <= found.lambda_max_rps * (1 + 1e-9)


@examples(10)
@given(fleets, st.integers(0, 3), st.floats(1, 5))
def test_more_machines_or_bandwidth_never_carry_less(fleet, more, factor):
    less = best(Problem(fleet, Form.EXACT, True, True)).lambda_max_rps
    richer = prfaas_pd(
        n_p=fleet.pd.prefill_instances + more,
        n_d=fleet.pd.decode_instances,
        n_prfaas=fleet.prfaas.instances + more,
        bandwidth_bps=fleet.link.usable_bps * factor,
        lengths=fleet.lengths,
    )
    assert best(Problem(richer, Form.EXACT, True, True)).lambda_max_rps >= less * (1 - 1e-9)


def test_where_decode_binds_the_quickest_of_the_equal_thresholds_wins():
    fleet = prfaas_pd(n_p=7, n_d=1)
    found = best(Problem(fleet, Form.EXACT, free_threshold=True, free_split=False))
    assert found.lambda_max_rps == pytest.approx(0.78125)  # one decode instance
    grid = threshold_grid(fleet.lengths, 3000)
    values = surface(fleet, work(fleet, grid, Form.EXACT), [7])[:, 0]
    tied = grid[values >= 0.78125 * (1 - 1e-9)]
    assert len(tied) > 100
    quickest = min(evaluate(prfaas_pd(t, 7, 1)).ttft.mean for t in tied[:: len(tied) // 40])
    assert found.ttft_mean_s <= quickest * (1 + 1e-9)
    # below some 577 tokens the prolonged profiles make H20 the quicker chip, above it H200
    assert float(H20(found.threshold_tokens)) == pytest.approx(float(H200(found.threshold_tokens)), rel=2e-3)


def test_among_recorded_lengths_the_best_threshold_is_one_of_them():
    drawn = [500.0, 2000.0, 9000.0, 30000.0, 30000.0, 70000.0]
    found = best(Problem(prfaas_pd(lengths=Empirical(drawn)), Form.EXACT, free_threshold=True, free_split=True))
    assert found.threshold_tokens in (0.0, *drawn)


def test_the_lower_end_of_a_plateau_is_found_exactly():
    fleet = prfaas_pd(n_p=6, n_d=2, n_prfaas=1)
    found = best(Problem(fleet, Form.EXACT, free_threshold=True, free_split=False))
    at = evaluate(prfaas_pd(found.threshold_tokens, 6, 2, prfaas=fleet.prfaas))
    assert found.lambda_max_rps == pytest.approx(1.5625)  # two decode instances
    assert at.theta_prfaas_rps / at.offload_fraction == pytest.approx(1.5625, rel=1e-9)


def test_a_whole_surface_is_what_single_evaluations_say():
    fleet = prfaas_pd()
    grid = threshold_grid(fleet.lengths, 7)
    values = surface(fleet, work(fleet, grid, Form.EXACT), [0, 3, 8])
    for row, t in enumerate(grid):
        for column, n_p in enumerate([0, 3, 8]):
            single = evaluate(prfaas_pd(float(t), n_p, 8 - n_p)).lambda_max_rps
            assert values[row, column] == pytest.approx(single, rel=1e-9)


def test_the_map_holds_the_optimum_where_it_was_given_and_reports_every_cell():
    problem = Problem(prfaas_pd(), Form.EXACT, True, True, MapAxes((6e9, 100e9), (0.5, 1.0)))
    seen = []
    solution = solve(problem, lambda done, total, message: seen.append((done, total)))
    assert seen == [(0, 5), (1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]
    assert solution.map.lambda_max_rps.shape == (2, 2, 9)
    assert solution.map.lambda_max_rps[1, 1].max() == pytest.approx(solution.best.lambda_max_rps)
    assert solution.map.lambda_max_rps[0, 1, 3] == pytest.approx(1.952, abs=5e-4)
    assert solution.map.threshold_tokens[0, 1, 3] == pytest.approx(28800, abs=50)


def test_without_axes_there_is_no_map():
    assert solve(Problem(naive(), Form.EXACT, False, False), lambda *_: None).map is None


def test_the_sweep_over_thresholds_is_the_least_of_its_stages():
    swept = sweep.thresholds(prfaas_pd(), Form.EXACT)
    assert swept.lambda_max_rps == pytest.approx(np.min(list(swept.rates.values()), axis=0))
    at = evaluate(prfaas_pd(float(swept.threshold_tokens[100])))
    assert swept.egress_bps[100] == pytest.approx(at.egress_bps)


def test_a_single_length_has_no_crossing_to_look_for():
    swept = sweep.splits(prfaas_pd(lengths=Empirical([5.0])), Form.EXACT)
    assert set(swept.best_threshold_tokens) <= {0.0, 5.0}
    assert np.all(swept.best_lambda_max_rps <= 8 * 0.78125)


@examples(10)
@given(fleets, st.sampled_from(list(Form)))
def test_the_sweep_over_splits_promises_no_more_than_the_search_finds(fleet, form):
    total = int(fleet.pd.prefill_instances + fleet.pd.decode_instances)
    swept = sweep.splits(fleet, form)
    for n_p in range(total + 1):
        found = best(Problem(fleet.split(n_p, total - n_p), form, free_threshold=True, free_split=False))
        assert swept.best_lambda_max_rps[n_p] <= found.lambda_max_rps * (1 + 1e-9)
        assert swept.best_lambda_max_rps[n_p] >= found.lambda_max_rps * 0.98  # a grid passes over short steps


def test_the_sweep_over_splits_peaks_where_the_search_does():
    swept = sweep.splits(prfaas_pd(), Form.EXACT)
    assert swept.prefill_instances[swept.best_lambda_max_rps.argmax()] == 3
    for column, n_p in enumerate(swept.prefill_instances):
        exact = best(Problem(prfaas_pd(n_p=n_p, n_d=8 - n_p), Form.EXACT, free_threshold=True, free_split=False))
        assert swept.best_lambda_max_rps[column] == pytest.approx(exact.lambda_max_rps, rel=1e-5)
    assert swept.best_threshold_tokens[3] == pytest.approx(19652, rel=1e-4)
    assert swept.lambda_max_rps[3] == pytest.approx(evaluate(prfaas_pd()).lambda_max_rps)
    assert sweep.splits(homogeneous(), Form.EXACT).best_lambda_max_rps is None


@pytest.mark.parametrize("lengths", [prfaas_pd().lengths, Empirical([500.0, 500.0, 9000.0])])
def test_the_histogram_counts_every_request_once(lengths):
    edges, share = sweep.histogram(lengths)
    assert share.sum() == pytest.approx(1)
    assert np.all(share >= 0)
    assert (edges[0], edges[-1]) == pytest.approx((lengths.shortest, lengths.longest))


def test_a_slower_remote_chip_keeps_everything_local():
    fleet = prfaas_pd(n_p=8, n_d=4, prfaas=PrfaasCluster(0, H20))
    found = best(Problem(fleet, Form.EXACT, True, True))
    assert found.threshold_tokens >= fleet.lengths.longest
    assert (found.prefill_instances, search.splits(fleet).size) == (9, 13)


def test_a_tail_too_thin_for_a_number_is_searched_like_an_empty_one():
    """Below 300 tokens the share of requests is about 1e-320: less than floating-point numbers can divide by."""
    deployment = prfaas_pd(lengths=TruncatedLogNormal(11.0, 0.14, 1, 131072))
    found = best(Problem(deployment, Form.EXACT, free_threshold=True, free_split=True))
    assert np.isfinite(found.lambda_max_rps)
    assert found.lambda_max_rps > 0
