"""Routing: what is sent away, and how the threshold follows the link."""

import math

import pytest

from planner.engine.controller import Standing, adjusted, all_local, all_remote, bandwidth_aware, is_remote, static

RULE = bandwidth_aware(20_000, 40_000, step=1.25, high=0.9, low=0.6, surge=5, patience=3)


def after(windows, standing=None):
    """The standing after windows of (utilisation, remote queue, local queue)."""
    standing = standing or Standing(RULE.least_tokens)
    for window in windows:
        standing = adjusted(RULE, standing, *window)
    return standing


def test_a_request_of_exactly_the_threshold_stays():
    assert is_remote(20_001, 20_000)
    assert not is_remote(20_000, 20_000)


def test_all_local_all_remote_and_static_are_thresholds_that_never_move():
    for rule, t in ((all_local(), math.inf), (all_remote(), 0.0), (static(19_400), 19_400.0)):
        standing = Standing(rule.least_tokens)
        for window in ((1.0, 100.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 5.0), (0.0, 0.0, 5.0)):
            standing = adjusted(rule, standing, *window)
        assert standing.threshold_tokens == t


def test_a_full_link_raises_the_threshold_step_by_step_up_to_its_bound():
    assert after([(0.95, 2.0, 0.0)]).threshold_tokens == 25_000
    assert after([(0.95, 2.0, 0.0)] * 20).threshold_tokens == 40_000


def test_a_surge_of_the_remote_queue_raises_it_too():
    assert after([(0.1, 6.0, 1.0)]).threshold_tokens == 25_000


def test_nothing_is_moved_to_a_side_whose_queue_is_longer():
    assert after([(0.95, 6.0, 9.0)]).threshold_tokens == 20_000


def test_a_surge_of_the_local_queue_takes_it_back_at_once():
    raised = after([(0.95, 2.0, 0.0)] * 2)
    assert after([(0.95, 3.0, 6.0)], raised).threshold_tokens == pytest.approx(25_000)
    assert after([(0.95, 3.0, 6.0)] * 20, raised).threshold_tokens == RULE.least_tokens


def test_it_comes_back_only_after_as_many_calm_windows_in_a_row():
    raised = after([(0.95, 2.0, 0.0)] * 2)
    calm, between = (0.3, 0.0, 1.0), (0.75, 0.0, 1.0)
    assert after([calm, calm, between, calm, calm], raised).threshold_tokens == raised.threshold_tokens
    assert after([calm] * 3, raised).threshold_tokens == pytest.approx(25_000)
    assert after([calm] * 60, raised).threshold_tokens == RULE.least_tokens


def test_between_the_marks_it_stays():
    raised = after([(0.95, 2.0, 0.0)] * 2)
    assert after([(0.75, 1.0, 1.0)] * 50, raised) == Standing(raised.threshold_tokens)


@pytest.mark.parametrize(
    ("bounds", "changes", "message"),
    [
        ((0, 10), {}, "positive and rise"),
        ((20, 10), {}, "positive and rise"),
        ((10, math.inf), {}, "positive and rise"),
        ((10, 20), {"step": 1.0}, "above 1"),
        ((10, 20), {"low": 0.9, "high": 0.9}, "low < high"),
        ((10, 20), {"surge": 0}, "surge"),
        ((10, 20), {"patience": 0}, "patience"),
    ],
)
def test_a_rule_that_cannot_work_is_refused(bounds, changes, message):
    with pytest.raises(ValueError, match=message):
        bandwidth_aware(*bounds, **changes)
