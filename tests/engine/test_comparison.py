"""Differences of experiments that met the same requests, and the knee of TTFT over load."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from planner.engine.simulation.comparison import differences, paired
from planner.engine.simulation.knee import Knee, knee

values = st.floats(-1e3, 1e3).map(lambda value: round(value, 3))


@given(st.lists(st.tuples(values, values), min_size=2, max_size=30))
def test_the_interval_is_that_of_a_paired_t_test(pairs):
    ours, others = np.array(pairs).T
    found = paired(ours, others).estimate
    assert found.mean == pytest.approx(np.mean(ours - others), abs=1e-9)
    if np.ptp(ours - others) < 1e-6:
        return
    low, high = stats.ttest_rel(ours, others).confidence_interval(0.95)
    assert (found.low, found.high) == (pytest.approx(low, rel=1e-9, abs=1e-9), pytest.approx(high, rel=1e-9, abs=1e-9))


def test_the_closed_form_of_three_pairs():
    found = paired([5.0, 6.0, 10.0], [4.0, 4.0, 7.0]).estimate
    # differences 1, 2, 3: mean 2, standard deviation 1; of two degrees of freedom t is x √(2 / (1 − x²)), x = 0.95
    half = 0.95 * math.sqrt(2 / (1 - 0.95**2)) / math.sqrt(3)
    assert (found.mean, found.low, found.high) == (2.0, pytest.approx(2 - half), pytest.approx(2 + half))


@given(st.lists(values, min_size=1, max_size=10))
def test_what_is_the_same_differs_by_exactly_nothing(each):
    found = paired(each, each)
    assert found.estimate.mean == 0.0
    assert found.is_clear is (None if len(each) == 1 else False)


def test_a_difference_is_clear_where_its_interval_leaves_out_0():
    assert paired([2.0, 2.1, 2.2], [1.0, 1.0, 1.0]).is_clear
    assert paired([2.0, 0.1, 1.2], [1.0, 1.0, 1.0]).is_clear is False
    assert paired([2.0], [1.0]).is_clear is None


@pytest.mark.parametrize(("ours", "others"), [([], []), ([1.0], [1.0, 2.0])])
def test_values_must_belong_together(ours, others):
    with pytest.raises(ValueError, match="as many values"):
        paired(ours, others)


def test_replications_are_paired_by_their_index_whichever_have_ended():
    ours = {0: {"ttft_p90_s": 3.0}, 2: {"ttft_p90_s": 5.0}, 3: {"egress_bps": 1.0}}
    others = {2: {"ttft_p90_s": 4.0}, 0: {"ttft_p90_s": 1.0}, 1: {"ttft_p90_s": 9.0}, 3: {"ttft_p90_s": 9.0}}
    found = differences(ours, others)
    assert found.keys() == {"ttft_p90_s"}
    assert found["ttft_p90_s"].estimate.mean == 1.5


def test_the_knee_of_one_queue_is_at_half_its_capacity():
    # M/M/1 of mean service 1: every percentile of the response time is in proportion to 1 / (1 − ρ)
    loads = np.linspace(0.001, 0.95, 400)
    found = knee((load, math.log(10) / (1 - load)) for load in loads)
    assert found.at == pytest.approx(0.5, abs=0.002)
    assert found.within < found.at <= found.beyond
    assert found.limit_s == pytest.approx(2 * math.log(10), rel=0.002)


def test_points_need_no_order_and_the_line_between_them_is_straight():
    assert knee([(0.9, 9.0), (0.1, 2.0), (0.5, 3.0)]) == Knee(4.0, 0.5, 0.9, pytest.approx(0.5 + 0.4 / 6))


def test_before_an_unstable_load_the_knee_is_only_known_to_lie_between():
    assert knee([(0.1, 2.0), (0.8, 3.0), (1.2, None)]) == Knee(4.0, 0.8, 1.2, None)


def test_where_all_is_well_the_knee_is_beyond():
    assert knee([(0.1, 2.0), (0.8, 3.0)]) == Knee(4.0, 0.8, None, None)


@pytest.mark.parametrize("points", [[], [(0.5, None)], [(0.5, None), (0.6, 1.0)]])
def test_without_a_stable_lowest_load_there_is_no_knee(points):
    assert knee(points) is None
