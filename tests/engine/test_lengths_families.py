"""Gamma, Pareto and mixtures, held to SciPy's own distributions; weighted records, held to the record spelt out."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from planner.engine.lengths import (
    Empirical,
    Mixture,
    TruncatedGamma,
    TruncatedLogNormal,
    TruncatedPareto,
    mean,
    mean_above,
    mean_below,
    offload_fraction,
)
from tests.engine.case_study import H20, H200, S_KV, TOKENS
from tests.examples import examples

modest = examples(20)
ratios = st.floats(1.2, 1e4)
gammas = st.builds(
    lambda shape, scale, at, ratio: TruncatedGamma(shape, scale, at * shape * scale, at * shape * scale * ratio),
    st.floats(0.05, 200), st.floats(0.1, 1e4), st.floats(0.02, 1.3), ratios,
)  # fmt: skip
paretos = st.builds(
    lambda alpha, least, ratio: TruncatedPareto(alpha, least, least * ratio),
    st.floats(0.05, 20) | st.just(1.0), st.floats(1, 1e4), ratios,
)  # fmt: skip
log_normals = st.builds(
    lambda mu, sigma, z, span: TruncatedLogNormal(mu, sigma, np.exp(mu + z * sigma), np.exp(mu + (z + span) * sigma)),
    st.floats(2, 12), st.floats(0.1, 2), st.floats(-3, 1), st.floats(0.3, 6),
)  # fmt: skip
smooth = gammas | paretos | log_normals


def mixed(parts, weights):
    return Mixture(tuple(np.array(weights[: len(parts)]) / sum(weights[: len(parts)])), tuple(parts))


mixtures = st.builds(
    mixed, st.lists(smooth, min_size=1, max_size=3), st.lists(st.floats(0.05, 1), min_size=3, max_size=3)
)
records = st.builds(
    lambda pairs: Empirical([length for length, _ in pairs], [count for _, count in pairs]),
    st.lists(st.tuples(st.floats(1, 1e6), st.integers(1, 1000)), min_size=1, max_size=30),
)
families = smooth | mixtures | records
shares = st.floats(0.02, 0.98)


def scipys(dist):
    """SciPy's distribution before truncation."""
    match dist:
        case TruncatedGamma():
            return stats.gamma(dist.shape, scale=dist.scale)
        case TruncatedPareto():
            return stats.pareto(dist.alpha, scale=dist.shortest)
        case _:
            return stats.lognorm(dist.sigma, scale=np.exp(dist.mu))


def reference(dist, f, low, high):
    """E[f(L); low < L <= high] by SciPy's adaptive quadrature, in ln L, of SciPy's truncated density."""
    if isinstance(dist, Mixture):
        return sum(w * reference(part, f, low, high) for w, part in zip(dist.weights, dist.parts, strict=True))
    plain = scipys(dist)
    mass = plain.cdf(dist.longest) - plain.cdf(dist.shortest)
    if dist.shortest > plain.median():
        mass = plain.sf(dist.shortest) - plain.sf(dist.longest)
    ends = np.log(np.clip([low, high], dist.shortest, dist.longest))
    middles = np.log(np.clip([plain.ppf(q) for q in (1e-6, 0.01, 0.5, 0.99, 1 - 1e-6)], *np.exp(ends)))
    edges = np.unique([*ends, *middles])
    # quad's absolute error of 1.5e-8 would be much of the little mass that a far truncation leaves
    allowed = {"epsabs": 1e-10 * mass / dist.longest, "epsrel": 1e-10, "limit": 200}
    pieces = [
        integrate.quad(lambda u: f(np.exp(u)) * plain.pdf(np.exp(u)) * np.exp(u), a, b, **allowed)[0]
        for a, b in itertools.pairwise(edges)
    ]
    return sum(pieces) / mass


@modest
@given(gammas | paretos | mixtures, shares)
def test_closed_forms_agree_with_adaptive_quadrature_of_scipys_density(dist, q):
    t = float(dist.quantile(q))
    one, same = (lambda x: np.ones_like(x)), (lambda x: x)
    above = float(offload_fraction(dist, t))
    assert above == pytest.approx(reference(dist, one, t, np.inf), rel=1e-6, abs=1e-9)
    below, rest = dist.partial_means(t)
    assert float(below) == pytest.approx(reference(dist, same, 0, t), rel=1e-6)
    assert float(rest) == pytest.approx(reference(dist, same, t, np.inf), rel=1e-6)


@modest
@given(gammas | paretos | mixtures, shares, st.floats(-1, 2.5))
def test_the_mean_of_a_power_agrees_with_adaptive_quadrature(dist, q, power):
    t = float(dist.quantile(q))
    below, above = dist.partial_expectations([lambda x: x**power], t)
    assert float(below[0]) == pytest.approx(reference(dist, lambda x: x**power, 0, t), rel=1e-6)
    assert float(above[0]) == pytest.approx(reference(dist, lambda x: x**power, t, np.inf), rel=1e-6)


