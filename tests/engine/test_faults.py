"""Failing instances against renewal theory, planned faults by hand, and the same events however they are asked for."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import SeedSequence
from scipy.stats import binom, kstest

from planner.engine.simulation.faults import (
    EVENT,
    PLACES,
    Failures,
    Fault,
    Faults,
    Place,
    Spares,
    cluster_down,
)
from planner.engine.throughput import Stage
from tests.examples import examples

PRFAAS, PD_P, PD_D = PLACES
THERE = {PRFAAS: 4, PD_P: 3, PD_D: 5}


def events(faults, until_s, instances=THERE, seed=7, every_s=None):
    """All events until a time, asked for at once or piece by piece."""
    schedule = faults.schedule(instances, SeedSequence(seed))
    asked = [until_s] if every_s is None else [*np.arange(0.0, until_s, every_s), until_s]
    return np.concatenate([schedule.upto(float(time)) for time in asked])


def up(found, place, count):
    """Times, and how many of a place are up from each on."""
    mine = found[found["place"] == PLACES.index(place)]
    return np.append(0.0, mine["time_s"]), np.append(count, count + np.cumsum(mine["change"]))


def at(found, place, count, times):
    begins, level = up(found, place, count)
    return level[np.searchsorted(begins, times, side="right") - 1]


def mean_up(found, place, count, until_s):
    """Share of instances that are up, over time."""
    begins, level = up(found, place, count)
    return np.sum(np.diff(np.append(begins, until_s)) * level) / until_s / count


def plain(found):
    return [(float(row["time_s"]), PLACES[row["place"]], int(row["change"])) for row in found]


def test_places_are_called_as_the_stages():
    assert {place.value for place in Place} == {stage.value for stage in Stage} - {"link"}


# --- planned -----------------------------------------------------------------------------------------------------


def test_planned_faults_come_and_go_as_planned():
    planned = (Fault(PD_D, 2, 10, 30), Fault(PRFAAS, 1, 20, 30))
    found = plain(events(Faults(planned), 100.0))
    assert found == [
        (10, PD_D, -1),
        (10, PD_D, -1),
        (20, PRFAAS, -1),
        (30, PRFAAS, 1),
        (30, PD_D, 1),
        (30, PD_D, 1),
    ]


def test_faults_at_a_time_take_as_many_as_all_say_but_no_more_than_there_are():
    planned = (Fault(PD_P, 2, 0, 40), Fault(PD_P, 2, 10, 20), cluster_down(PD_P, 30, 50))
    found = events(Faults(planned), 100.0)
    assert at(found, PD_P, 3, [0, 5, 10, 15, 20, 30, 45, 50]).tolist() == [1, 1, 0, 0, 1, 0, 0, 3]


def test_a_fault_that_follows_another_changes_nothing_between():
    found = plain(events(Faults((Fault(PD_P, 1, 5, 10), Fault(PD_P, 1, 10, 15))), 100.0))
    assert found == [(5, PD_P, -1), (15, PD_P, 1)]


def test_a_cluster_that_is_down_has_no_instance_left():
    found = events(Faults((cluster_down(PRFAAS, 60, 90),)), 100.0)
    assert at(found, PRFAAS, 4, [59, 60, 89, 90]).tolist() == [4, 0, 0, 4]


@pytest.mark.parametrize(
    ("fault", "there", "said"),
    [
        (Fault(PD_P, 4, 10, 20), THERE, "the fault of 4 pd_p instances from 10 s to 20 s needs as many: there are 3"),
        (cluster_down(PRFAAS, 10, 20), {PD_P: 3}, "prfaas instances from 10 s to 20 s needs as many: there are 0"),
    ],
)
def test_a_fault_of_more_than_there_are_is_named(fault, there, said):
    with pytest.raises(ValueError, match=said):
        Faults((fault,)).schedule(there, SeedSequence(1))


# --- by chance ---------------------------------------------------------------------------------------------------


def test_instances_fail_and_are_repaired_as_often_as_renewal_theory_says():
    law = Failures(PD_P, 100.0, 25.0)
    assert law.availability == 0.8
    found = events(Faults(failures=(law,)), 1e6)
    assert mean_up(found, PD_P, 3, 1e6) == pytest.approx(0.8, abs=0.005)


def test_of_many_instances_as_many_are_down_as_of_independent_ones():
    found = events(Faults(failures=(Failures(PD_D, 90.0, 10.0),)), 400_000.0, {PD_D: 20})
    counts = np.bincount(at(found, PD_D, 20, np.arange(1000.0, 400_000.0, 100.0)), minlength=21)
    np.testing.assert_allclose(counts / counts.sum(), binom.pmf(np.arange(21), 20, 0.9), atol=0.02)


def test_all_are_up_at_first_and_settle_with_the_rates_of_both():
    """P(up at t) = A + (1 - A) exp(-(1/up + 1/down) t)."""
    law, time_s = Failures(PD_D, 100.0, 50.0), 20.0
    found = events(Faults(failures=(law,)), time_s, {PD_D: 10_000})
    share = 2 / 3 + 1 / 3 * math.exp(-(1 / 100 + 1 / 50) * time_s)
    assert at(found, PD_D, 10_000, [0.0])[0] == 10_000
    assert at(found, PD_D, 10_000, [time_s])[0] / 10_000 == pytest.approx(share, abs=0.015)


def test_one_instance_is_up_and_down_for_exponential_times():
    found = events(Faults(failures=(Failures(PRFAAS, 100.0, 25.0),)), 500_000.0, {PRFAAS: 1})
    assert found["change"].tolist() == [-1, 1] * (found.size // 2) + [-1] * (found.size % 2)
    stays = np.diff(found["time_s"])
    assert kstest(stays[0::2], "expon", args=(0, 25)).pvalue > 0.01
    assert kstest(stays[1::2], "expon", args=(0, 100)).pvalue > 0.01


def test_two_kinds_of_failure_are_independent():
    laws = (Failures(PD_P, 100.0, 25.0), Failures(PD_P, 30.0, 10.0))
    found = events(Faults(failures=laws), 500_000.0)
    assert mean_up(found, PD_P, 3, 500_000.0) == pytest.approx(0.8 * 0.75, abs=0.01)


def test_how_often_instances_change_is_known_beforehand():
    faults = Faults(failures=(Failures(PD_P, 90.0, 10.0), Failures(PD_D, 9.0, 1.0), Failures(PRFAAS, 1.0, 1.0)))
    there = {PD_P: 3, PD_D: 5}
    assert faults.changes_per_s(there) == pytest.approx(3 * 2 / 100 + 5 * 2 / 10)
    assert events(faults, 20_000.0, there).size / 20_000 == pytest.approx(faults.changes_per_s(there), rel=0.03)


def test_which_instance_is_hit_is_drawn_evenly():
    found = events(Faults(failures=(Failures(PD_P, 10.0, 10.0),)), 50_000.0)
    assert kstest(found["draw"], "uniform").pvalue > 0.01
    assert np.all((found["draw"] >= 0) & (found["draw"] < 1))


def test_failures_go_on_behind_a_planned_fault():
    laws = (Failures(PD_D, 40.0, 20.0),)
    alone, both = (events(Faults(planned, laws), 1000.0) for planned in ((), (cluster_down(PD_D, 400, 600),)))
    times = np.arange(0.5, 1000.0)
    inside = (times > 400) & (times < 600)
    np.testing.assert_array_equal(at(alone, PD_D, 5, times[~inside]), at(both, PD_D, 5, times[~inside]))
    assert np.all(at(both, PD_D, 5, times[inside]) == 0)


def test_what_fails_at_one_place_does_not_change_another():
    one, other = Failures(PRFAAS, 50.0, 20.0), Failures(PD_P, 30.0, 10.0)
    alone, both = (events(Faults(failures=laws), 5000.0) for laws in ((other,), (one, other)))
    np.testing.assert_array_equal(alone, both[both["place"] == PLACES.index(PD_P)])


# --- spares ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ready_s", "back_s"), [(0, 10), (5, 15), (20, 30), (50, 30)])
def test_an_outage_lasts_until_the_spare_is_ready_or_the_repair_is_over(ready_s, back_s):
    found = plain(events(Faults((Fault(PD_P, 1, 10, 30),), spares=(Spares(PD_P, 1, ready_s),)), 100.0))
    assert found == [(10, PD_P, -1), (back_s, PD_P, 1)]


def test_a_spare_goes_back_when_its_instance_is_repaired():
    planned = (Fault(PD_P, 1, 10, 30), Fault(PD_P, 1, 40, 60))
    found = plain(events(Faults(planned, spares=(Spares(PD_P, 1, 5),)), 100.0))
    assert found == [(10, PD_P, -1), (15, PD_P, 1), (40, PD_P, -1), (45, PD_P, 1)]


def test_who_finds_no_spare_waits_for_the_first_that_comes_back():
    """The first instance keeps the spare until 30; the second one has it from then on, and it takes 5 s."""
    planned = (Fault(PD_P, 1, 10, 60), Fault(PD_P, 1, 20, 30))
    found = events(Faults(planned, spares=(Spares(PD_P, 1, 5),)), 100.0)
    assert at(found, PD_P, 3, [10, 15, 20, 30, 35, 60]).tolist() == [2, 3, 2, 3, 3, 3]


def test_with_enough_spares_an_outage_lasts_as_the_shorter_of_repair_and_readiness():
    """Its mean is D(1 - exp(-r/D)), of a cycle of U + D."""
    faults = Faults(failures=(Failures(PD_D, 100.0, 40.0),), spares=(Spares(PD_D, 5, 20.0),))
    down = 40 * (1 - math.exp(-20 / 40)) / 140
    assert mean_up(events(faults, 500_000.0), PD_D, 5, 500_000.0) == pytest.approx(1 - down, abs=0.005)


@pytest.mark.parametrize("spares", [1, 2])
def test_spares_that_are_ready_at_once_cover_as_many_as_there_are(spares):
    """Of n instances, K ~ Binomial(n, 1 - A) are broken, and max(K - spares, 0) of them missed."""
    faults = Faults(failures=(Failures(PD_D, 60.0, 40.0),), spares=(Spares(PD_D, spares, 0.0),))
    broken = np.arange(6)
    missed = np.sum(np.maximum(broken - spares, 0) * binom.pmf(broken, 5, 0.4)) / 5
    assert mean_up(events(faults, 500_000.0), PD_D, 5, 500_000.0) == pytest.approx(1 - missed, abs=0.005)


# --- handed out --------------------------------------------------------------------------------------------------

ALL = Faults(
    (Fault(PD_P, 2, 10, 300), cluster_down(PRFAAS, 100, 200), Fault(PD_D, 3, 150, 400), Fault(PD_P, 1, 50, 350)),
    (Failures(PRFAAS, 80.0, 20.0), Failures(PD_P, 50.0, 60.0), Failures(PD_P, 9.0, 1.0), Failures(PD_D, 200.0, 5.0)),
    (Spares(PD_P, 1, 3.0), Spares(PD_D, 2, 0.0)),
)


@examples(50)
@given(st.lists(st.floats(0, 2000), min_size=1, max_size=10), st.integers(0, 2**63))
def test_the_same_events_are_given_out_whatever_is_asked_for(asked, seed):
    piecewise, once = (ALL.schedule(THERE, SeedSequence(seed)) for _ in range(2))
    parts = [piecewise.upto(time) for time in sorted(asked)]
    whole = once.upto(max(asked))
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert whole.dtype == EVENT
    assert np.all(np.diff(whole["time_s"]) >= 0)


@examples(50)
@given(st.integers(0, 2**63), st.integers(2, 6), st.integers(1, 3), st.floats(0, 50))
def test_never_more_are_down_than_there_are(seed, instances, spares, ready_s):
    faults = Faults(ALL.planned, ALL.failures, (Spares(PD_P, spares, ready_s),))
    there = {PRFAAS: 2, PD_P: instances, PD_D: 3}
    found = events(faults, 1000.0, there, seed)
    for place, count in there.items():
        level = up(found, place, count)[1]
        assert level.min() >= 0
        assert level.max() <= count


def test_when_all_is_over_nothing_comes_any_more():
    planned = Faults((Fault(PD_P, 1, 10, 20),), spares=(Spares(PD_P, 1, 2.0),)).schedule(THERE, SeedSequence(1))
    assert planned.upto(12.0)["time_s"].tolist() == [10, 12]
    assert not planned.ended
    assert planned.upto(20.0).size == 0
    assert planned.ended
    assert Faults().schedule(THERE, SeedSequence(1)).ended
    assert not Faults(failures=ALL.failures).schedule(THERE, SeedSequence(1)).ended


def test_the_past_is_not_given_out_again():
    schedule = ALL.schedule(THERE, SeedSequence(1))
    schedule.upto(500.0)
    assert schedule.upto(500.0).size == schedule.upto(10.0).size == 0


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Fault(PD_P, 0, 1, 2), "instances must be at least 1, got 0"),
        (lambda: Fault(PD_P, 1, -1, 2), "begin_s must"),
        (lambda: Fault(PD_P, 1, 2, 2), "end_s must"),
        (lambda: cluster_down(PD_P, 2, math.inf), "end_s must"),
        (lambda: Failures(PD_P, 0, 1), "mean_up_s must"),
        (lambda: Failures(PD_P, 1, math.nan), "mean_down_s must"),
        (lambda: Spares(PD_P, 0, 1), "instances must"),
        (lambda: Spares(PD_P, 1, -1), "ready_s must"),
        (lambda: Faults(spares=(Spares(PD_P, 1, 1), Spares(PD_P, 2, 1))), "spares of pd_p must be given once"),
        (lambda: ALL.schedule(THERE, SeedSequence(1)).upto(math.inf), "finite time"),
    ],
)
def test_a_wrong_figure_is_named(make, said):
    with pytest.raises(ValueError, match=said):
        make()
