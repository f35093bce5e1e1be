import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from planner.engine import lengths
from planner.engine.curves import LogLogCurve, QuadraticFit
from planner.engine.lengths import Empirical, TruncatedLogNormal, mean, mean_above, mean_below, offload_fraction, smooth
from tests.engine.case_study import H20, H200, LENGTHS, S_KV, TOKENS
from tests.examples import examples

log_normals = st.builds(
    lambda mu, sigma, z, span: TruncatedLogNormal(mu, sigma, np.exp(mu + z * sigma), np.exp(mu + (z + span) * sigma)),
    st.floats(2, 12), st.floats(0.05, 2.5), st.floats(-4, 2), st.floats(0.1, 8),
)  # fmt: skip


def reference(dist, f, low, high):
    """E[f(L); low < L <= high] by SciPy's adaptive quadrature of SciPy's density."""
    a, b = ((np.log(x) - dist.mu) / dist.sigma for x in (dist.shortest, dist.longest))
    norm = stats.truncnorm(a, b)

    def integrand(z):
        return f(np.exp(dist.mu + dist.sigma * z)) * norm.pdf(z)

    ends = [(np.log(np.clip(x, dist.shortest, dist.longest)) - dist.mu) / dist.sigma for x in (low, high)]
    return integrate.quad(integrand, *ends, epsrel=1e-10, epsabs=0, limit=500)[0]


def test_the_case_study_has_the_published_mean_share_and_lengths():
    assert mean(LENGTHS) == pytest.approx(27486, abs=1)
    assert float(LENGTHS.quantile(0.9)) == pytest.approx(62410, abs=1)
    assert float(offload_fraction(LENGTHS, 19400)) == pytest.approx(0.4957, abs=5e-5)
    assert float(mean_above(LENGTHS, 19400)) == pytest.approx(45046, abs=1)
    assert float(mean_below(LENGTHS, 19400)) == pytest.approx(10224, abs=1)


@examples(60)
@given(log_normals, st.floats(0.02, 0.98))
def test_closed_forms_agree_with_adaptive_quadrature(dist, q):
    t = float(dist.quantile(q))
    one, same = (lambda x: np.ones_like(x)), (lambda x: x)
    assert float(dist.between(0, t)) == pytest.approx(q, rel=1e-6, abs=1e-9)
    assert float(offload_fraction(dist, t)) == pytest.approx(reference(dist, one, t, np.inf), rel=1e-6)
    assert float(mean_above(dist, t)) == pytest.approx(
        reference(dist, same, t, np.inf) / reference(dist, one, t, np.inf), rel=1e-6
    )
    assert float(mean_below(dist, t)) == pytest.approx(
        reference(dist, same, 0, t) / reference(dist, one, 0, t), rel=1e-6
    )


@pytest.mark.parametrize("curve", [S_KV, H200, H20, QuadraticFit(TOKENS, [0.44, 0.72, 1.84, 7.40])])
@pytest.mark.parametrize("t", [200.0, 19400.0, 62410.0, 130000.0])
def test_the_mean_of_a_curve_agrees_with_adaptive_quadrature(curve, t):
    below, above = LENGTHS.partial_expectations([curve], t, curve.kinks)
    edges = [128.0, *[k for k in TOKENS if 128 < k < t], t]
    pieces = [reference(LENGTHS, curve, low, high) for low, high in itertools.pairwise(edges)]
    assert float(below[0]) == pytest.approx(sum(pieces), rel=1e-9)
    edges = [t, *[k for k in TOKENS if t < k < 131072], 131072.0]
    pieces = [reference(LENGTHS, curve, low, high) for low, high in itertools.pairwise(edges)]
    assert float(above[0]) == pytest.approx(sum(pieces), rel=1e-9)


@given(log_normals, st.floats(-1, 2.5), st.floats(0.01, 0.99))
def test_the_mean_of_a_power_agrees_with_its_closed_form(dist, power, q):
    """E[L^k; L <= t] of a log-normal is a shifted normal probability, so quadrature can be held to many digits."""
    t = float(dist.quantile(q))
    z = [(np.log(x) - dist.mu) / dist.sigma - power * dist.sigma for x in (dist.shortest, t)]
    scale = np.exp(power * dist.mu + (power * dist.sigma) ** 2 / 2) / dist.mass
    closed = scale * float(lengths.normal_between(*z))
    below, _ = dist.partial_expectations([lambda x: x**power], t)
    assert float(below[0]) == pytest.approx(closed, rel=1e-8)


def test_doubling_the_panels_changes_nothing_in_the_sixth_digit(monkeypatch):
    thresholds = np.geomspace(130, 131000, 50)
    coarse = np.stack(LENGTHS.partial_expectations([S_KV, H200, H20], thresholds, TOKENS))
    monkeypatch.setattr(smooth, "PANELS", 2 * smooth.PANELS)
    fine = np.stack(LENGTHS.partial_expectations([S_KV, H200, H20], thresholds, TOKENS))
    assert fine == pytest.approx(coarse, rel=1e-10)


