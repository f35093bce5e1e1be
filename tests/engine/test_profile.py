import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.engine.curves import LogLogCurve, QuadraticFit
from planner.engine.lengths import Empirical, TruncatedLogNormal
from planner.engine.profile import (
    CachedPrefill,
    DecodeSteps,
    fitted,
    largest_batch,
    left_out,
    outside,
    quality,
)
from tests.examples import examples

LENGTHS = [1024, 8192, 32768, 131072]
CASE_STUDY_S = [0.44, 0.72, 1.84, 7.40]
coefficient = st.floats(1e-9, 10)


def test_a_line_through_every_point_has_no_residuals():
    report = quality(LogLogCurve(LENGTHS, CASE_STUDY_S), LENGTHS, CASE_STUDY_S)
    assert report.largest == pytest.approx(0, abs=1e-12)
    assert report.rms == pytest.approx(0, abs=1e-12)
    assert report.monotone
    assert (report.shortest, report.longest) == (1024, 131072)


def test_residuals_are_relative_and_summed_up_by_the_largest_and_the_root_mean_square():
    report = quality(LogLogCurve([100, 400], [1.0, 2.0]), [100, 200, 400], [2.0, np.sqrt(2), 1.0])
    assert report.residuals == pytest.approx([-0.5, 0.0, 1.0])
    assert report.largest == pytest.approx(1.0)
    assert report.rms == pytest.approx(np.sqrt(1.25 / 3))


def test_it_says_between_which_lengths_the_measured_values_fall():
    lengths, values = [100, 200, 300, 400, 500], [1.0, 3.0, 2.0, 2.5, 2.4]
    report = quality(LogLogCurve(lengths, values), lengths, values)
    assert not report.monotone
    assert report.falls == ((200.0, 300.0), (400.0, 500.0))


def test_a_power_law_is_found_again_where_a_point_is_left_out():
    lengths = np.array([10.0, 70, 500, 9000])
    assert left_out(lengths, 0.01 * lengths**1.3) == pytest.approx([0, 0], abs=1e-12)


def test_a_kink_shows_where_its_point_is_left_out():
    assert left_out([100, 200, 400], [1.0, 1.0, 4.0]) == pytest.approx([1.0])  # the line says 2


def test_two_points_have_no_inner_one_to_leave_out():
    assert left_out([100, 200], [1.0, 2.0]).size == 0


def test_what_a_curve_was_not_measured_for_is_counted_in_requests_and_tokens():
    curve = LogLogCurve([100, 1000], [1.0, 2.0])
    lengths = Empirical([50, 100, 500, 1000, 1001, 4000, 99, 100])
    found = outside(curve, lengths)
    assert (found.requests, found.shortest, found.longest) == (4 / 8, 100, 1000)
    assert found.tokens == pytest.approx((50 + 99 + 1001 + 4000) / 6850)
    short = outside(curve, lengths, upper=500)  # 50, 99, 100, 100, 500
    assert (short.requests, short.tokens) == pytest.approx((2 / 5, 149 / 849))
    long = outside(curve, lengths, lower=500)  # 1000, 1001, 4000
    assert (long.requests, long.tokens) == pytest.approx((2 / 3, 5001 / 6001))


def test_requests_within_the_measured_lengths_leave_nothing_outside():
    curve = LogLogCurve([100, 1000], [1.0, 2.0])
    assert outside(curve, Empirical([100, 1000])) is None
    assert outside(curve, Empirical([100, 5000]), upper=1000) is None
    assert outside(curve, Empirical([100, 5000]), lower=5000) is None  # no request at all


def test_nothing_of_the_case_study_is_extrapolated_but_what_is_shorter_than_1024():
    lengths = TruncatedLogNormal(9.9, 1.0, 128, 131072)
    found = outside(LogLogCurve(LENGTHS, CASE_STUDY_S), lengths)
    assert found.requests == pytest.approx(float(lengths.between(0, 1024)), rel=1e-6)


def test_the_fit_beside_the_points_needs_three_of_them():
    assert fitted([1, 2], [1.0, 2.0]) is None
    fit = fitted([1000, 2000, 4000, 8000], [0.1 + 1e-4 * n + 1e-8 * n**2 for n in (1000, 2000, 4000, 8000)])
    assert fit.coefficients == pytest.approx([0.1, 1e-4, 1e-8], rel=1e-6)


@given(coefficient, coefficient, coefficient)
@examples(50)
def test_a_surface_of_prefill_on_cached_tokens_is_found_again(t0, a, b):
    new = np.array([1.0, 2.0, 5.0, 5.0, 1.0])
    cached = np.array([0.0, 3.0, 0.0, 7.0, 8.0])
    seconds = t0 + a * new + b * ((new + cached) ** 2 - cached**2)  # all the prompt's pairs less the cached part's
    surface = CachedPrefill(new, cached, seconds)
    assert surface(new, cached) == pytest.approx(seconds, rel=1e-6)
    assert surface.residuals == pytest.approx(np.zeros(5), abs=1e-6)
    assert float(surface(3.0, 4.0)) == pytest.approx(t0 + 3 * a + b * 33, rel=1e-5)


def test_attention_of_new_tokens_is_counted_pair_by_pair():
    def pairs(new, cached):
        return sum(cached + place for place in range(1, new + 1))

    new, cached = [10, 200, 1000, 1000], [0, 50, 0, 3000]
    seconds = [0.3 + 2e-6 * pairs(n, c) for n, c in zip(new, cached, strict=True)]
    surface = CachedPrefill(new, cached, seconds)
    assert surface.coefficients == pytest.approx([0.3, 1e-6, 1e-6], rel=1e-6)


