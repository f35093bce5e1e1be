"""Errors of predictions by closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.engine.accuracy import by_length, errors_of_bounds, one_after_another, relative_errors, summary

POSITIVE = st.floats(1e-6, 1e6)
ERRORS = st.lists(st.floats(-0.99, 100), min_size=1, max_size=30)


def test_an_error_is_predicted_over_measured_less_one():
    assert relative_errors([1.1, 0.5, 2.0], [1.0, 1.0, 2.0]) == pytest.approx([0.1, -0.5, 0.0])


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize("which", ["predicted", "measured"])
def test_what_is_not_positive_has_no_relative_error(wrong, which):
    given_values = {"predicted": [1.0], "measured": [1.0]} | {which: [wrong]}
    with pytest.raises(ValueError, match=which):
        relative_errors(**given_values)


def test_bias_keeps_signs_and_rms_does_not_let_them_cancel():
    # (0.3 - 0.4) / 2 and sqrt((0.09 + 0.16) / 2)
    found = summary([0.3, -0.4])
    assert (found.count, found.largest) == (2, 0.4)
    assert found.bias == pytest.approx(-0.05)
    assert found.rms == pytest.approx(np.sqrt(0.125))


def test_of_no_errors_there_is_no_summary():
    assert summary([]) is None


@given(ERRORS)
def test_the_squared_rms_is_the_squared_bias_and_the_variance(errors):
    found = summary(errors)
    assert found.rms**2 == pytest.approx(found.bias**2 + np.var(errors), rel=1e-9, abs=1e-12)
    assert abs(found.bias) <= found.rms + 1e-12
    assert found.rms <= found.largest * (1 + 1e-9)


def test_inside_its_bounds_a_measurement_has_no_error_and_outside_that_of_the_nearer_bound():
    # 2 lies in [1, 4]; 8 is twice the upper bound, 0.5 half the lower one.
    assert errors_of_bounds([1, 1, 1], [4, 4, 4], [2, 8, 0.5]) == pytest.approx([0.0, -0.5, 1.0])


@given(POSITIVE, POSITIVE)
def test_bounds_that_meet_give_the_error_of_a_point(bound, measured):
    assert errors_of_bounds(bound, bound, measured) == pytest.approx(relative_errors(bound, measured))


def test_bounds_the_wrong_way_round_are_refused():
    with pytest.raises(ValueError, match="lower bound"):
        errors_of_bounds(2.0, 1.0, 1.0)


def test_of_four_prompts_the_first_waits_for_itself_and_the_last_for_all():
    first, last = one_after_another([0.5, 2.0], [4, 1])
    assert (first.tolist(), last.tolist()) == ([0.5, 2.0], [2.0, 2.0])
    with pytest.raises(ValueError, match="at least one request"):
        one_after_another(1.0, 0.5)


def test_lengths_of_one_doubling_stand_together():
    bins = by_length([1024, 2047, 2048, 100], [0.1, 0.3, -0.2, 0.5])
    assert [(each.lower, each.upper, each.summary.count) for each in bins] == [
        (64, 128, 1), (1024, 2048, 2), (2048, 4096, 1),
    ]  # fmt: skip
    assert [each.summary.bias for each in bins] == pytest.approx([0.5, 0.2, -0.2])


@given(st.lists(st.tuples(st.floats(1, 1e6), st.floats(-0.9, 10)), min_size=1, max_size=40))
def test_every_error_is_in_the_bin_of_its_length_and_none_is_lost(points):
    lengths, errors = zip(*points, strict=True)
    bins = by_length(lengths, errors)
    assert sum(each.summary.count for each in bins) == len(points)
    total = sum(each.summary.count * each.summary.bias for each in bins)
    assert total == pytest.approx(sum(errors), rel=1e-9, abs=1e-9)
    assert all(any(each.lower <= length < each.upper for each in bins) for length in lengths)


def test_unequal_counts_are_refused():
    with pytest.raises(ValueError, match="as many errors as lengths"):
        by_length([1, 2], [0.1])
