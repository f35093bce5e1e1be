"""Routing: what is sent away, and how the threshold follows the link."""

import math

import pytest

from planner.engine.controller import (
    Pressure,
    Standing,
    adjusted,
    all_local,
    all_remote,
    bandwidth_aware,
    is_remote,
    judged_tokens,
    reallocated,
    reallocation,
    static,
)

RULE = bandwidth_aware(20_000, 40_000, step=1.25, high=0.9, low=0.6, surge=5, patience=3)


def after(windows, standing=None):
    """The standing after windows of (utilisation, share sent again, link, remote and local queue)."""
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
        for window in (
            (1.0, 0.0, 100.0, 0.0, 0.0),
            (0.0, 0.0, 0.0, 0.0, 0.0),
            (0.0, 0.0, 0.0, 0.0, 9.0),
            (0.0, 0.0, 0.0, 0.0, 9.0),
        ):
            standing = adjusted(rule, standing, *window)
        assert standing.threshold_tokens == t


def test_a_full_link_raises_the_threshold_step_by_step_up_to_its_bound():
    assert after([(0.95, 0.0, 2.0, 0.0, 0.0)]).threshold_tokens == 25_000
    assert after([(0.95, 0.0, 2.0, 0.0, 0.0)] * 20).threshold_tokens == 40_000


def test_kvcaches_that_are_not_across_raise_it_however_busy_the_link_looks():
    assert after([(0.1, 0.0, 6.0, 0.0, 1.0)]).threshold_tokens == 25_000


def test_what_is_sent_again_raises_it_before_the_link_is_full():
    assert after([(0.5, 0.02, 0.0, 0.0, 0.0)]).threshold_tokens == 25_000
    assert after([(0.5, 0.009, 0.0, 0.0, 0.0)]).threshold_tokens == 20_000


def test_a_queue_for_prfaas_alone_moves_nothing_until_it_is_a_backlog():
    assert after([(0.1, 0.0, 0.0, 30.0, 0.0)] * 50).threshold_tokens == 20_000
    assert after([(0.1, 0.0, 0.0, 45.0, 9.0)]).threshold_tokens == 25_000


def test_nothing_is_moved_to_a_side_whose_queue_is_longer():
    assert after([(0.95, 0.0, 3.0, 3.0, 9.0)]).threshold_tokens == 20_000


def test_a_surge_of_the_local_queue_takes_it_back_at_once():
    raised = after([(0.95, 0.0, 2.0, 0.0, 0.0)] * 2)
    assert after([(0.95, 0.0, 1.0, 2.0, 8.0)], raised).threshold_tokens == pytest.approx(25_000)
    assert after([(0.95, 0.0, 1.0, 2.0, 8.0)] * 20, raised).threshold_tokens == RULE.least_tokens


def test_it_comes_back_only_after_as_many_calm_windows_in_a_row():
    raised = after([(0.95, 0.0, 2.0, 0.0, 0.0)] * 2)
    calm, between = (0.3, 0.0, 0.0, 0.0, 1.0), (0.75, 0.0, 0.0, 0.0, 1.0)
    assert after([calm, calm, between, calm, calm], raised).threshold_tokens == raised.threshold_tokens
    assert after([calm] * 3, raised).threshold_tokens == pytest.approx(25_000)
    assert after([calm] * 60, raised).threshold_tokens == RULE.least_tokens


def test_between_the_marks_it_stays():
    raised = after([(0.95, 0.0, 2.0, 0.0, 0.0)] * 2)
    assert after([(0.75, 0.0, 1.0, 0.0, 1.0)] * 50, raised) == Standing(raised.threshold_tokens)


def test_judged_by_the_caches_that_count():
    assert judged_tokens(10_000.0, 4_096.0, 8_192.0, False) == 5_904
    assert judged_tokens(10_000.0, 4_096.0, 8_192.0, True) == 1_808
    assert judged_tokens(10_000.0, 8_192.0, 4_096.0, True) == 1_808


ROLES = reallocation(high=0.85, room=0.8, patience=2)


def looks(*busy, n_p=3.0, n_d=5.0, planned=3.0):
    """What is to change after looks at which prefill and decode were so busy."""
    pressure = Pressure()
    for prefill, decode in busy:
        pressure = reallocated(ROLES, pressure, prefill, decode, n_p, n_d, planned)
    return pressure.change


def test_a_role_that_is_short_twice_in_a_row_gets_an_instance_of_one_that_has_room():
    assert looks((0.9, 0.5)) == 0
    assert looks((0.9, 0.5), (0.9, 0.5)) == 1
    assert looks((0.9, 0.5), (0.8, 0.5), (0.9, 0.5)) == 0
    assert looks((0.4, 0.95), (0.4, 0.95)) == -1


def test_no_instance_is_taken_from_a_role_that_would_be_short_without_it():
    # 5 decode instances at 70 % are 4 at 87.5 %
    assert looks((0.95, 0.70), (0.95, 0.70)) == 0
    assert looks((0.95, 0.64), (0.95, 0.64)) == 1


def test_an_instance_goes_back_when_it_could_have_been_spared_ten_times_in_a_row():
    calm = [(0.4, 0.6)] * 10
    assert looks(*calm[:9], n_p=5.0, n_d=3.0) == 0
    assert looks(*calm, n_p=5.0, n_d=3.0) == -1
    assert looks(*calm[:5], (0.7, 0.6), *calm[:9], n_p=5.0, n_d=3.0) == 0
    assert looks(*[(0.6, 0.3)] * 10, n_p=2.0, n_d=6.0) == 1


def test_where_it_was_planned_to_be_nothing_goes_back():
    assert looks(*[(0.1, 0.1)] * 50) == 0


def test_each_role_keeps_its_last_instance():
    assert looks((0.9, 0.0), (0.9, 0.0), n_d=1.0) == 0
    assert looks((0.0, 0.9), (0.0, 0.9), n_p=1.0) == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"room": 0.9, "high": 0.8}, "room <= high"),
        ({"period_s": 0}, "period_s"),
        ({"delay_s": -1}, "delay_s"),
        ({"least_decode": 0}, "least_decode"),
    ],
)
def test_roles_that_would_go_to_and_fro_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        reallocation(**changes)


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
        ((10, 20), {"backlog": 0}, "backlog"),
    ],
)
def test_a_rule_that_cannot_work_is_refused(bounds, changes, message):
    with pytest.raises(ValueError, match=message):
        bandwidth_aware(*bounds, **changes)
