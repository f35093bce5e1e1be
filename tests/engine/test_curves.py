import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.engine.curves import LinearCurve, LogLogCurve, QuadraticFit
from tests.engine.case_study import H20, H200, TOKENS
from tests.examples import examples


def walk(start, value, steps):
    """Points whose lengths rise by the given ratios, and whose values follow the given powers."""
    lengths = start * np.cumprod([1.0, *(ratio for ratio, _ in steps)])
    values = value * np.cumprod([1.0, *(ratio**power for ratio, power in steps)])
    return lengths, values


def walks(powers):
    steps = st.lists(st.tuples(st.floats(1.05, 20), powers), min_size=1, max_size=7)
    return st.builds(walk, st.floats(1, 1e4), st.floats(1e-3, 1e6), steps)


points = walks(st.floats(-3, 3) | st.just(0.0))


@given(points)
def test_the_curve_meets_every_point(found):
    lengths, values = found
    assert LogLogCurve(lengths, values)(lengths) == pytest.approx(np.array(values), rel=1e-9)


def test_a_power_law_is_reproduced_between_and_beyond_its_points():
    curve = LogLogCurve([100, 1000, 10000], 3e-4 * np.array([100, 1000, 10000]) ** 1.7)
    at = np.array([1.0, 50, 333, 5000, 1e6])
    assert curve(at) == pytest.approx(3e-4 * at**1.7, rel=1e-12)


def test_between_two_points_it_is_their_geometric_mean_at_the_geometric_middle():
    assert float(H200(np.sqrt(8192 * 32768))) == pytest.approx(np.sqrt(0.72 * 1.84), rel=1e-12)


@given(points, st.floats(0, 1))
def test_it_never_leaves_the_values_of_its_neighbours(found, share):
    lengths, values = found
    at = lengths[0] + share * (lengths[1] - lengths[0])
    low, high = np.sort(values[:2])
    assert low * (1 - 1e-9) <= float(LogLogCurve(lengths, values)(at)) <= high * (1 + 1e-9)


@given(walks(st.floats(0, 3)), st.lists(st.floats(0.5, 2e6), min_size=2, max_size=20))
def test_rising_points_give_a_rising_curve(found, lengths):
    values = LogLogCurve(*found)(np.sort(lengths))
    assert np.all(np.diff(values) >= -1e-9 * values[:-1])


def test_a_whole_array_is_answered_at_once_and_keeps_its_shape():
    at = np.arange(1.0, 13.0).reshape(3, 4)
    assert H20(at).shape == (3, 4)
    assert H20(at)[2, 3] == H20(12.0)


@pytest.mark.parametrize(
    ("lengths", "values", "said"),
    [
        ([1024], [1.0], "at least two points, got 1"),
        ([], [], "at least two points, got 0"),
        ([1024, 2048, 4096], [1.0, 2.0], "2 values for 3 lengths"),
        ([0, 1024, 2048], [1.0, 2.0, 3.0], "lengths must be positive"),
        ([-5, 1024, 2048], [1.0, 2.0, 3.0], "lengths must be positive"),
        ([1024, 1024, 2048], [1.0, 2.0, 3.0], "lengths must rise, but 1024 is followed by 1024"),
        ([1024, 512, 2048], [1.0, 2.0, 3.0], "lengths must rise, but 1024 is followed by 512"),
        ([1024, 2048, 4096], [1.0, 0.0, 3.0], "values must be positive"),
        ([1024, 2048, 4096], [1.0, -2.0, 3.0], "values must be positive"),
        ([1024, 2048, 4096], [1.0, np.nan, 3.0], "values must be positive"),
        ([1024, 1025, 4096], [1.0, 9.0, 10.0], "values jump from 1 to 9 between lengths 1024 and 1025"),
        ([1024, 2048, np.inf], [1.0, 2.0, 3.0], "lengths must be positive and finite"),
    ],
)
def test_impossible_points_are_refused_with_the_reason(lengths, values, said):
    with pytest.raises(ValueError, match=said):
        LogLogCurve(lengths, values)


def test_a_fit_refuses_what_a_curve_refuses():
    with pytest.raises(ValueError, match="lengths must rise"):
        QuadraticFit([1024, 512, 2048], [1.0, 2.0, 3.0])


def test_a_fit_needs_three_points():
    with pytest.raises(ValueError, match="at least three points, got 2"):
        QuadraticFit([1, 2], [1, 2])


@given(st.floats(0, 10), st.floats(1e-6, 1e-2), st.floats(0, 1e-8))
def test_the_fit_finds_the_coefficients_it_was_made_from(t0, a, b):
    at = np.array([512.0, 1024, 8192, 32768, 131072])
    fit = QuadraticFit(at, t0 + a * at + b * at**2)
    assert fit(at) == pytest.approx(t0 + a * at + b * at**2, rel=1e-6)
    assert np.abs(fit.residuals).max() < 1e-6


