"""Ratios over two figures, their break-even lines, and ties: against what follows by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.engine.contours import lines
from planner.engine.priced import Prices
from planner.engine.sensitivity import Axis, Pair, moved, nearest_tie, ratio_map
from planner.engine.throughput import evaluate
from planner.engine.varying import Outcome, Parameter, Subject
from tests.engine.case_study import homogeneous, naive, prfaas_pd
from tests.examples import examples

ONE_PRICE = Prices(8.4, 8.4)
FIRST, SECOND = Subject(prfaas_pd(), chips=Prices(16.8, 8.4)), Subject(homogeneous(), chips=ONE_PRICE)
PAIR = Pair(FIRST, SECOND)
LAMBDA, COST, TTFT = Outcome.LAMBDA_MAX, Outcome.COST, Outcome.TTFT_P90


# --- lines -------------------------------------------------------------------------------------------------------


def test_a_plane_is_cut_in_a_straight_line_from_edge_to_edge():
    x, y = np.linspace(0, 4, 5), np.linspace(0, 3, 4)
    (line,) = lines(x, y, x[np.newaxis] + 2 * y[:, np.newaxis], 3.5)
    assert [a + 2 * b for a, b in line] == pytest.approx([3.5] * len(line))
    assert {line[0], line[-1]} == {(3.5, 0.0), (0.0, 1.75)}


def test_a_hill_is_cut_in_a_closed_line():
    axis = np.linspace(-2, 2, 81)
    (line,) = lines(axis, axis, np.hypot(axis[np.newaxis], axis[:, np.newaxis]), 1.3)
    assert line[0] == line[-1]
    assert [np.hypot(*point) for point in line] == pytest.approx([1.3] * len(line), abs=1e-3)


def test_where_corners_cross_over_the_middle_says_which_belong_together():
    (one, other) = lines(np.arange(2.0), np.arange(2.0), np.array([[1.0, -1.2], [-1.2, 1.0]]), 0.0)
    # the middle is below the level: each corner above it stands alone
    assert sorted(sum(point) < 1 for point in (*one, *other)) == [False, False, True, True]
    assert {sum(point) < 1 for point in one} in ({True}, {False})


def test_cells_without_a_number_have_no_line():
    values = np.array([[0.0, 1.0, 2.0], [0.0, np.nan, 2.0], [0.0, 1.0, 2.0]])
    assert lines(np.arange(3.0), np.arange(3.0), values, 0.5) == []


@given(st.lists(st.sampled_from([-0.9, -0.4, 0.3, 0.7]), min_size=20, max_size=20))
@examples(50)
def test_every_crossed_edge_is_on_exactly_one_line(values):
    grid = np.array(values).reshape(4, 5)
    above = grid >= 0
    crossed = np.count_nonzero(above[:, 1:] != above[:, :-1]) + np.count_nonzero(above[1:] != above[:-1])
    found = lines(np.arange(5.0), np.arange(4.0), grid, 0.0)
    points = [point for line in found for point in (line[1:] if line[0] == line[-1] else line)]
    assert len(points) == len(set(points)) == crossed


# --- ties --------------------------------------------------------------------------------------------------------


def test_the_price_ratio_at_which_cost_ties_is_the_one_by_hand():
    """(4 r + 8) / Λ_A = 12 / Λ_B, in prices of an H20 instance: r = 3 Λ_A / Λ_B − 2, of which 2 is given."""
    by_hand = 3 * evaluate(prfaas_pd()).lambda_max_rps / evaluate(homogeneous()).lambda_max_rps - 2
    assert by_hand == pytest.approx(2.608, abs=5e-4)
    found = nearest_tie(PAIR, [Parameter.PRICE_PRFAAS], [], COST)
    assert found == pytest.approx(by_hand / 2, rel=1e-9)
    both = nearest_tie(PAIR, [Parameter.PRICE_PD], [Parameter.PRICE_PD], COST)
    assert both == pytest.approx(2 / by_hand, rel=1e-9)


def test_the_instances_at_which_throughput_ties_are_in_proportion():
    """PrfaaS binds in the one, so that its Λ_max is in proportion to N_prfaas."""
    expected = evaluate(homogeneous()).lambda_max_rps / evaluate(prfaas_pd()).lambda_max_rps
    assert nearest_tie(PAIR, [Parameter.N_PRFAAS], [], LAMBDA) == pytest.approx(expected, rel=1e-9)


def test_what_does_not_matter_has_no_tie():
    assert nearest_tie(PAIR, [Parameter.S_KV], [Parameter.S_KV], LAMBDA) is None
    assert nearest_tie(PAIR, [Parameter.PRICE_PRFAAS], [], LAMBDA) is None


def test_deployments_that_are_the_same_tie_as_they_are():
    assert nearest_tie(Pair(FIRST, FIRST), [Parameter.S_KV], [], LAMBDA) == 1.0


def test_the_nearest_end_of_a_range_of_ties_is_told():
    """Both have eight decode instances in the end: with prefill fast enough, both carry what decode does."""
    slow = Subject(naive(), chips=ONE_PRICE)
    found = nearest_tie(Pair(slow, Subject(prfaas_pd(0.0, 0, 8, n_prfaas=1000))), [Parameter.N_PRFAAS], [], LAMBDA)
    assert found == pytest.approx(6.25 / evaluate(naive()).lambda_max_rps, rel=1e-7)


def test_of_two_ties_the_nearer_in_ratio_is_told():
    """At a threshold lower or higher than the best one PrfaaS-PD falls back to the baseline."""
    found = nearest_tie(PAIR, [Parameter.THRESHOLD], [], LAMBDA)
    down = evaluate(prfaas_pd(19400 / found**1.02)).lambda_max_rps
    assert found > 1
    assert down > evaluate(homogeneous()).lambda_max_rps
    assert evaluate(prfaas_pd(19400 * found)).lambda_max_rps == pytest.approx(
        evaluate(homogeneous()).lambda_max_rps, rel=1e-8
    )


# --- the map -----------------------------------------------------------------------------------------------------


def test_the_break_even_line_of_prices_is_straight_through_the_hand_ratio():
    """With each chip's price on one axis the ratio depends on their quotient alone."""
    twos = np.geomspace(0.5, 2, 13)
    found = ratio_map(PAIR, Axis(twos, (Parameter.PRICE_PRFAAS,), ()), Axis(twos, *[(Parameter.PRICE_PD,)] * 2), COST)
    tie = nearest_tie(PAIR, [Parameter.PRICE_PRFAAS], [], COST)
    (line,) = found.ties
    assert [x / y for x, y in line] == pytest.approx([tie] * len(line), rel=3e-3)
    assert found.ratio.shape == (13, 13)
    assert np.all(np.diff(found.ratio, axis=1) > 0)


