"""Whether the profile still describes what is seen, and a new one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.engine.advice import Histogram, Verdict, drift, observed_mean, per_request, refitted, scaled
from tests.engine.case_study import H20, H200, LENGTHS, S_KV
from tests.engine.seen import DOUBLINGS, FINE, counted

RNG = np.random.default_rng(2)
DRAWN = LENGTHS.quantile(RNG.random(20_000))
SECONDS = np.array([0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32])


def of(factor, bounds=FINE, told=True, curve=H200, drawn=DRAWN):
    """Drift of a curve where what is seen is so many times what it says."""
    lengths = counted(drawn, bounds, sum=float(drawn.sum()) if told else None)
    times = factor * curve(drawn)
    return drift(curve, lengths, observed_mean(counted(times, SECONDS, sum=float(times.sum()))))


@pytest.mark.parametrize("curve", [H200, H20])
@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "describes"), (1.3, "departs"), (0.7, "departs")])
def test_a_slower_or_quicker_prefill_is_told_by_its_ratio(curve, factor, verdict):
    found = of(factor, curve=curve)
    assert found.ratio == pytest.approx(factor, rel=0.01)
    assert found.interval.low < factor < found.interval.high
    assert found.verdict == verdict


def test_with_doubling_buckets_it_takes_the_sum_of_lengths_to_tell():
    assert of(1.3, DOUBLINGS, told=False).verdict is Verdict.OPEN
    assert of(1.3, DOUBLINGS).verdict is Verdict.DEPARTS


def test_of_few_requests_nothing_is_said():
    assert of(1.5, drawn=DRAWN[:20]).verdict is Verdict.OPEN


def test_bytes_a_request_are_held_against_the_lengths_that_were_sent_away():
    away = DRAWN[DRAWN > 19_400]
    sent = 1.2 * float(S_KV(away).sum())
    found = drift(S_KV, counted(away, sum=float(away.sum())), per_request(sent, away.size))
    assert found.ratio == pytest.approx(1.2, rel=0.01)
    assert found.verdict is Verdict.DEPARTS


def test_without_a_request_there_is_no_drift():
    none = Histogram((1.0, 2.0), (0.0, 0.0, 0.0))
    assert drift(H200, none, per_request(1.0, 1.0)) is None
    assert drift(H200, counted(DRAWN), per_request(0.0, 0.0)) is None


def test_a_mean_without_a_sum_lies_between_those_of_the_buckets_ends():
    found = observed_mean(Histogram((1.0, 2.0, 4.0), (1.0, 1.0, 2.0, 0.0)))
    assert (found.low, found.high) == ((0 + 1 + 2 * 2) / 4, (1 + 2 + 2 * 4) / 4)
    assert observed_mean(Histogram((1.0, 2.0), (1.0, 1.0, 1.0))).high == np.inf
    assert observed_mean(Histogram((1.0, 2.0), (1.0, 1.0, 1.0), sum=9.0)).high == 3.0


@given(
    st.lists(st.floats(130.0, 130_000.0), min_size=40, max_size=80), st.booleans(), st.sampled_from([H200, H20, S_KV])
)
def test_wherever_the_lengths_lie_the_interval_holds_the_truth(drawn, told, curve):
    """Of requests that took just what the profile says the ratio is 1."""
    lengths = np.array(drawn)
    seen = counted(lengths, DOUBLINGS, sum=float(lengths.sum()) if told else None)
    found = drift(curve, seen, per_request(float(curve(lengths).sum()), lengths.size), confidence=1e-9)
    assert found.interval.low <= 1 + 1e-6
    assert found.interval.high >= 1 - 1e-6


def test_one_factor_takes_the_ratio_into_the_curve():
    found = of(1.3)
    assert scaled(H200, found)(8192.0) == pytest.approx(1.3 * 0.72, rel=0.01)


def test_points_of_a_new_profile_follow_where_it_changed():
    """Quadratic work has grown, the fixed part has not: 8K are as quick as ever, 32K and 128K slower."""
    truth = {8192: 1.0, 32768: 1.2, 131072: 1.6}
    change = np.exp(np.interp(np.log(DRAWN), np.log(list(truth)), np.log(list(truth.values()))))
    fine = np.geomspace(0.3, 32, 300)
    found = refitted(H200, counted(DRAWN), counted(change * H200(DRAWN), fine))
    assert found(8192.0) / H200(8192.0) == pytest.approx(1.0, rel=0.03)
    assert found(32_768.0) / H200(32_768.0) == pytest.approx(1.2, rel=0.03)


def test_a_new_profile_needs_two_points_among_the_requests():
    short = DRAWN[DRAWN < 1000]
    assert refitted(H200, counted(short), counted(H200(short), SECONDS)) is None