def test_without_a_cached_prefix_the_surface_is_the_quadratic_fit():
    seconds = np.array(CASE_STUDY_S)
    surface = CachedPrefill(LENGTHS, [0, 0, 0, 0], seconds)
    fit = QuadraticFit(LENGTHS, seconds)
    assert surface.coefficients == pytest.approx(fit.coefficients, rel=1e-6)
    assert surface(LENGTHS, 0.0) == pytest.approx(fit(LENGTHS), rel=1e-6)


def test_the_same_new_tokens_never_take_less_time_behind_a_longer_prefix():
    surface = CachedPrefill([100, 500, 900], [0, 100, 5000], [0.1, 0.3, 0.9])
    assert np.all(np.diff(surface(300.0, np.linspace(0, 1e5, 50))) >= 0)


@given(coefficient, coefficient, coefficient)
@examples(50)
def test_decode_steps_are_found_again(s0, s1, s2):
    batch, context = np.array([1.0, 4, 16, 4, 16]), np.array([1.0, 1, 1, 9, 9])
    seconds = s0 + s1 * batch + s2 * batch * context
    steps = DecodeSteps(batch, context, seconds)
    assert float(steps(8.0, 5.0)) == pytest.approx(s0 + 8 * s1 + 40 * s2, rel=1e-5)
    assert steps.residuals == pytest.approx(np.zeros(5), abs=1e-6)


@pytest.mark.parametrize(
    ("batch", "context", "found"),
    [
        ([1, 2, 4], [1024, 1024, 1024], "two contexts"),
        ([4, 4, 4], [1024, 2048, 4096], "two batches"),
        ([1, 2], [1024, 2048], "three points"),
        ([1, 2, 0], [1024, 2048, 1024], "batch must be positive and finite, got 0"),
        ([1, 2, 4], [1024, float("nan"), 1024], "context must be positive and finite, got nan"),
        ([1, 2], [1024, 2048, 4096], "as many of each"),
    ],
)
def test_points_that_leave_a_decode_step_open_are_refused_with_the_remedy(batch, context, found):
    with pytest.raises(ValueError, match=found):
        DecodeSteps(batch, context, [0.01, 0.02, 0.03][: len(batch)])


def test_points_that_leave_the_surface_open_are_refused_with_the_remedy():
    with pytest.raises(ValueError, match="two new lengths"):
        CachedPrefill([100, 100, 100], [0, 50, 500], [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="cached must be not negative and finite, got -1"):
        CachedPrefill([100, 200, 300], [0, -1, 500], [0.1, 0.2, 0.3])


STEPS = DecodeSteps([1, 20, 1, 20], [1000, 1000, 2000, 2000], [0.006, 0.025, 0.0065, 0.035])
"""5 ms - 0.0 and 0.5 ms a request, 0.5 µs a request and token: 25 ms at 20 requests of 1,000 tokens."""


def test_the_steps_above_are_what_they_say():
    assert STEPS.coefficients == pytest.approx([0.005, 0.0005, 0.5e-6], rel=1e-9)


def test_twenty_requests_meet_40_tokens_a_second_where_a_step_of_twenty_takes_25_ms():
    found = largest_batch(STEPS, 40, 1000, memory_bytes=1000, weight_bytes=100, kv_bytes_per_request=10)
    assert (found.batch, found.binds, found.by_slo, found.by_memory) == (20, "slo", 20, 90)


def test_memory_binds_where_fewer_requests_fit_than_the_slo_allows():
    found = largest_batch(STEPS, 40, 1000, memory_bytes=1000, weight_bytes=900, kv_bytes_per_request=30)
    assert (found.batch, found.binds, found.by_memory) == (3, "memory", 3)


def test_no_request_meets_an_slo_faster_than_the_weights_are_read():
    assert largest_batch(STEPS, 250, 1000, 1000, 100, 10).batch == 0


def test_nothing_bounds_steps_that_cost_nothing_a_request_but_memory():
    flat = DecodeSteps([1, 2, 4, 8], [10, 20, 10, 20], [0.01] * 4)
    found = largest_batch(flat, 50, 1000, 1000, 0, 300)
    assert (found.batch, found.binds, found.by_slo) == (3, "memory", np.inf)


@given(st.floats(1, 500), st.floats(1, 1e6))
def test_the_largest_batch_meets_the_slo_and_one_more_does_not(slo, context):
    found = largest_batch(STEPS, slo, context, 1e12, 0, 1)
    if found.batch:
        assert float(STEPS(found.batch, context)) <= 1 / slo * (1 + 1e-9)
    assert float(STEPS(found.batch + 1, context)) > 1 / slo * (1 - 1e-9)


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({"slo_tokens_per_s": 0}, "slo_tokens_per_s must be positive"),
        ({"context_tokens": float("nan")}, "context_tokens must be positive"),
        ({"memory_bytes": float("inf")}, "memory_bytes must be positive and finite"),
        ({"weight_bytes": 2000}, "do not fit into 1000; take more GPUs"),
        ({"kv_bytes_per_request": -1}, "finite and not negative, got 100 and -1"),
    ],
)
def test_what_no_instance_can_have_is_refused(changed, found):
    given = {
        "slo_tokens_per_s": 40,
        "context_tokens": 1000,
        "memory_bytes": 1000,
        "weight_bytes": 100,
        "kv_bytes_per_request": 10,
    }
    with pytest.raises(ValueError, match=found):
        largest_batch(STEPS, **(given | changed))