def test_the_middle_of_a_map_is_the_ratio_as_it_is():
    twos = np.geomspace(0.5, 2, 5)
    both = (Parameter.PROMPT,)
    found = ratio_map(PAIR, Axis(twos, both, both), Axis(twos, (Parameter.BANDWIDTH,), ()), TTFT)
    expected = evaluate(prfaas_pd()).ttft.p90 / evaluate(homogeneous()).ttft.p90
    assert found.ratio[2, 2] == pytest.approx(expected, rel=1e-9)
    # the link does not enter an unloaded TTFT
    assert np.ptp(found.ratio, axis=0) == pytest.approx(np.zeros(5), abs=1e-12)


def test_a_figure_on_both_axes_moves_by_both_factors():
    axis = Axis(np.array([0.5, 2.0]), (Parameter.N_PRFAAS,), ())
    found = ratio_map(Pair(Subject(naive()), SECOND), axis, axis, LAMBDA)
    assert found.ratio[0, 0] / found.ratio[0, 1] == pytest.approx(0.25, rel=1e-12)
    assert found.ratio[0, 1] == found.ratio[1, 0]


def test_where_one_carries_nothing_there_is_no_ratio():
    dead = Subject(prfaas_pd(bandwidth_bps=0.0))
    axis = Axis(np.array([0.5, 1.0, 2.0]), (Parameter.S_KV,), ())
    found = ratio_map(Pair(dead, SECOND), axis, axis, LAMBDA)
    assert np.isnan(found.ratio).all()
    assert found.ties == []


def test_an_outcome_has_moved_only_by_more_than_rounding():
    assert not moved(1.0, [1.0 + 1e-12, 1.0])
    assert moved(1.0, [1.0, 1.001])
    assert moved(1.0, [np.inf, 1.0])
    assert not moved(np.nan, [np.nan, np.nan])
