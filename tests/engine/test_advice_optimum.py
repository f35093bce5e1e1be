"""The best t on lengths that are known by histogram, against the planner's own search; and how well it is known."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from planner.engine.advice.loads import lengths_of, loads
from planner.engine.advice.optimum import (
    Capacity,
    best_split,
    best_threshold,
    confidence_of_side,
    interval_by_chance,
    sides,
    threshold_interval,
)
from planner.engine.lengths import Empirical, TruncatedLogNormal
from planner.engine.search import Problem, best
from planner.engine.throughput import Form, evaluate
from tests.engine.case_study import DECODE, LENGTHS, prfaas_pd
from tests.engine.seen import DOUBLINGS, counted, histogram

CASE = prfaas_pd()
CERTAIN = 1e18
"""So many observations that chance plays no part."""


def there(bps=100e9, n_p=3, n_d=5, n_prfaas=4):
    return Capacity(n_prfaas, bps, n_p, n_d, DECODE.instance_rps)


def seen(found):
    return loads(CASE, lengths_of(found, 131_072))


FINE = seen(histogram(np.geomspace(128, 131_072, 700)))


def planned(deployment, free_split=False):
    return best(Problem(deployment, Form.EXACT, True, free_split))


@pytest.mark.parametrize("bps", [100e9, 10e9, 6e9])
@pytest.mark.parametrize("n_p", [1, 3, 5])
def test_on_a_fine_histogram_it_is_the_one_that_the_planner_finds(bps, n_p):
    optimum = planned(prfaas_pd(bandwidth_bps=bps, n_p=n_p, n_d=8 - n_p))
    assert best_threshold(FINE, there(bps, n_p, 8 - n_p)) == pytest.approx(optimum.threshold_tokens, rel=1e-3)


def test_the_case_study_gives_the_published_threshold():
    assert 19_600 <= best_threshold(FINE, there()) <= 20_000


def test_doubling_buckets_give_it_within_a_percent():
    assert best_threshold(seen(histogram(DOUBLINGS)), there()) == pytest.approx(19_652, rel=0.01)


@pytest.mark.parametrize("bps", [100e9, 10e9, 6e9])
def test_the_best_split_is_the_one_that_the_planner_finds(bps):
    assert best_split(FINE, there(bps)) == planned(prfaas_pd(bandwidth_bps=bps), True).prefill_instances


def test_a_side_that_nobody_serves_gets_nothing():
    assert best_threshold(FINE, there(n_p=0, n_d=8)) <= LENGTHS.shortest
    assert best_threshold(FINE, there(bps=0.0)) == pytest.approx(LENGTHS.longest)
    assert best_threshold(FINE, there(n_prfaas=0)) == pytest.approx(LENGTHS.longest)


COUNTS = st.lists(st.integers(0, 40), min_size=12, max_size=12).filter(lambda counts: sum(map(bool, counts)) > 1)
LINKS = st.floats(0.5e9, 200e9)


def histogram_of(counts):
    return replace(histogram(DOUBLINGS), counts=tuple(float(count) for count in counts))


@given(COUNTS, LINKS, st.floats(1.0, 20.0), st.integers(1, 6))
def test_more_bandwidth_never_raises_it(counts, bps, more, n_p):
    found = seen(histogram_of(counts))
    before, after = (best_threshold(found, there(each, n_p, 8 - n_p)) for each in (bps, bps * more))
    assert after <= before * (1 + 1e-9)


@given(COUNTS, LINKS, st.integers(1, 6), st.integers(0, 3))
def test_more_prefill_instances_of_either_side_move_it_their_way(counts, bps, n_p, more):
    found = seen(histogram_of(counts))
    here = best_threshold(found, there(bps, n_p, 20))
    assert best_threshold(found, there(bps, n_p + more, 20)) >= here * (1 - 1e-9)
    assert best_threshold(found, there(bps, n_p, 20, 4 + more)) <= here * (1 + 1e-9)


@given(COUNTS, LINKS, st.integers(1, 6), st.floats(0.0, 1.0))
def test_no_other_threshold_carries_more(counts, bps, n_p, share):
    found, capacity = seen(histogram_of(counts)), there(bps, n_p, 8 - n_p)
    rates = sides(found, capacity).lambda_max
    deployed = prfaas_pd(best_threshold(found, capacity), n_p, 8 - n_p, bandwidth_bps=bps, lengths=found.lengths)
    assert evaluate(deployed).lambda_max_rps >= rates.max() * (1 - 2e-3)


@given(COUNTS, LINKS, st.integers(1, 6), st.floats(10.0, 1e6))
def test_the_interval_holds_it_and_the_interval_by_chance(counts, bps, n_p, worth):
    found, capacity = seen(histogram_of(counts)), there(bps, n_p, 8 - n_p)
    t = best_threshold(found, capacity)
    outer, inner = (of(found, capacity, worth, 0.95) for of in (threshold_interval, interval_by_chance))
    assert outer.low <= inner.low <= t * (1 + 1e-9)
    assert t * (1 - 1e-9) <= inner.high <= outer.high * (1 + 1e-9)


@given(COUNTS, LINKS, st.integers(1, 6), st.integers(0, 2**32 - 1))
@example([0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 5], 1_840_667_427.0, 1, 82_937_399)  # lengths just above a bound
def test_wherever_in_their_buckets_the_lengths_lie_the_interval_has_a_best_threshold(counts, bps, n_p, seed):
    """By brute force: requests put anywhere, and the planner's own search over all of their lengths."""
    rng, ends = np.random.default_rng(seed), np.array([1.0, *DOUBLINGS, 262_144.0])
    some = np.flatnonzero(counts)
    places = np.concatenate([ends[i] + (ends[i + 1] - ends[i]) * rng.beta(0.3, 0.3, 3) for i in some])
    places = np.maximum(places, np.repeat(ends[some], 3) * (1 + 1e-9))
    lengths = Empirical(places, np.repeat(np.array(counts)[some], 3))
    deployed = prfaas_pd(19_400, n_p, 8 - n_p, bandwidth_bps=bps, lengths=lengths)
    found = seen(histogram_of(counts))
    interval = threshold_interval(found, there(bps, n_p, 8 - n_p), CERTAIN, 0.95)
    within = places[(places >= interval.low) & (places <= interval.high)]
    tried = np.array([interval.low, interval.high, *within])
    most = max(evaluate(replace(deployed, threshold_tokens=float(t))).lambda_max_rps for t in tried)
    assert most >= planned(deployed).lambda_max_rps * (1 - 1e-6)