@given(log_normals, st.lists(st.floats(1, 1e7), min_size=1, max_size=20))
def test_both_sides_of_any_threshold_add_up_to_the_whole(dist, thresholds):
    below, above = dist.partial_expectations([np.sqrt], thresholds)
    whole = dist.partial_expectations([np.sqrt], np.inf)[0]
    assert below + above == pytest.approx(np.broadcast_to(whole[:, np.newaxis], below.shape), rel=1e-9)
    assert dist.between(0, thresholds) + offload_fraction(dist, thresholds) == pytest.approx(np.ones(len(thresholds)))


@given(log_normals, st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_the_quantile_undoes_the_distribution(dist, q):
    at = dist.quantile(np.sort(q))
    assert np.all((at >= dist.shortest * (1 - 1e-12)) & (at <= dist.longest * (1 + 1e-12)))
    assert dist.between(0, at) == pytest.approx(np.sort(q), abs=1e-6)


def test_a_range_far_out_in_either_tail_keeps_its_digits():
    for low, high in ((np.exp(30), np.exp(31)), (np.exp(-31), np.exp(-30))):
        dist = TruncatedLogNormal(0.0, 1.0, low, high)
        assert low < mean(dist) < high
        assert float(dist.between(0, dist.quantile(0.5))) == pytest.approx(0.5, abs=1e-6)


def test_beyond_the_range_everything_or_nothing_is_offloaded():
    assert offload_fraction(LENGTHS, [0, 127, 128, 131072, 1e9, np.inf]) == pytest.approx([1, 1, 1, 0, 0, 0])
    assert np.isnan(mean_above(LENGTHS, 131072))
    assert np.isnan(mean_below(LENGTHS, 100))


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ((9.9, 0.0, 128, 131072), "sigma must be positive"),
        ((9.9, -1.0, 128, 131072), "sigma must be positive"),
        ((9.9, float("nan"), 128, 131072), "sigma must be positive"),
        ((9.9, 1.0, 131072, 128), "needs 0 < min < max"),
        ((9.9, 1.0, 0, 128), "needs 0 < min < max"),
        ((9.9, 1.0, 128, np.inf), "needs 0 < min < max"),
        ((9.9, 0.01, 1e6, 2e6), "no request falls between"),
    ],
)
def test_an_impossible_distribution_is_refused(parameters, said):
    with pytest.raises(ValueError, match=said):
        TruncatedLogNormal(*parameters)


samples = st.lists(st.floats(1, 1e6), min_size=1, max_size=50)


@given(samples, st.lists(st.floats(0.5, 2e6), min_size=1, max_size=5))
def test_empirical_moments_are_plain_averages_over_the_samples(found, thresholds):
    dist, values = Empirical(found), np.array(found)
    for t in thresholds:
        over = values > t
        assert float(offload_fraction(dist, t)) == pytest.approx(over.mean())
        for side, ours in ((over, mean_above(dist, t)), (~over, mean_below(dist, t))):
            assert float(ours) == (
                pytest.approx(values[side].mean()) if side.any() else pytest.approx(np.nan, nan_ok=True)
            )
        below, above = dist.partial_expectations([H20], t)
        assert float(below[0]) == pytest.approx(np.where(over, 0, H20(values)).mean())
        assert float(above[0]) == pytest.approx(np.where(over, H20(values), 0).mean())


@given(samples, st.floats(0, 1))
def test_an_empirical_quantile_is_the_sample_at_that_rank(found, q):
    expected = np.quantile(found, q, method="inverted_cdf")
    assert float(Empirical(found).quantile(q)) == pytest.approx(expected)


def test_many_samples_of_a_log_normal_agree_with_its_closed_forms():
    drawn = LENGTHS.quantile((np.arange(200_000) + 0.5) / 200_000)
    dist = Empirical(drawn)
    assert mean(dist) == pytest.approx(mean(LENGTHS), rel=1e-4)
    assert float(mean_above(dist, 19400)) == pytest.approx(float(mean_above(LENGTHS, 19400)), rel=1e-4)
    curve = LogLogCurve(TOKENS, [0.44, 0.72, 1.84, 7.40])
    ours, theirs = (d.partial_expectations([curve], 19400, curve.kinks)[1] for d in (dist, LENGTHS))
    assert ours == pytest.approx(theirs, rel=1e-4)


@pytest.mark.parametrize("bad", [[], [0.0], [-1.0, 2.0], [1.0, np.nan], [1.0, np.inf]])
def test_impossible_samples_are_refused(bad):
    with pytest.raises(ValueError, match="sample"):
        Empirical(bad)