def test_the_fit_of_the_published_profile_says_how_far_off_it_is():
    fit = QuadraticFit(TOKENS, [0.44, 0.72, 1.84, 7.40])
    assert np.all(fit.coefficients >= 0)
    assert fit.residuals == pytest.approx(fit(TOKENS) / np.array([0.44, 0.72, 1.84, 7.40]) - 1)
    assert 0.001 < np.abs(fit.residuals).max() < 0.1


@examples(60)
@given(points, st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=5))
def test_a_length_lies_in_the_sublevel_set_exactly_when_the_curve_is_at_or_below_the_level(found, levels):
    curve = LogLogCurve(*found)
    at = np.geomspace(found[0][0] / 4, found[0][-1] * 4, 301)
    lower, upper = curve.sublevel(levels)
    inside = ((at > lower[..., np.newaxis]) & (at <= upper[..., np.newaxis])).any(axis=1)
    values, level = curve(at), np.array(levels)[:, np.newaxis]
    clear = np.abs(values / level - 1) > 1e-9
    assert np.array_equal(inside[clear], (values <= level)[clear])


def test_the_sublevel_of_a_fit_ends_where_the_fit_reaches_the_level():
    fit = QuadraticFit(TOKENS, [0.44, 0.72, 1.84, 7.40])
    lower, upper = fit.sublevel(fit(np.array([5000.0, 60000.0])))
    assert np.all(lower == 0)
    assert upper.ravel() == pytest.approx([5000, 60000], rel=1e-9)
    assert fit.sublevel(fit.coefficients[0] / 2)[1] == pytest.approx([0.0])


def test_a_constant_fit_has_everything_or_nothing_below_a_level():
    fit = QuadraticFit([1, 2, 3], [5.0, 5.0, 5.0])
    assert fit.sublevel(5.1)[1] > 1e12  # the fit rises by rounding alone
    assert fit.sublevel(4.9)[1] == pytest.approx([0.0])


rising = st.builds(
    lambda start, value, steps: (
        start + np.cumsum([0.0, *(step for step, _ in steps)]),
        value + np.cumsum([0.0, *(rise for _, rise in steps)]),
    ),
    st.floats(1, 1e4), st.floats(1e-3, 1e6),
    st.lists(st.tuples(st.floats(1, 1e5), st.floats(0, 1e6) | st.just(0.0)), min_size=1, max_size=7),
)  # fmt: skip


@given(rising, st.floats(0, 1))
def test_straight_lines_meet_numpys_interpolation_between_their_points(found, share):
    lengths, values = found
    at = lengths[0] + share * (lengths[-1] - lengths[0])
    assert float(LinearCurve(lengths, values)(at)) == pytest.approx(np.interp(at, lengths, values), rel=1e-9)


def test_a_size_linear_in_the_length_is_reproduced_between_and_beyond_its_points():
    size = 173.906 * 2**20 + 17280 * np.array([1024.0, 8192, 131072])
    at = np.array([1.0, 500, 5000, 1e6])
    assert LinearCurve([1024, 8192, 131072], size)(at) == pytest.approx(173.906 * 2**20 + 17280 * at, rel=1e-12)


@given(rising, st.floats(1e-9, 1))
def test_below_the_first_point_a_line_stays_positive_and_at_or_above_the_proportion(found, share):
    lengths, values = found
    below = float(LinearCurve(lengths, values)(share * lengths[0]))
    assert 0 < share * values[0] * (1 - 1e-9) <= below <= values[0] * (1 + 1e-9)


def test_a_line_that_would_fall_below_zero_is_replaced_by_the_proportion_to_the_first_point():
    steep = LinearCurve([100, 200, 300], [1.0, 5.0, 5.0])
    assert steep(np.array([50.0, 1.0])) == pytest.approx([0.5, 0.01])
    assert steep.kinks.tolist() == [100, 200]
    assert LinearCurve([100, 200, 300], [10.0, 12.0, 14.0]).kinks.tolist() == []


@examples(60)
@given(rising, st.lists(st.floats(1e-3, 1e7), min_size=1, max_size=5))
def test_lengths_lie_in_a_lines_sublevel_set_exactly_when_it_is_at_or_below_the_level(found, levels):
    curve = LinearCurve(*found)
    at = np.geomspace(found[0][0] / 4, found[0][-1] * 4, 301)
    _, upper = curve.sublevel([*levels, found[1][0], found[1][-1]])
    values, level = curve(at), np.array([*levels, found[1][0], found[1][-1]])[:, np.newaxis]
    clear = np.abs(values / level - 1) > 1e-9
    assert np.array_equal((at <= upper)[clear], (values <= level)[clear])


def test_values_that_fall_are_refused_on_linear_axes():
    with pytest.raises(ValueError, match="must not fall, but 2 at 1024 is followed by 1"):
        LinearCurve([512, 1024, 2048], [1.0, 2.0, 1.0])