@pytest.mark.parametrize(
    ("bounds", "bps", "least", "most"),
    [(np.geomspace(128, 131_072, 300), 100e9, 0.92, 0.98), (np.geomspace(128, 131_072, 300), 10e9, 0.92, 0.98)],
)
def test_by_chance_it_covers_the_true_best_as_often_as_it_says(bounds, bps, least, most):
    """300 samples of 400 lengths: 95 % is 285 of them, with a standard deviation of 3.8, or 1.3 %."""
    assert least <= coverage(bounds, bps, interval_by_chance) <= most


def test_with_wide_buckets_the_interval_covers_it_nearly_always():
    assert coverage(DOUBLINGS, 100e9, threshold_interval) >= 0.99


def coverage(bounds, bps, interval):
    """Share of samples whose interval holds the best t of what they were drawn from."""
    rng, truth = np.random.default_rng(5), planned(prfaas_pd(bandwidth_bps=bps)).threshold_tokens
    found = []
    for _ in range(300):
        sample = counted(LENGTHS.quantile(rng.random(400)), bounds)
        at = interval(seen(sample), there(bps), sample.worth, 0.95)
        found.append(at.low <= truth <= at.high)
    return np.mean(found)


def test_decayed_counts_may_be_worth_more_than_their_sum():
    few, many = (histogram(requests=500.0, effective=effective) for effective in (None, 1000.0))
    narrow, wide = (interval_by_chance(seen(each), there(), each.worth, 0.95) for each in (many, few))
    ratio = np.log(wide.high / wide.low) / np.log(narrow.high / narrow.low)
    assert ratio == pytest.approx(np.sqrt(2), rel=0.05)


def test_confidence_in_the_side_grows_with_the_distance_and_with_the_sample():
    at = [confidence_of_side(FINE, there(), t, 500.0) for t in (19_652, 20_500, 24_000)]
    assert at[0] == pytest.approx(0.5, abs=0.01)
    assert at[0] < at[1] < at[2]
    assert confidence_of_side(FINE, there(), 20_500, 5000.0) > at[1]


def test_where_decode_binds_it_is_the_end_of_the_plateau_with_the_lower_ttft():
    """The planner breaks ties so: at 5/3 every t of a range carries all that decode does."""
    lengths = TruncatedLogNormal(9.0, 1.0, 128, 131_072)
    deployed = prfaas_pd(lengths=lengths, n_p=5, n_d=2)
    found = loads(deployed, lengths_of(histogram(np.geomspace(128, 131_072, 700), lengths=lengths), 131_072))
    optimum = planned(deployed)
    assert optimum.lambda_max_rps == pytest.approx(2 * DECODE.instance_rps)
    t = best_threshold(found, there(n_p=5, n_d=2))
    quickest = evaluate(replace(deployed, threshold_tokens=t)).ttft.mean
    assert quickest <= optimum.ttft_mean_s * 1.001
