"""The latest of every series: rates over resets, wraps and gaps; ages; what a process finds that takes over."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring.readings import Histogram, Point
from monitoring.state import ABSENT, LIVE, STALE, Described, State, ages
from monitoring.state.histograms import HALF_LIFE_S, Kept
from monitoring.state.scalars import Latest, Loaded
from monitoring.storage.histograms import Observed
from monitoring.storage.rollups import Samples, intervals
from monitoring.storage.series import Known
from monitoring.storage.told import COUNTER, DELTA, GAUGE, Scalars, Told

T0 = 1_790_000_000_000
WINDOW_MS, GAP_MS = 10_000, 120_000


def told(rows, kind=COUNTER, before=()):
    """As the writer tells rows of series, ms since T0, and value; `before` has the last row of a series."""
    rows = sorted(rows)
    last = {series: (T0 + ms, value) for series, ms, value in before}
    columns = [[], [], []]
    for series, ms, value in rows:
        was = last.get(series, (-1, np.nan))
        for column, part in zip(columns, (was[0], was[1], -1), strict=True):
            column.append(part)
        last[series] = (T0 + ms, value)
    series = np.array([row[0] for row in rows], np.int64)
    samples = Samples(
        series,
        np.array([T0 + row[1] for row in rows], np.int64),
        np.array([row[2] for row in rows], float),
        np.full(len(rows), -1),
    )
    earlier = Samples(series, np.array(columns[0]), np.array(columns[1], float), np.array(columns[2]))
    found = intervals(samples, earlier, np.zeros(len(rows), np.int64))
    return Scalars(samples, found, np.full(len(rows), kind))


def fed(batches, kind=COUNTER):
    """What is kept of one series after batches of ms and value."""
    found, before = Latest(), ()
    for batch in batches:
        if batch:
            rows = [(1, ms, value) for ms, value in batch]
            found.take(told(rows, kind, before))
            before = (rows[-1],)
    return found


def value(latest):
    return latest.read().value[0]


# --- rates -------------------------------------------------------------------------------------------------------


def plain_rate(samples):
    """By the words alone: intervals that ended in the ten whole seconds up to the newest one, each counted for as much
    of its time as the window is long."""
    total = covered = 0.0
    for (before_ms, before), (ms, now) in pairwise(samples):
        took = ms - before_ms
        if now < before or took > GAP_MS or (T0 + ms) // 1000 <= (T0 + samples[-1][0]) // 1000 - 10:
            continue
        share = min(1.0, WINDOW_MS / took)
        total, covered = total + (now - before) * share, covered + took * share
    return total * 1000 / covered if covered else None


@given(
    st.lists(st.tuples(st.integers(1, 200_000), st.floats(0, 1e6), st.booleans()), min_size=1, max_size=60),
    st.lists(st.integers(0, 60), max_size=8),
)
def test_a_rate_is_that_of_the_intervals_of_the_last_seconds_however_samples_are_batched(steps, cuts):
    samples, ms, total = [], 0, 0.0
    for step, increase, resets in steps:
        # mostly short steps, some of them gaps
        ms += step if step > 180_000 else 1 + step % 3000
        total = increase if resets and increase < total else total + increase
        samples.append((ms, total))
    edges = [0, *sorted(min(cut, len(samples)) for cut in cuts), len(samples)]
    latest = fed([samples[begin:end] for begin, end in pairwise(edges)])
    expected = plain_rate(samples)
    if expected is None:
        assert np.isnan(value(latest))
    else:
        assert value(latest) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_after_a_reset_there_is_neither_a_spike_nor_a_zero():
    counts = [(at * 1000, 100.0 * at) for at in range(20)] + [(20_000 + at * 1000, 100.0 * at) for at in range(5)]
    for upto in range(2, len(counts) + 1):
        assert value(fed([counts[:upto]])) == pytest.approx(100.0)


def test_after_a_gap_the_rate_is_not_known_until_there_is_a_new_interval():
    before = [(at * 1000, 100.0 * at) for at in range(20)]
    assert np.isnan(value(fed([before, [(19_000 + GAP_MS + 1, 1e9)]])))
    assert value(fed([before, [(200_000, 1e9)], [(201_000, 1e9 + 7)]])) == pytest.approx(7.0)


def test_the_first_sample_alone_has_no_rate():
    assert np.isnan(value(fed([[(0, 5e9)]])))


def test_what_is_told_twice_counts_once():
    samples = [(at * 1000, 100.0 * at) for at in range(5)]
    assert value(fed([samples, samples, samples[2:]])) == value(fed([samples])) == pytest.approx(100.0)


def test_increases_say_themselves_how_long_they_took():
    rows = told([(1, at * 2000, 50.0) for at in range(1, 6)], DELTA)
    samples = Samples(rows.samples.series, rows.samples.ts_ms, rows.samples.value, rows.samples.ts_ms - 2000)
    latest = Latest()
    latest.take(Scalars(samples, rows.found, rows.kind))
    assert value(latest) == pytest.approx(25.0)


def test_of_a_gauge_the_last_value_counts():
    assert value(fed([[(0, 1.0), (1000, 2.0)], [(2000, 0.0)]], GAUGE)) == 0.0


def test_series_do_not_mix_and_those_that_are_dropped_leave_the_others_as_they_are():
    latest = Latest()
    latest.take(told([(series, at * 1000, float(series * at)) for series in range(1, 200) for at in range(5)]))
    assert latest.drop(T0, [series for series in range(1, 200) if series % 2])
    assert not latest.drop(T0)
    latest.take(told([(500, at * 1000, 3.0 * at) for at in range(5)]))
    read = latest.read()
    by_series = dict(zip(read.series.tolist(), read.value.tolist(), strict=True))
    assert by_series == pytest.approx({series: float(series) for series in range(2, 200, 2)} | {500: 3.0})


def test_what_was_loaded_goes_on():
    latest = Latest()
    latest.load([Loaded(7, COUNTER, T0, 100.0, 1000.0, increase=400.0, ms=4000), Loaded(3, GAUGE, T0, 5.0, 1000.0)])
    read = latest.read()
    assert dict(zip(read.series.tolist(), read.value.tolist(), strict=True)) == {3: 5.0, 7: 100.0}
    latest.take(told([(7, 1000, 200.0)], before=[(7, 0, 100.0)]))
    assert latest.read().value[latest.slots[7]] == pytest.approx(100.0)


# --- ages --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("age_s", "usual_s", "expected"),
    [
        (0, 1, LIVE), (10, 1, LIVE), (10.001, 1, STALE), (44, 15, LIVE), (46, 15, STALE), (299, 1, STALE),
        (300, 1, ABSENT), (299, 200, LIVE), (301, 200, ABSENT), (5, np.nan, LIVE), (11, np.nan, STALE), (-30, 1, LIVE),
    ],
)  # fmt: skip
def test_a_series_is_stale_after_ten_seconds_or_three_of_its_usual_intervals(age_s, usual_s, expected):
    ts_ms = np.array([T0 - round(age_s * 1000)])
    assert ages(ts_ms, np.array([usual_s * 1000.0]), T0).tolist() == [expected]


@given(st.integers(1, 60), st.integers(2, 10))
def test_the_usual_interval_is_that_of_arrivals(step_s, batches):
    size = 5
    samples = [(at * step_s * 1000, 1.0) for at in range(size * batches)]
    latest = fed([samples[begin : begin + size] for begin in range(0, len(samples), size)], GAUGE)
    assert latest.read().usual_ms[0] == pytest.approx(step_s * size * 1000)


def test_one_silence_is_no_new_habit():
    samples = [(at * 1000, 1.0) for at in range(30)]
    latest = fed([[each] for each in [*samples, (300_000, 1.0)]], GAUGE)
    assert latest.read().usual_ms[0] < 2000


def test_memory_is_bounded_by_what_was_there_lately():
    state = State()
    for at in range(50):
        # every minute other series, as pods come and go
        rows = [(1000 * at + series, at * 60_000, 1.0) for series in range(20)]
        state.follow(Told([told(rows, GAUGE)], []))
        state.prune(T0 + at * 60_000)
    assert len(state.latest.slots) == 20 * 11
    assert state.latest._last_ms.size < 20 * 11 * 4


def test_what_is_not_described_by_anyone_is_dropped():
    state = State()
    state.follow(Told([told([(1, 0, 1.0), (2, 0, 1.0)], GAUGE)], [(Known(9, "histogram", 0), point(0, [1]))]))
    assert sorted(state.undescribed()) == [1, 2, 9]
    state.describe([Described(1, 1, "link_rtt_s", "gauge", {})], [1, 2, 9])
    assert state.undescribed() == []
    assert list(state.latest.slots) == [1]
    assert not state.histograms.kept


# --- histograms --------------------------------------------------------------------------------------------------


def point(ms, counts, start_ms=None):
    return Point(T0 + ms, Histogram(tuple(float(each) for each in range(1, len(counts))), tuple(counts)), start_ms)


def kept(rows, kind="histogram"):
    found = Kept(kind)
    for ms, counts in rows:
        found.take(Observed(T0 + ms, 0.0, None, np.array(counts, float)))
    return found


def test_counts_are_those_of_the_last_minute():
    found = kept([(at * 1000, [at, 2 * at]) for at in range(200)])
    assert found.recent().counts.tolist() == [60.0, 120.0]
    assert found.recent().window_s == 60.0


def test_decayed_counts_are_rate_times_the_mean_age_that_counts():
    found = kept([(at * 10_000, [at * 20.0]) for at in range(3600)])
    mean_s = HALF_LIFE_S / np.log(2)
    long = found.long(T0 + 3599 * 10_000)
    assert long.counts[0] == pytest.approx(2.0 * mean_s, rel=0.01)
    assert long.counts[0] / long.window_s == pytest.approx(2.0)
    later = found.long(T0 + 3599 * 10_000 + round(HALF_LIFE_S * 1000))
    assert later.counts[0] == pytest.approx(long.counts[0] / 2)


def test_over_a_reset_or_a_gap_or_a_repetition_nothing_is_observed():
    found = kept([(0, [5, 5]), (1000, [6, 5]), (1000, [9, 9]), (2000, [0, 1]), (3000, [0, 2]), (500_000, [50, 50])])
    assert found.recent() is None  # of the minute before the last sample nothing is known
    assert found.decayed.sum() == pytest.approx(2.0, rel=0.5)
    assert kept([(0, [5, 5]), (1000, [6, 5]), (2000, [0, 1]), (3000, [0, 2])]).recent().counts.tolist() == [1.0, 1.0]
