"""Prompts, what is cached of them, and answers, of the same requests."""

import numpy as np
import pytest
from scipy.stats import norm, spearmanr

from planner.engine.lengths import CorrelatedOutput, Empirical, JointLengths, TruncatedLogNormal, uncached
from planner.engine.lengths import mean as mean_of

PROMPTS = TruncatedLogNormal(9.0, 1.0, 128, 131_072)
COUNT = 200_000


def drawn(joint, count=COUNT, seed=1):
    prompts, outputs = (np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(2))
    return joint.draw(count, prompts, outputs)


def test_a_quantile_of_the_answer_is_that_of_the_normal_about_the_line():
    law = CorrelatedOutput(1.0, 0.5, 0.3, 1e-9, 1e12)
    inputs, shares = np.array([100.0, 5_000.0, 80_000.0]), np.array([0.1, 0.5, 0.99])
    expected = np.exp(1.0 + 0.5 * np.log(inputs) + 0.3 * norm.ppf(shares))
    assert law.quantile_given(inputs, shares) == pytest.approx(expected, rel=1e-12)


def test_bounds_condition_answers_and_do_not_clip_them():
    law = CorrelatedOutput(1.0, 0.5, 1.0, 100, 300)
    share = np.linspace(0.001, 0.999, 999)
    found = law.quantile_given(np.full(999, 5_000.0), share)
    mu = 1.0 + 0.5 * np.log(5_000)
    low, high = norm.cdf((np.log([100, 300]) - mu) / 1.0)
    assert (norm.cdf(np.log(found) - mu) - low) / (high - low) == pytest.approx(share, rel=1e-9)
    assert 100 < found[0] < found[-1] < 300


def test_answers_go_with_their_prompts_and_have_the_mean_of_the_formulas():
    law = CorrelatedOutput(2.0, 0.5, 0.5, 1, 100_000)
    found = drawn(JointLengths(PROMPTS, law))
    assert spearmanr(found.prompt, found.output).statistic > 0.6
    assert found.output.mean() == pytest.approx(law.mean(PROMPTS), rel=0.01)
    assert (found.increment == found.prompt).all()


def test_increments_are_distributed_as_the_formulas_have_them():
    tokens, hit = np.array([500.0, 50_000.0]), np.array([0.2, 0.9])
    found = drawn(JointLengths(PROMPTS, 1024.0, tokens, hit))
    expected = uncached(PROMPTS, lambda at: np.interp(np.log(at), np.log(tokens), hit))
    assert found.increment.mean() == pytest.approx(mean_of(expected), rel=0.01)
    for q in (0.1, 0.5, 0.9):
        assert np.quantile(found.increment, q) == pytest.approx(float(expected.quantile(q)), rel=0.02)
    assert (found.output == 1024).all()


def test_a_prompt_that_is_wholly_cached_has_its_last_token_prefilled():
    found = drawn(JointLengths(Empirical([4_096.0]), 10.0, np.array([1.0]), np.array([1.0])), count=10)
    assert (found.increment == 1).all()


def test_answers_of_their_own_distribution_do_not_depend_on_prompts():
    found = drawn(JointLengths(PROMPTS, TruncatedLogNormal(5.0, 0.8, 1, 4_096)))
    assert abs(spearmanr(found.prompt, found.output).statistic) < 0.01
    assert found.output.mean() == pytest.approx(mean_of(TruncatedLogNormal(5.0, 0.8, 1, 4_096)), rel=0.01)
