"""A link's weather against its closed forms, against each cause by itself, and the same however it is asked for."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import SeedSequence
from scipy.integrate import quad
from scipy.stats import kstest, norm

from planner.engine.simulation.weather import (
    ConstantUse,
    DiurnalUse,
    OrnsteinUhlenbeck,
    Outages,
    RecordedUse,
    Recording,
    Weather,
    Window,
)
from tests.examples import examples

INF = math.inf
GBPS = 1e9
HOUR_S, DAY_S = 3600.0, 86_400.0


def over(weather, until_s, nominal_bps=100 * GBPS, seed=7, every_s=None):
    """Times and rates until a time, asked for at once or piece by piece."""
    stream = weather.stream(nominal_bps, SeedSequence(seed))
    asked = [until_s] if every_s is None else [*np.arange(0.0, until_s, every_s), until_s]
    parts = [stream.upto(float(time)) for time in asked]
    return tuple(np.concatenate(part) for part in zip(*parts, strict=True))


def at(found, times):
    """The rate at each time."""
    return found[1][np.searchsorted(found[0], times, side="right") - 1]


def mean(found, until_s):
    """Over time."""
    return np.sum(np.diff(np.append(found[0], until_s)) * found[1]) / until_s


def test_a_link_without_weather_carries_its_bandwidth_for_ever():
    stream = Weather().stream(5.0, SeedSequence(1))
    assert [part.tolist() for part in stream.upto(1e9)] == [[0.0], [5.0]]
    assert stream.ended
    assert stream.upto(1e12)[0].size == 0


# --- others' use -------------------------------------------------------------------------------------------------


def test_what_others_use_all_the_time_is_missing_all_the_time():
    weather = Weather(background=ConstantUse(0.3))
    assert [part.tolist() for part in over(weather, 1e6, 10.0)] == [[0.0], [7.0]]
    assert weather.mean_bps(10.0) == 7.0


def test_what_swings_with_the_day_leaves_least_at_its_peak():
    found = over(Weather(background=DiurnalUse(0.4, 0.3, peak_hour=15)), 2 * DAY_S, 1.0)
    hours = np.array([3, 9, 15, 21, 27, 33, 39, 45]) + 1 / 120
    np.testing.assert_allclose(at(found, hours * HOUR_S), [0.9, 0.6, 0.3, 0.6] * 2, atol=1e-3)


def test_a_minute_of_the_day_has_the_value_of_its_middle():
    found = over(Weather(background=DiurnalUse(0.5, 0.2, peak_hour=0)), HOUR_S, 1.0)
    assert found[0].tolist() == [60.0 * minute for minute in range(61)]
    assert found[1][10] == pytest.approx(0.5 - 0.2 * math.cos(2 * math.pi * 630 / DAY_S), rel=1e-12)


@pytest.mark.parametrize(("share", "amplitude"), [(0.4, 0.3), (0.2, 0.5), (0.9, 0.6)])
def test_the_mean_over_a_day_is_that_of_the_swing_with_its_ends_cut_off(share, amplitude):
    swing = DiurnalUse(share, amplitude, 12)
    exact = quad(lambda x: 1 - min(max(share + amplitude * math.cos(x), 0), 1), 0, math.pi, limit=500)[0] / math.pi
    assert Weather(swing).mean_bps(1.0) == pytest.approx(exact, rel=1e-5)
    assert mean(over(Weather(swing), DAY_S, 1.0), DAY_S) == pytest.approx(exact, rel=1e-5)


def test_a_recorded_share_begins_anew_after_its_end():
    weather = Weather(background=RecordedUse(10.0, [0.0, 0.5, 0.75]))
    found = over(weather, 55.0, 8.0)
    assert found[0].tolist() == [0, 10, 20, 30, 40, 50]
    assert found[1].tolist() == [8, 4, 2, 8, 4, 2]
    assert weather.mean_bps(8.0) == pytest.approx(14 / 3)


# --- fluctuation -------------------------------------------------------------------------------------------------


def factors(law, count=200_000, seed=3):
    return at(over(Weather(fluctuation=law), count * law.step_s, 1.0, seed), (np.arange(count) + 0.5) * law.step_s)


def test_the_fluctuation_is_normal_from_the_beginning():
    starts = [over(Weather(fluctuation=OrnsteinUhlenbeck(0.1, 60, 1)), 0.0, 1.0, seed)[1][0] for seed in range(1000)]
    assert kstest(starts, norm(1, 0.1).cdf).pvalue > 0.01


@pytest.mark.parametrize(("relaxation_s", "step_s"), [(30.0, 1.0), (1.0, 1.0), (5.0, 10.0)])
def test_its_correlation_falls_with_the_relaxation_time(relaxation_s, step_s):
    found = factors(OrnsteinUhlenbeck(0.1, relaxation_s, step_s)) - 1
    assert found.mean() == pytest.approx(0, abs=4 * 0.1 * math.sqrt(2 * max(relaxation_s / step_s, 1) / found.size))
    assert found.std() == pytest.approx(0.1, rel=0.04)
    for lag in (1, 3):
        correlation = np.corrcoef(found[:-lag], found[lag:])[0, 1]
        assert correlation == pytest.approx(math.exp(-lag * step_s / relaxation_s), abs=0.02)


def test_a_finer_step_is_the_same_process():
    """The exact law of a step of 2 s is that of two steps of 1 s: no error of discretisation in sd or correlation."""
    fine = factors(OrnsteinUhlenbeck(0.1, 5.0, 1.0))[::2]
    coarse = factors(OrnsteinUhlenbeck(0.1, 5.0, 2.0))
    for found in (fine, coarse):
        assert found.std() == pytest.approx(0.1, rel=0.02)
        assert np.corrcoef(found[:-1], found[1:])[0, 1] == pytest.approx(math.exp(-0.4), abs=0.02)


@pytest.mark.parametrize("sd", [0.0, 0.1, 0.5, 1.0, 3.0])
def test_the_mean_is_exactly_1_where_the_cuts_are_as_far_on_either_side(sd):
    assert OrnsteinUhlenbeck(sd, 60, 1).mean == pytest.approx(1, rel=1e-15)


@pytest.mark.parametrize(("sd", "most"), [(0.1, 1.0), (0.5, 1.0), (0.5, 1.3), (1.0, 3.0), (0.2, 0.9)])
def test_the_mean_of_a_normal_variable_with_its_ends_cut_off(sd, most):
    law = OrnsteinUhlenbeck(sd, 2.0, 10.0, most)
    inner = quad(lambda x: x * norm.pdf(x, 1, sd), 0, most, epsabs=0)[0]
    assert law.mean == pytest.approx(inner + most * norm.sf(most, 1, sd), rel=1e-9)
    found = factors(law)
    assert 0 <= found.min() <= found.max() <= most
    assert found.mean() == pytest.approx(law.mean, abs=0.005)


def test_a_link_that_cannot_exceed_its_bandwidth_loses_two_fifths_of_a_deviation():
    assert OrnsteinUhlenbeck(0.1, 60, 1, most_share=1).mean == pytest.approx(1 - 0.1 / math.sqrt(2 * math.pi))


# --- outages -----------------------------------------------------------------------------------------------------


def test_stays_up_and_down_are_exponential_and_in_turn():
    found = over(Weather(outages=Outages(300.0, 20.0)), 3e6, 1.0)
    assert set(found[1].tolist()) == {0.0, 1.0}
    assert np.all(np.diff(found[1]) != 0)
    stays, up = np.diff(found[0]), found[1][:-1] == 1
    assert kstest(stays[up], "expon", args=(0, 300)).pvalue > 0.01
    assert kstest(stays[~up], "expon", args=(0, 20)).pvalue > 0.01


def test_a_link_is_up_as_often_at_the_beginning_as_at_any_time():
    weather = Weather(outages=Outages(30.0, 10.0))
    first = [over(weather, 0.0, 1.0, seed)[1][0] for seed in range(2000)]
    assert np.mean(first) == pytest.approx(0.75, abs=4 * math.sqrt(0.75 * 0.25 / 2000))
    assert weather.mean_bps(8.0) == 6.0


# --- windows and recordings --------------------------------------------------------------------------------------


def test_the_least_of_the_windows_that_are_open_caps_the_link():
    windows = (Window(10, 40, 6.0), Window(20, 30, 0.0), Window(35, 50, 3.0), Window(60, 70, 99.0))
    found = over(Weather(windows=windows), 100.0, 10.0)
    assert found[0].tolist() == [0, 10, 20, 30, 35, 50]
    assert found[1].tolist() == [10, 6, 0, 6, 3, 10]


def test_windows_that_touch_change_nothing_between():
    found = over(Weather(windows=(Window(0, 5, 2.0), Window(5, 9, 2.0))), 100.0, 10.0)
    assert [part.tolist() for part in found] == [[0, 9], [2, 10]]


def test_a_recording_stands_in_the_bandwidths_place():
    weather = Weather(recording=Recording(60.0, [40.0, 10.0]), windows=(Window(90, 150, 20.0),))
    found = over(weather, 300.0, 1e6)
    assert [part.tolist() for part in found] == [[0, 60, 120, 150, 180, 240, 300], [40, 10, 20, 40, 10, 40, 10]]
    assert weather.mean_bps(1e6) == 25.0


# --- together ----------------------------------------------------------------------------------------------------

ALL = Weather(
    DiurnalUse(0.3, 0.2, 14),
    OrnsteinUhlenbeck(0.15, 120.0, 7.0),
    Outages(2000.0, 100.0),
    (Window(5000, 9000, 40 * GBPS), Window(8000, 8500)),
)


def test_the_capacity_is_the_product_of_the_causes_below_the_windows():
    found = over(ALL, DAY_S)
    times = np.sort(np.random.default_rng(1).uniform(0, DAY_S, 5000))
    share, factor, up = (
        at(over(Weather(**cause), DAY_S, 1.0), times)
        for cause in ({"background": ALL.background}, {"fluctuation": ALL.fluctuation}, {"outages": ALL.outages})
    )
    cap = at(over(Weather(windows=ALL.windows), DAY_S, INF), times)
    np.testing.assert_allclose(at(found, times), np.minimum(cap, 100 * GBPS * share * factor * up), rtol=1e-12)


def test_the_mean_in_the_long_run_is_the_product_of_the_means():
    weather = Weather(DiurnalUse(0.3, 0.2, 14), OrnsteinUhlenbeck(0.3, 60.0, 20.0, 1.0), Outages(500.0, 100.0))
    until_s = 60 * DAY_S
    assert mean(over(weather, until_s), until_s) == pytest.approx(weather.mean_bps(100 * GBPS), rel=0.01)


def test_a_cause_more_leaves_the_others_as_they_were():
    outages = over(Weather(outages=ALL.outages), DAY_S)
    both = over(Weather(outages=ALL.outages, fluctuation=ALL.fluctuation), DAY_S)
    times = np.linspace(0, DAY_S, 9999)
    np.testing.assert_array_equal(at(outages, times) == 0, at(both, times) == 0)


@examples(40)
@given(st.lists(st.floats(0, 2e5), min_size=1, max_size=12), st.integers(0, 2**63))
def test_the_same_bits_are_given_out_whatever_is_asked_for(asked, seed):
    stream, once = (ALL.stream(GBPS, SeedSequence(seed)) for _ in range(2))
    parts = [stream.upto(time) for time in sorted(asked)]
    whole = once.upto(max(asked))
    for i in (0, 1):
        np.testing.assert_array_equal(np.concatenate([part[i] for part in parts]), whole[i])
    for (times, _), (before, until) in zip(parts, pairwise([-1.0, *sorted(asked)]), strict=True):
        assert np.all((times > before) & (times <= until))


def test_every_change_changes_something():
    times, bps = over(ALL, 5 * DAY_S, every_s=777.0)
    assert times[0] == 0
    assert np.all(np.diff(times) > 0)
    assert np.all(np.diff(bps) != 0)
    assert np.all((bps >= 0) & (bps <= 2 * 100 * GBPS))


def test_how_often_it_changes_is_known_beforehand():
    """1/60 for the day, 1/7 for the fluctuation, 2/2100 for outages."""
    assert ALL.changes_per_s == pytest.approx(1 / 60 + 1 / 7 + 2 / 2100)
    assert Weather(ConstantUse(0.1), windows=ALL.windows, recording=Recording(5, [1, 2])).changes_per_s == 0.2
    weather = Weather(DiurnalUse(0.3, 0.2, 14), outages=Outages(50, 10))
    assert over(weather, 50 * DAY_S)[0].size / (50 * DAY_S) == pytest.approx(weather.changes_per_s, rel=0.1)


def test_the_past_is_not_given_out_again():
    stream = ALL.stream(GBPS, SeedSequence(1))
    stream.upto(1000.0)
    assert stream.upto(1000.0)[0].size == stream.upto(10.0)[0].size == 0
    assert not stream.ended


def test_windows_end_and_then_nothing_changes_any_more():
    stream = Weather(windows=(Window(10, 20),)).stream(1.0, SeedSequence(1))
    assert [stream.upto(15.0)[1].tolist(), stream.ended] == [[1, 0], False]
    assert [stream.upto(20.0)[1].tolist(), stream.ended] == [[1], True]


def test_an_endless_link_has_no_shares_but_windows_and_outages():
    shares = Weather(ConstantUse(1.0), OrnsteinUhlenbeck(0.5, 60, 1), windows=(Window(10, 20, 5.0),))
    assert [part.tolist() for part in over(shares, 1e4, INF)] == [[0, 10, 20], [INF, 5, INF]]
    assert set(over(Weather(outages=Outages(10, 10)), 1e3, INF)[1].tolist()) == {0.0, INF}
    assert shares.mean_bps(INF) == INF
    assert over(Weather(recording=Recording(1.0, [3.0])), 10.0, INF)[1].tolist() == [3.0]


def test_a_recording_and_others_who_vary_have_no_mean_in_closed_form():
    recording = Recording(60.0, [40.0, 10.0])
    assert Weather(DiurnalUse(0.3, 0.2, 14), recording=recording).mean_bps(1.0) is None
    assert Weather(ConstantUse(0.2), recording=recording).mean_bps(1.0) == 20.0


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ConstantUse(1.1), "share must be from 0 to 1, got 1.1"),
        (lambda: DiurnalUse(-0.1, 0, 0), "mean_share must"),
        (lambda: DiurnalUse(0.1, math.nan, 0), "amplitude must"),
        (lambda: DiurnalUse(0.1, 0, 24), "peak_hour must"),
        (lambda: RecordedUse(0, [0.1]), "interval_s must"),
        (lambda: RecordedUse(1, [0.1, 1.1]), "shares must"),
        (lambda: RecordedUse(1, []), "shares must"),
        (lambda: Recording(1, [1, INF]), "bps must"),
        (lambda: Recording(1, [-1]), "bps must"),
        (lambda: OrnsteinUhlenbeck(-1, 1, 1), "sd_share must"),
        (lambda: OrnsteinUhlenbeck(1, 0, 1), "relaxation_s must"),
        (lambda: OrnsteinUhlenbeck(1, 1, INF), "step_s must"),
        (lambda: OrnsteinUhlenbeck(1, 1, 1, 0), "most_share must"),
        (lambda: Outages(0, 1), "mean_up_s must"),
        (lambda: Outages(1, INF), "mean_down_s must"),
        (lambda: Window(-1, 1), "begin_s must"),
        (lambda: Window(1, 1), "end_s must"),
        (lambda: Window(1, 2, -1), "bps must"),
        (lambda: ALL.stream(-1, SeedSequence(1)), "nominal_bps must"),
        (lambda: ALL.stream(1, SeedSequence(1)).upto(INF), "finite time"),
    ],
)
def test_a_wrong_figure_is_named(make, said):
    with pytest.raises(ValueError, match=said):
        make()


def test_what_was_recorded_cannot_be_changed_afterwards():
    bps = np.array([1.0, 2.0])
    recording = Recording(1.0, bps)
    bps[0] = 9.0
    assert recording.bps.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        recording.bps[0] = 9.0
