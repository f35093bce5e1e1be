"""Lengths of which only a histogram is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.engine.lengths import Bucketed, Empirical, mean, offload_fraction
from planner.engine.throughput import Form, work
from tests.engine.case_study import H20, LENGTHS, S_KV, prfaas_pd

DOUBLINGS = 2.0 ** np.arange(7, 18)


def bucketed(bounds, lengths=LENGTHS):
    return Bucketed(bounds, np.diff(lengths.between(0.0, bounds)))


def test_between_its_bounds_it_has_the_shares_that_were_counted():
    found = Bucketed([100, 400, 900, 2000], [3, 0, 1])
    assert found.between([0, 100, 400, 900], [100, 400, 900, 2000]) == pytest.approx([0, 0.75, 0, 0.25])
    assert (found.shortest, found.longest) == (100, 2000)


def test_one_bucket_is_even_over_the_logarithm_of_the_length():
    found = Bucketed([100, 10_000], [7])
    assert found.between(0, 1000) == pytest.approx(0.5)
    assert mean(found) == pytest.approx((10_000 - 100) / np.log(100))


def test_narrow_buckets_have_the_work_of_the_distribution_that_was_counted():
    fine, thresholds = bucketed(np.geomspace(128, 131_072, 800)), [0.0, 500.0, 19_400.0, 131_072.0, np.inf]
    ours, theirs = (work(prfaas_pd(lengths=lengths), thresholds, Form.EXACT) for lengths in (fine, LENGTHS))
    for name in ("offload_fraction", "prfaas_s", "pd_p_s", "link_bits"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), rel=1e-4, abs=1e-5)


def test_doubling_buckets_are_good_to_a_percent():
    coarse = bucketed(DOUBLINGS)
    assert mean(coarse) == pytest.approx(mean(LENGTHS), rel=1e-3)
    ours, theirs = (lengths.partial_expectations([H20, S_KV], 19_400.0) for lengths in (coarse, LENGTHS))
    assert np.array(ours) == pytest.approx(np.array(theirs), rel=0.01)


@given(st.lists(st.integers(0, 50), min_size=10, max_size=10).filter(any), st.floats(0.0, 1.0))
def test_a_quantile_is_the_least_length_that_so_many_do_not_exceed(counts, share):
    found = Bucketed(DOUBLINGS, counts)
    at = float(found.quantile(share))
    assert found.between(0, at) == pytest.approx(share, abs=1e-9)
    assert found.between(0, at * (1 - 1e-6)) <= share + 1e-12
    assert found.shortest <= at <= found.longest


@given(st.lists(st.integers(0, 50), min_size=10, max_size=10).filter(any), st.floats(50.0, 3e5))
def test_what_is_up_to_a_threshold_and_beyond_it_is_all(counts, threshold):
    found = Bucketed(DOUBLINGS, counts)
    below, above = found.partial_expectations([H20], threshold)
    assert below + above == pytest.approx(found.partial_expectations([H20], np.inf)[0])
    assert offload_fraction(found, threshold) == pytest.approx(1 - found.between(0, threshold))
    lengths = Empirical(found.quantile((np.arange(20_000) + 0.5) / 20_000))
    assert below == pytest.approx(lengths.partial_expectations([H20], threshold)[0], rel=2e-3, abs=2e-3)


@pytest.mark.parametrize(
    ("bounds", "counts", "message"),
    [
        ([5], [], "two at least"),
        ([5, 4], [1], "rising"),
        ([0, 4], [1], "positive"),
        ([1, 4], [1, 2], "a count for each"),
        ([1, 4], [0], "not all 0"),
        ([1, 4, 9], [1, -1], "not negative"),
    ],
)
def test_buckets_that_cannot_be_are_refused(bounds, counts, message):
    with pytest.raises(ValueError, match=message):
        Bucketed(bounds, counts)
