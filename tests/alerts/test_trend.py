"""Lines through values: closed forms, and what does not move them."""

import numpy as np
import pytest
from scipy.stats import theilslopes

from monitoring.alerts.trend import trend

AT = np.arange(-60, 1) * 10.0


def test_a_straight_line_is_found_exactly():
    found = trend(AT, 0.9 + 2e-4 * AT, 600)
    assert (found.level, found.slope_per_s) == pytest.approx((0.9, 2e-4))
    assert found.after(500) == pytest.approx(1.0)


def test_a_fifth_of_wild_values_do_not_move_it():
    values = 0.5 + 1e-4 * AT
    values[::5] = 50.0
    found = trend(AT, values, 600)
    assert found.slope_per_s == pytest.approx(1e-4, abs=3e-5)
    assert found.level == pytest.approx(0.5, abs=0.02)


def test_the_slope_is_that_of_an_independent_program():
    values = np.random.default_rng(3).normal(size=AT.size)
    assert trend(AT, values, 600).slope_per_s == pytest.approx(theilslopes(values, AT)[0])


def test_too_few_values_or_too_short_a_course_have_no_trend():
    assert trend(AT[-5:], AT[-5:], 40) is None
    assert trend(AT[-20:], AT[-20:], 600) is None
    assert trend(np.zeros(0), np.zeros(0), 600) is None
    assert trend(np.zeros(10), np.arange(10.0), 600) is None
