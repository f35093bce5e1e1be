"""Fits: parameters come back from what was drawn with them, and nothing is likelier than the fit."""

import csv
import gzip
import json
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from planner.engine import fitting
from planner.engine.lengths import Empirical, Mixture, TruncatedGamma, TruncatedLogNormal, TruncatedPareto
from tests.engine.case_study import LENGTHS
from tests.examples import examples
from tests.shared_data import SHARED, needs_shared_data

TWO = Mixture((0.3, 0.7), (TruncatedLogNormal(6, 0.4, 50, 1e5), TruncatedLogNormal(9, 0.7, 50, 1e5)))
THREE = Mixture(
    (0.2, 0.5, 0.3),
    (
        TruncatedLogNormal(5, 0.3, 20, 131072),
        TruncatedLogNormal(8, 0.5, 20, 131072),
        TruncatedLogNormal(10.5, 0.4, 20, 131072),
    ),
)


def drawn(dist, count=20_000, seed=1):
    return dist.quantile(np.random.default_rng(seed).random(count))


def likelihood(dist, lengths):
    return fitting.log_likelihood(dist, fitting.sample(lengths))


def test_a_truncated_log_normal_is_found_again_within_its_sampling_error():
    found = fitting.log_normal(fitting.sample(drawn(LENGTHS), bounds=(128, 131072)))
    assert found.mu == pytest.approx(9.90, abs=4 * 1.2 / np.sqrt(20_000))
    assert found.sigma == pytest.approx(1.00, abs=4 * 1.0 / np.sqrt(20_000))
    assert (found.shortest, found.longest) == (128, 131072)


def test_hard_truncation_does_not_hide_a_log_normal():
    truth = TruncatedLogNormal(9.0, 1.5, 3000, 30_000)
    found = fitting.log_normal(fitting.sample(drawn(truth, 200_000), bounds=(3000, 30_000)))
    assert found.mu == pytest.approx(9.0, abs=0.05)
    assert found.sigma == pytest.approx(1.5, rel=0.1)


def test_without_bounds_to_speak_of_the_fit_is_the_mean_and_deviation_of_the_logarithms():
    lengths = np.exp(np.random.default_rng(2).normal(8, 1.2, 5000))
    found = fitting.log_normal(fitting.sample(lengths, bounds=(1e-3, 1e9)))
    assert found.mu == pytest.approx(np.log(lengths).mean(), abs=1e-4)
    assert found.sigma == pytest.approx(np.log(lengths).std(), abs=1e-4)


def test_a_gamma_is_found_again_and_agrees_with_scipys_fit_where_nothing_is_cut():
    lengths = np.random.default_rng(3).gamma(2.5, 4000, 20_000) + 1e-3
    found = fitting.gamma(fitting.sample(lengths, bounds=(1e-6, 1e9)))
    shape, _, scale = stats.gamma.fit(lengths, floc=0)
    assert (found.shape, found.scale) == (pytest.approx(shape, rel=1e-4), pytest.approx(scale, rel=1e-4))
    cut = TruncatedGamma(0.7, 20_000, 500, 40_000)
    again = fitting.gamma(fitting.sample(drawn(cut, 100_000), bounds=(500, 40_000)))
    assert again.shape == pytest.approx(0.7, abs=0.05)
    assert again.scale == pytest.approx(20_000, rel=0.1)


def test_a_pareto_is_found_again():
    found = fitting.pareto(fitting.sample(drawn(TruncatedPareto(1.3, 100, 131072)), bounds=(100, 131072)))
    assert found.alpha == pytest.approx(1.3, abs=4 * 1.3 / np.sqrt(20_000))


def test_lengths_that_do_not_thin_out_are_no_pareto():
    given_ones = fitting.sample(np.linspace(1000, 2000, 500))
    assert fitting.pareto(given_ones) is None
    assert "pareto" not in [found.parameters["distribution"] for found in fitting.report(np.linspace(1000, 2000, 500))]


