"""What is derived from lengths: outputs that go with them, and what a prefix cache leaves of them."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import integrate, stats

from planner.engine.lengths import (
    CorrelatedOutput,
    Empirical,
    TruncatedGamma,
    TruncatedLogNormal,
    mean,
    offload_fraction,
    uncached,
)
from planner.engine.lengths.correlated import log_normal_between
from tests.engine.case_study import LENGTHS
from tests.examples import examples

outputs = st.builds(
    CorrelatedOutput,
    st.floats(-2, 8), st.floats(-1, 1.2), st.floats(0.01, 2), st.just(1.0), st.floats(10, 1e5),
)  # fmt: skip


@examples(100)
@example(CorrelatedOutput(0, -1, 1.5, 1, 58), 31_688.0)
@given(outputs, st.floats(1, 1e6))
def test_the_mean_output_of_a_prompt_is_that_of_scipys_truncated_normal(output, prompt):
    mu = output.intercept + output.slope * np.log(prompt)
    a, b = ((np.log(end) - mu) / output.sigma for end in (output.shortest, output.longest))
    if a > 8 or b < -8:  # SciPy loses its digits further out
        return
    dist = stats.truncnorm(a, b)
    edges = np.clip(np.arange(-20, 21), a, b)  # nothing is left past 20 from a start within 8
    pieces = [
        integrate.fixed_quad(lambda z: np.exp(mu + output.sigma * z) * dist.pdf(z), low, high, n=40)[0]
        for low, high in itertools.pairwise(edges)
    ]
    assert float(output.mean_given(prompt)) == pytest.approx(sum(pieces), rel=1e-6)


def test_without_bounds_to_speak_of_the_mean_output_is_a_power_of_the_prompt():
    """E[exp(a + b·ln L + noise)] of a log-normal L is exp(a + b·mu + (b²·s² + sigma²)/2)."""
    output = CorrelatedOutput(2.0, 0.4, 0.5, 1e-6, 1e15)
    prompts = TruncatedLogNormal(8.0, 1.0, 1e-2, 1e9)
    assert output.mean(prompts) == pytest.approx(np.exp(2 + 0.4 * 8 + (0.4**2 + 0.5**2) / 2), rel=1e-8)


def test_over_recorded_prompts_it_is_the_mean_over_requests():
    output, record = CorrelatedOutput(3.0, 0.3, 0.5, 1, 4096), Empirical([100, 1000, 30_000], [5, 3, 2])
    each = output.mean_given(np.array([100.0, 1000, 30_000]))
    assert output.mean(record) == pytest.approx(float(each @ [0.5, 0.3, 0.2]), rel=1e-12)


def test_drawn_pairs_have_the_mean_output_within_their_error():
    rng, output = np.random.default_rng(5), CorrelatedOutput(3.0, 0.4, 0.8, 1, 2000)
    prompts = LENGTHS.quantile(rng.random(200_000))
    mu = 3.0 + 0.4 * np.log(prompts)
    low, high = stats.norm.cdf(-mu / 0.8), stats.norm.cdf((np.log(2000) - mu) / 0.8)
    drawn = np.exp(mu + 0.8 * stats.norm.ppf(low + rng.random(prompts.size) * (high - low)))
    assert output.mean(LENGTHS) == pytest.approx(drawn.mean(), abs=4 * drawn.std() / np.sqrt(drawn.size))


@pytest.mark.parametrize("slope", [0.0, 1.0, -1.0])
def test_a_mean_far_outside_the_bounds_stays_at_the_nearer_bound(slope):
    assert float(CorrelatedOutput(40.0, slope, 0.01, 10, 1000).mean_given(100.0)) == pytest.approx(1000, rel=1e-3)
    assert float(CorrelatedOutput(-40.0, slope, 0.01, 10, 1000).mean_given(100.0)) == pytest.approx(10, rel=1e-3)


@given(st.floats(-30, 30), st.floats(0.01, 10))
def test_the_logarithm_of_a_normal_range_keeps_its_digits(low, width):
    ours = float(log_normal_between(low, low + width))
    assert ours == pytest.approx(float(log_normal_between(-low - width, -low)), rel=1e-12)
    if abs(low) < 5:
        assert np.exp(ours) == pytest.approx(stats.norm.cdf(low + width) - stats.norm.cdf(low), rel=1e-6)


@pytest.mark.parametrize(
    ("parameters", "said"), [((1, 1, 0.0, 1, 9), "sigma must be positive"), ((1, 1, 1, 9, 9), "needs 0 < min < max")]
)
def test_an_impossible_output_is_refused(parameters, said):
    with pytest.raises(ValueError, match=said):
        CorrelatedOutput(*parameters)


def test_a_share_that_is_cached_alike_for_all_scales_every_length():
    left = uncached(LENGTHS, lambda lengths: np.full_like(lengths, 0.25))
    assert mean(left) == pytest.approx(0.75 * mean(LENGTHS), rel=1e-3)
    for t in (1000.0, 19400.0, 60000.0):
        ours, theirs = float(offload_fraction(left, 0.75 * t)), float(offload_fraction(LENGTHS, t))
        assert ours == pytest.approx(theirs, abs=1 / 4096)


def test_recorded_prompts_keep_their_counts_and_at_least_one_token():
    record = Empirical([100, 1000, 10_000], [7, 2, 1])
    left = uncached(record, lambda lengths: np.where(lengths > 5000, 1.0, 0.5))
    assert left.samples.tolist() == [1, 50, 500]
    assert left.requests.tolist() == [1, 7, 2]


def test_equal_shares_of_a_gamma_keep_the_mean_of_a_cache_that_grows_with_the_prompt():
    dist = TruncatedGamma(1.5, 8000, 100, 131072)
    left = uncached(dist, lambda lengths: lengths / 262144)
    below, _ = dist.partial_expectations([lambda x: x * (1 - x / 262144)], np.inf)
    assert mean(left) == pytest.approx(float(below[0]), rel=1e-3)
