"""Errors by chance: repeatable, the same for the same figure; and who wins how often, against closed forms."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import ndtr

from planner.engine.outcomes import outcomes
from planner.engine.uncertainty import errors, spread, wins
from planner.engine.varying import Outcome, Parameter, Subject
from tests.engine.case_study import homogeneous, naive
from tests.examples import examples

DRAWS = 4000
KEY, OTHER = (hashlib.sha256(name).digest() for name in (b"one", b"other"))


def test_errors_are_the_same_for_the_same_figure_and_seed_and_for_no_other():
    assert np.array_equal(errors(KEY, 0.1, 50, 7), errors(KEY, 0.1, 50, 7))
    assert not np.any(errors(KEY, 0.1, 50, 7) == errors(KEY, 0.1, 50, 8))
    assert not np.any(errors(KEY, 0.1, 50, 7) == errors(OTHER, 0.1, 50, 7))


def test_errors_are_log_normal_about_one_and_not_correlated():
    one, other = (np.log(errors(key, 0.15, DRAWS, 1)) for key in (KEY, OTHER))
    assert one.mean() == pytest.approx(0.0, abs=4 * 0.15 / np.sqrt(DRAWS))
    assert one.std() == pytest.approx(0.15, rel=4 / np.sqrt(2 * DRAWS))
    assert np.corrcoef(one, other)[0, 1] == pytest.approx(0.0, abs=4 / np.sqrt(DRAWS))


def test_a_figure_without_error_is_as_it_is():
    assert np.all(errors(KEY, 0.0, 10, 1) == 1.0)


def test_percentiles_are_those_of_a_log_normal():
    found = spread(errors(KEY, 0.2, DRAWS, 3))
    assert [found.p05, found.p50, found.p95] == pytest.approx(np.exp(0.2 * np.array([-1.645, 0, 1.645])), rel=0.02)
    assert found.mean == pytest.approx(np.exp(0.2**2 / 2), rel=0.01)


def test_percentiles_of_what_may_be_infinite_are_told_without_a_warning():
    assert spread(np.array([1.0, np.inf, np.inf, np.inf])).mean == np.inf


def test_who_beats_whom_is_what_the_normal_distribution_says():
    """One stage binds in each: Λ is N / T, of independent errors, so that P(A > B) = Φ(Δ ln Λ / √(σ_A² + σ_B²))."""
    first, second = Subject(naive()), Subject(homogeneous(9, 300))
    slow, quick = errors(KEY, 0.10, DRAWS, 1), errors(OTHER, 0.15, DRAWS, 1)
    values = [
        outcomes(first, {Parameter.T_PREFILL_PRFAAS: slow}, [Outcome.LAMBDA_MAX]),
        outcomes(second, {Parameter.T_PREFILL_PD_P: quick}, [Outcome.LAMBDA_MAX]),
    ]
    base = [outcomes(each, {}, [Outcome.LAMBDA_MAX])[Outcome.LAMBDA_MAX][0] for each in (first, second)]
    expected = ndtr(np.log(base[0] / base[1]) / np.hypot(0.10, 0.15))
    found = wins(np.stack([each[Outcome.LAMBDA_MAX] for each in values]), more_is_better=True)
    assert 0.6 < expected < 0.9
    assert found.beats[0, 1] == pytest.approx(expected, abs=4 * found.beats_error[0, 1])
    assert found.beats_error[0, 1] == pytest.approx(np.sqrt(expected * (1 - expected) / DRAWS), rel=0.05)
    assert found.best[0] == found.beats[0, 1]


def test_an_error_in_common_does_not_put_a_ranking_in_doubt():
    shared = errors(KEY, 0.25, DRAWS, 1)
    found = wins(np.stack([2.0 * shared, 2.1 * shared]), more_is_better=False)
    assert found.beats[0, 1] == 1.0
    assert found.best.tolist() == [1.0, 0.0]


def test_identical_deployments_beat_each_other_in_half_of_the_cases_and_are_best_in_equal_shares():
    values = np.broadcast_to(errors(KEY, 0.2, 100, 1), (4, 100))
    found = wins(values, more_is_better=True)
    assert np.all(found.beats == 0.5)
    assert np.all(found.beats_error == 0.0)
    assert np.all(found.best == 0.25)


@given(arrays(float, (4, 30), elements=st.sampled_from([0.5, 1.0, 1.5, np.inf])), st.booleans())
@examples(50)
def test_one_beats_the_other_or_the_other_it_and_somebody_is_best(values, more_is_better):
    found = wins(values, more_is_better)
    assert found.beats + found.beats.T == pytest.approx(np.ones((4, 4)))
    assert found.best.sum() == pytest.approx(1.0)
    assert np.array_equal(wins(-values, not more_is_better).beats, found.beats)