@pytest.mark.parametrize(("truth", "parts"), [(TWO, 2), (THREE, 3)], ids=["two", "three"])
def test_a_mixture_is_found_again(truth, parts):
    bounds = (truth.shortest, truth.longest)
    found = fitting.mixture(fitting.sample(drawn(truth), bounds=bounds), parts)
    assert found.weights == pytest.approx(truth.weights, abs=0.02)
    assert [part.mu for part in found.parts] == pytest.approx([part.mu for part in truth.parts], abs=0.05)
    assert [part.sigma for part in found.parts] == pytest.approx([part.sigma for part in truth.parts], rel=0.06)


TRUTHS = [LENGTHS, TruncatedGamma(1.8, 5000, 100, 60_000), TruncatedPareto(0.8, 64, 131072), TWO, THREE]


@pytest.mark.parametrize("truth", TRUTHS, ids=["log-normal", "gamma", "pareto", "two", "three"])
def test_the_family_that_was_drawn_from_is_at_least_as_likely_as_the_truth_and_best_by_bic(truth):
    lengths, bounds = drawn(truth), (truth.shortest, truth.longest)
    best = fitting.report(lengths, bounds=bounds)[0]
    assert type(best.distribution) is type(truth)
    assert best.log_likelihood >= fitting.log_likelihood(truth, fitting.sample(lengths, bounds=bounds)) - 0.5
    assert best.free_parameters == {Mixture: 5 if truth is TWO else 8, TruncatedPareto: 1}.get(type(truth), 2)
    assert best.ks_distance < 1.63 / np.sqrt(lengths.size)  # the 1 % point of a known distribution
    assert best.warning is None


@examples(15)
@given(st.floats(-0.3, 0.3), st.floats(-0.3, 0.3), st.integers(0, 100))
def test_no_parameters_nearby_are_likelier_than_the_fitted_ones(a, b, seed):
    lengths = drawn(TWO, 500, seed)
    given_ones = fitting.sample(lengths)
    low, high = given_ones.shortest, given_ones.longest
    normal, gamma, power = fitting.log_normal(given_ones), fitting.gamma(given_ones), fitting.pareto(given_ones)
    others = [
        (normal, TruncatedLogNormal(normal.mu + a, normal.sigma * np.exp(b), low, high)),
        (gamma, TruncatedGamma(gamma.shape * np.exp(a), gamma.scale * np.exp(b), low, high)),
        *([(power, TruncatedPareto(power.alpha * np.exp(a), low, high))] if power else []),
    ]
    for best, other in others:
        assert likelihood(best, lengths) >= likelihood(other, lengths) - 1e-4


def test_the_likelihood_is_the_sum_of_scipys_logarithmic_densities():
    lengths = drawn(LENGTHS, 500)
    theirs = stats.truncnorm((np.log(128) - 9.9), (np.log(131072) - 9.9), 9.9, 1.0).logpdf(np.log(lengths))
    ours = fitting.log_likelihood(LENGTHS, fitting.sample(lengths, bounds=(128, 131072)))
    assert ours == pytest.approx((theirs - np.log(lengths)).sum())
    found = fitting.candidate(fitting.sample(lengths, bounds=(128, 131072)), LENGTHS)
    assert found.aic == pytest.approx(2 * 2 - 2 * ours)
    assert found.bic == pytest.approx(2 * np.log(500) - 2 * ours)


def test_counts_stand_for_as_many_samples():
    values, counts = np.unique(np.round(drawn(TWO, 3000), -1), return_counts=True)
    short, long = fitting.report(values, counts), fitting.report(np.repeat(values, counts))
    for ours, theirs in zip(short, long, strict=True):
        assert ours.parameters["distribution"] == theirs.parameters["distribution"]
        assert ours.log_likelihood == pytest.approx(theirs.log_likelihood, rel=1e-6)
        assert ours.ks_distance == pytest.approx(theirs.ks_distance, abs=1e-3)


