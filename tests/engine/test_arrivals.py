"""Arrivals: drawn ones against closed forms, closed forms against matrices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm

from planner.engine.arrivals import DAY_S, Diurnal, Mmpp2, Poisson, Recorded, Renewal
from tests.examples import examples

BURSTY = Mmpp2((1.0, 10.0), (60.0, 5.0))
PROCESSES = [
    Poisson(), Renewal(0.5), Renewal(3.0), BURSTY, Mmpp2((0.0, 1.0), (2.0, 1.0)),
    Diurnal(0.6, 15.0), Diurnal(1.0, 0.0), Recorded(60.0, [1.0, 0.0, 5.0, 2.0]),
]  # fmt: skip
IDS = [repr(process)[:40] for process in PROCESSES]


def counts(times, window):
    """Arrivals in each whole window from time 0."""
    windows = int(times[-1] / window)
    return np.histogram(times, window * np.arange(windows + 1))[0]


def variance_over_mean(times, window):
    found = counts(times, window)
    return found.var() / found.mean()


@pytest.mark.parametrize("process", PROCESSES, ids=IDS)
def test_drawn_times_rise_and_come_at_the_rate_asked_for(process):
    times = process.sample(200_000, 20.0, np.random.default_rng(1))
    assert times.shape == (200_000,)
    assert np.all(np.diff(times) >= 0)
    assert times[0] > 0
    expected = process.rate_at(np.linspace(0, times[-1], 100_001), 20.0).mean() * times[-1]
    error = np.sqrt(process.index_of_dispersion(20.0) / times.size)
    assert times.size == pytest.approx(expected, rel=5 * error + 1e-3)


@pytest.mark.parametrize("process", PROCESSES, ids=IDS)
def test_one_generator_gives_the_same_times_again_and_another_gives_others(process):
    first, again, other = (process.sample(1000, 3.0, np.random.default_rng(seed)) for seed in (7, 7, 8))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert process.sample(0, 3.0, np.random.default_rng(7)).shape == (0,)


@pytest.mark.parametrize("process", PROCESSES, ids=IDS)
def test_twice_the_rate_is_asked_for_and_given(process):
    at = np.array([0.0, 3600.0, 40_000.0])
    assert process.rate_at(at, 8.0) == pytest.approx(2 * process.rate_at(at, 4.0))


@pytest.mark.parametrize("process", PROCESSES[:5], ids=IDS[:5])
def test_the_variation_between_drawn_arrivals_is_the_closed_forms(process):
    gaps = np.diff(process.sample(400_000, 2.0, np.random.default_rng(2)))
    assert gaps.std() / gaps.mean() == pytest.approx(process.cv(2.0), rel=0.03)


@pytest.mark.parametrize("process", PROCESSES[:4], ids=IDS[:4])
def test_in_long_windows_drawn_counts_vary_as_the_index_of_dispersion_says(process):
    times = process.sample(1_000_000, 20.0, np.random.default_rng(3))
    window = 500.0 if process is BURSTY else 20.0
    assert variance_over_mean(times, window) == pytest.approx(process.index_of_dispersion(20.0), rel=0.25)


@pytest.mark.parametrize("window", [0.5, 3.0, 20.0])
def test_in_short_windows_too_where_that_has_a_closed_form(window):
    times = BURSTY.sample(1_000_000, 5.0, np.random.default_rng(4))
    assert variance_over_mean(times, window) == pytest.approx(BURSTY.index_of_dispersion(5.0, window), rel=0.1)


@examples(40)
@given(
    st.tuples(st.floats(0, 10), st.floats(0.1, 10)), st.tuples(st.floats(0.1, 100), st.floats(0.1, 100)),
    st.floats(0.1, 50), st.floats(0.01, 100),
)  # fmt: skip
def test_the_closed_forms_of_a_hidden_state_are_those_of_its_matrices(multipliers, sojourns, rate, window):
    """Moments of the phase-type time between arrivals, and of counts by the matrix exponential."""
    process = Mmpp2(multipliers, sojourns)
    generator = np.array([[-1, 1], [1, -1]]) / np.array(sojourns)[:, np.newaxis]
    arriving = np.diag(process.rates(rate))
    state = np.array(sojourns) / sum(sojourns)
    one = np.ones(2)
    assert state @ arriving @ one == pytest.approx(rate)
    at_arrival = state @ arriving / rate
    stay = np.linalg.inv(arriving - generator)
    first, second = at_arrival @ stay @ one, 2 * at_arrival @ stay @ stay @ one
    assert process.cv(rate) ** 2 == pytest.approx(second / first**2 - 1, rel=1e-6)
    # Var N(w) = λw + 2 ∫ (w - u) cov(u) du, cov the covariance of the rate with itself u seconds later
    decay = -np.trace(generator)
    later = np.linspace(0, window, 5)
    covariance = np.array([state @ arriving @ expm(generator * u) @ arriving @ one - rate**2 for u in later])
    assert covariance == pytest.approx(covariance[0] * np.exp(-decay * later), rel=1e-6, abs=1e-9 * rate**2)
    integral = covariance[0] * (window / decay - (1 - np.exp(-decay * window)) / decay**2)
    assert process.index_of_dispersion(rate, window) == pytest.approx(1 + 2 * integral / (rate * window), rel=1e-5)


def test_a_state_that_does_not_change_the_rate_is_poisson():
    process = Mmpp2((2.0, 2.0), (10.0, 1.0))
    assert process.cv(4.0) == process.index_of_dispersion(4.0) == process.index_of_dispersion(4.0, 7.0) == 1


def test_arrivals_that_are_switched_off_at_times_vary_as_the_interrupted_poisson_process():
    """c² = 1 + 2·λ·w / (w + g)², w and g the rates of switching off and on (Kuczura, Bell System Technical Journal
    52 (1973) 437-448)."""
    process = Mmpp2((1.0, 0.0), (2.0, 4.0))
    rate, off, on = process.rates(3.0)[0], 1 / 2, 1 / 4
    assert process.cv(3.0) ** 2 == pytest.approx(1 + 2 * rate * off / (off + on) ** 2)


def test_a_day_is_busiest_at_its_peak_and_keeps_its_mean():
    process = Diurnal(0.5, 15.0)
    day = process.rate_at(np.arange(0, DAY_S, 60), 10.0)
    assert day.mean() == pytest.approx(10)
    assert np.argmax(day) == 15 * 60
    assert (day.max(), day.min()) == (pytest.approx(15), pytest.approx(5))


def test_drawn_days_follow_the_day_and_vary_as_the_mixed_exponential():
    process, rate = Diurnal(0.8, 6.0), 5.0
    times = process.sample(2_000_000, rate, np.random.default_rng(5))
    whole = times[times < DAY_S * int(times[-1] / DAY_S)]
    hours = np.histogram(whole % DAY_S, 24, (0, DAY_S))[0] / (whole.size / 24)
    middles = (np.arange(24) + 0.5) * 3600
    assert hours == pytest.approx(process.rate_at(middles, 1.0), abs=0.02)
    gaps = np.diff(whole)
    assert gaps.std() / gaps.mean() == pytest.approx(process.cv(rate), rel=0.01)
    assert Diurnal(1.0, 6.0).cv(rate) is None


def test_a_recorded_rate_is_followed_interval_by_interval_and_begins_anew():
    process = Recorded(10.0, [1.0, 0.0, 3.0])
    assert process.mean_rps == pytest.approx(4 / 3)
    assert process.rate_at([0, 9.9, 10, 25, 30, 39], 4 / 3).tolist() == pytest.approx([1, 1, 0, 3, 1, 1])
    times = process.sample(100_000, 40.0, np.random.default_rng(6))
    shares = np.histogram(times % 30, [0, 10, 20, 30])[0] / times.size
    assert shares == pytest.approx([0.25, 0, 0.75], abs=0.01)


def test_time_zero_of_a_renewal_process_falls_into_a_long_gap_more_likely():
    """The time to the first arrival has mean (1 + cv²) / 2 of a gap, not a whole one."""
    first = [Renewal(2.0).sample(1, 1.0, np.random.default_rng(seed))[0] for seed in range(20_000)]
    assert np.mean(first) == pytest.approx((1 + 4) / 2, rel=0.06)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Renewal(0.0), "cv must be positive"),
        (lambda: Mmpp2((-1.0, 1.0), (1.0, 1.0)), "rates must not be negative"),
        (lambda: Mmpp2((0.0, 0.0), (1.0, 1.0)), "nor both 0"),
        (lambda: Mmpp2((1.0, 2.0), (0.0, 1.0)), "sojourns must be positive"),
        (lambda: Diurnal(1.5, 0.0), "amplitude must be from 0 to 1"),
        (lambda: Diurnal(0.5, 24.0), "peak_hour must be from 0"),
        (lambda: Recorded(0.0, [1.0]), "interval_s must be positive"),
        (lambda: Recorded(1.0, []), "recorded rates"),
        (lambda: Recorded(1.0, [0.0, 0.0]), "not all 0"),
        (lambda: Recorded(1.0, [-1.0, 2.0]), "not negative"),
        (lambda: Recorded(1.0, [np.nan]), "finite"),
    ],
)
def test_impossible_arrivals_are_refused(make, said):
    with pytest.raises(ValueError, match=said):
        make()