@given(gammas | paretos | mixtures, st.lists(shares, min_size=1, max_size=6))
def test_quadrature_of_the_length_itself_meets_its_closed_form(dist, q):
    t = dist.quantile(np.sort(q))
    quadrature = np.stack([side[0] for side in dist.partial_expectations([lambda x: x], t)])
    assert quadrature == pytest.approx(np.stack(dist.partial_means(t)), rel=1e-8)


@given(families, st.lists(st.floats(0.5, 1e7), min_size=3, max_size=3))
def test_shares_of_neighbouring_ranges_add_up(dist, at):
    a, b, c = np.sort(at)
    assert float(dist.between(a, b) + dist.between(b, c)) == pytest.approx(float(dist.between(a, c)), abs=1e-12)
    assert float(dist.between(0, b) + offload_fraction(dist, b)) == pytest.approx(1, abs=1e-9)
    assert float(dist.between(c, a)) == 0


@given(families, st.lists(st.floats(0.5, 1e7), min_size=1, max_size=9))
def test_both_sides_of_any_threshold_add_up_to_the_whole(dist, thresholds):
    for below, above in (dist.partial_means(thresholds), dist.partial_expectations([np.sqrt], thresholds)):
        whole = below.reshape(-1)[0] + above.reshape(-1)[0]
        assert (below + above).reshape(-1) == pytest.approx(np.full(len(thresholds), whole), rel=1e-9)
    assert sum(map(float, dist.partial_means(thresholds[0]))) == pytest.approx(mean(dist), rel=1e-9)