def test_the_ks_distance_is_scipys():
    lengths = drawn(TWO, 2000)
    theirs = stats.ks_1samp(lengths, lambda x: LENGTHS.between(0, x), method="asymp").statistic
    assert fitting.ks_distance(LENGTHS, lengths) == pytest.approx(theirs, abs=1e-9)
    assert fitting.ks_distance(TruncatedPareto(1.0, 10, 20), [15.0], [4]) == pytest.approx(2 / 3)


def test_a_record_against_itself_lies_on_the_diagonal():
    lengths = np.round(drawn(TWO, 1000))
    pairs = fitting.qq(Empirical(lengths), lengths)
    assert pairs.probability == pytest.approx(np.arange(1, 100) / 100)
    assert np.array_equal(pairs.recorded, pairs.fitted)
    assert pairs.recorded == pytest.approx(np.quantile(lengths, np.arange(1, 100) / 100, method="inverted_cdf"))


def test_a_fit_that_is_far_off_says_to_keep_the_record():
    found = fitting.candidate(fitting.sample([100.0, 100.0, 5000.0]), TruncatedLogNormal(6, 1, 100, 5000))
    assert found.ks_distance > 0.05
    assert "keep the empirical lengths" in found.warning


@pytest.mark.parametrize(
    ("lengths", "counts", "bounds", "said"),
    [
        ([], None, None, "at least one sample"),
        ([100, 100], None, None, "two different lengths, got 100 only"),
        ([0, 100], None, None, "must be positive"),
        ([1, np.nan], None, None, "must be positive and finite"),
        ([1, 100], [1, 2, 3], None, "as many counts"),
        ([1, 100], None, (10, 1000), "bounds must hold every length"),
    ],
)
def test_a_record_that_cannot_be_fitted_is_refused(lengths, counts, bounds, said):
    with pytest.raises(ValueError, match=said):
        fitting.report(lengths, counts, bounds)


@pytest.mark.parametrize(
    "lengths",
    [
        [10, 20],
        np.arange(1, 101),
        [*np.full(1000, 500.0), 1e6],
        np.repeat([100.0, 900.0, *range(1001, 1040)], 100),
        1 + np.arange(100) / 1e6,
        1e8 + np.arange(1000) * 1e5,
    ],
    ids=["two", "even", "outlier", "spikes", "narrow", "huge"],
)
def test_odd_records_are_fitted_to_finite_numbers(lengths):
    for found in fitting.report(lengths):
        assert np.isfinite([found.log_likelihood, found.bic, found.ks_distance]).all()
        assert 0 < found.ks_distance <= 1


def read(name):
    return gzip.open(SHARED / "traces" / name, "rt", encoding="utf-8")


def mooncake():
    with read("mooncake_conversation_trace.jsonl.gz") as lines:
        return [json.loads(line)["input_length"] for line in lines]


def azure():
    with read("AzureLLMInferenceTrace_2023_conv.csv.gz") as lines:
        return [float(row["ContextTokens"]) for row in csv.DictReader(lines)]


@needs_shared_data
@pytest.mark.parametrize(
    ("entry", "lengths"), [("mooncake_conversation", mooncake), ("azure_2023_conv", azure)], ids=["mooncake", "azure"]
)
def test_a_public_trace_is_fitted_at_least_as_well_as_by_its_published_moments(entry, lengths):
    published = json.loads((SHARED / "traces.json").read_text())[entry]["stats"]["input_lognormal_fit"]
    record = lengths()
    wide = fitting.log_normal(fitting.sample(record, bounds=(1e-6, 1e12)))
    assert wide.mu == pytest.approx(published["mu"], abs=1e-3)
    assert wide.sigma == pytest.approx(published["sigma"], abs=1e-3)
    moments = TruncatedLogNormal(published["mu"], published["sigma"], min(record), max(record))
    started = time.perf_counter()
    found = {each.parameters["distribution"]: each for each in fitting.report(record)}
    assert time.perf_counter() - started < 5  # under 0.5 s on a machine that does nothing else
    assert found["truncated_log_normal"].log_likelihood > likelihood(moments, record)
    assert found["mixture"].bic < found["truncated_log_normal"].bic
    assert found["truncated_log_normal"].warning is not None