@given(smooth | mixtures, st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_the_quantile_undoes_the_distribution(dist, q):
    q = np.sort(q)
    at = dist.quantile(q)
    assert np.all(np.diff(at) >= -1e-9 * at[:-1])
    assert np.all((at >= dist.shortest * (1 - 1e-12)) & (at <= dist.longest * (1 + 1e-12)))
    reached, before = dist.between(0, at * (1 + 1e-9)), dist.between(0, at * (1 - 1e-9))
    assert np.all(reached >= q - 1e-6)
    assert np.all(before <= q + 1e-6)


@given(families)
def test_thresholds_rise_over_the_range_and_keep_all_local_at_the_last(dist):
    tried = dist.thresholds(50)
    assert np.all(np.diff(tried) > 0)
    assert float(offload_fraction(dist, tried[-1])) == 0
    assert dist.shortest <= tried[0] <= tried[-1] <= dist.longest


def test_an_exponential_without_bounds_to_speak_of_has_its_textbook_moments():
    dist = TruncatedGamma(1.0, 1000.0, 1e-6, 1e6)
    assert mean(dist) == pytest.approx(1000, rel=1e-8)
    assert float(mean_above(dist, 500)) == pytest.approx(1500, rel=1e-8)  # it forgets
    assert float(dist.quantile(0.5)) == pytest.approx(1000 * np.log(2), rel=1e-8)
    assert float(offload_fraction(dist, 3000)) == pytest.approx(np.exp(-3), rel=1e-8)


def test_a_pareto_has_its_textbook_moments():
    dist = TruncatedPareto(2.0, 100.0, 1e9)
    assert mean(dist) == pytest.approx(200, rel=1e-6)  # alpha/(alpha - 1) of the least
    assert float(mean_above(dist, 1000)) == pytest.approx(2000, rel=1e-5)  # and of any threshold
    assert float(offload_fraction(dist, 1000)) == pytest.approx(0.01, rel=1e-6)
    assert mean(TruncatedPareto(1.0, 1.0, np.e)) == pytest.approx(1 / (1 - 1 / np.e), rel=1e-12)


def test_a_mixture_of_one_is_that_one_and_of_two_lies_between():
    short, long = TruncatedPareto(3.0, 10, 1000), TruncatedGamma(4.0, 5000.0, 2000, 1e5)
    assert mean(Mixture((1.0,), (short,))) == mean(short)
    both = Mixture((0.25, 0.75), (short, long))
    assert mean(both) == pytest.approx(0.25 * mean(short) + 0.75 * mean(long))
    assert float(both.between(0, 1500)) == pytest.approx(0.25)
    assert float(mean_below(both, 1500)) == pytest.approx(mean(short))
    assert float(both.quantile(0.25)) == pytest.approx(1000, rel=1e-6)  # nobody lies in the gap
    assert (both.shortest, both.longest) == (10, 1e5)


def test_a_gamma_far_out_in_either_tail_keeps_its_digits():
    for low, high in ((60.0, 90.0), (1e-9, 2e-9)):
        dist = TruncatedGamma(2.0, 1.0, low, high)
        plain = stats.gamma(2.0)
        assert low < mean(dist) < high
        assert float(dist.between(0, dist.quantile(0.5))) == pytest.approx(0.5, abs=1e-6)
        assert float(dist.between(low, (low + high) / 2)) == pytest.approx(
            (plain.sf(low) - plain.sf((low + high) / 2)) / (plain.sf(low) - plain.sf(high)) if low > 2 else
            (plain.cdf((low + high) / 2) - plain.cdf(low)) / (plain.cdf(high) - plain.cdf(low)), rel=1e-6,
        )  # fmt: skip


@pytest.mark.parametrize("curve", [S_KV, H200, H20])
@pytest.mark.parametrize(
    "dist", [TruncatedGamma(0.6, 40000, 128, 131072), TruncatedPareto(1.2, 512, 131072)], ids=["gamma", "pareto"]
)
def test_the_mean_of_a_curve_agrees_with_adaptive_quadrature(curve, dist):
    below, above = dist.partial_expectations([curve], 19400, curve.kinks)
    for ours, (low, high) in ((below, (0, 19400)), (above, (19400, 131072))):
        edges = [low, *[k for k in TOKENS if low < k < high], high]
        pieces = [reference(dist, curve, a, b) for a, b in itertools.pairwise(edges)]
        assert float(ours[0]) == pytest.approx(sum(pieces), rel=1e-8)


pairs = st.lists(st.tuples(st.floats(1, 1e6), st.integers(1, 20)), min_size=1, max_size=30)


@given(pairs, st.lists(st.floats(0.5, 2e6), min_size=1, max_size=5), st.floats(0, 1))
def test_a_record_with_counts_answers_as_the_record_spelt_out(found, thresholds, q):
    values, counts = map(np.array, zip(*found, strict=True))
    short, long = Empirical(values, counts), Empirical(np.repeat(values, counts))
    assert short.between(0, thresholds) == pytest.approx(long.between(0, thresholds), abs=0)
    assert float(short.quantile(q)) == float(long.quantile(q))
    assert np.stack(short.partial_means(thresholds)) == pytest.approx(np.stack(long.partial_means(thresholds)))
    ours, theirs = (np.stack(d.partial_expectations([H20], thresholds)) for d in (short, long))
    assert ours == pytest.approx(theirs)
    assert short.thresholds(10).tolist() == long.thresholds(10).tolist()


def test_twenty_million_requests_cost_their_distinct_lengths():
    dist = Empirical([100, 1000, 10_000], [10_000_000, 9_999_999, 1])
    assert float(offload_fraction(dist, 1000)) == 1 / 20_000_000
    assert mean(dist) == pytest.approx((100 * 1e7 + 1000 * 9_999_999 + 10_000) / 2e7, rel=1e-14)


GOOD = TruncatedPareto(1.0, 1, 2)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: TruncatedGamma(0.0, 1.0, 1, 2), "shape must be positive"),
        (lambda: TruncatedGamma(1.0, -1.0, 1, 2), "scale must be positive"),
        (lambda: TruncatedGamma(1.0, np.inf, 1, 2), "scale must be positive and finite"),
        (lambda: TruncatedGamma(1.0, 1.0, 2, 1), "needs 0 < min < max"),
        (lambda: TruncatedGamma(1.0, 1.0, 5000, 6000), "no request falls between .* move the mean towards the range"),
        (lambda: TruncatedPareto(0.0, 1, 2), "alpha must be positive"),
        (lambda: TruncatedPareto(np.nan, 1, 2), "alpha must be positive"),
        (lambda: TruncatedPareto(1.0, 0, 2), "needs 0 < min < max"),
        (lambda: Mixture((), ()), "a weight for each component, got 0 for 0"),
        (lambda: Mixture((1.0,), (GOOD, GOOD)), "a weight for each component, got 1 for 2"),
        (lambda: Mixture((0.5, 0.4), (GOOD, GOOD)), "must sum to 1, got 0.9"),
        (lambda: Mixture((1.5, -0.5), (GOOD, GOOD)), "weights must be positive, got -0.5"),
        (lambda: Empirical([1, 2], [1]), "as many counts as samples, got 1 counts for 2 samples"),
        (lambda: Empirical([1, 2], [1, 0]), "counts must be positive, got 0"),
        (lambda: Empirical([1, 2], [1.0, 2.0]), "whole numbers"),
        (lambda: Empirical([1, 2], [2**53, 2]), "at most 2\\^53 together"),
    ],
)
def test_an_impossible_distribution_is_refused_with_the_reason(make, said):
    with pytest.raises(ValueError, match=said):
        make()
