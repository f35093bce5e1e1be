"""Advice: what is said of a system, when t moves, what another split is worth, and when nothing is said."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.engine.advice import Objective, Obstacle, Options, Queues, Reason, Remembered, advise, decide
from planner.engine.latency import under_load
from planner.engine.lengths import TruncatedLogNormal
from planner.engine.search import Problem, best
from planner.engine.throughput import Form, Stage, evaluate
from tests.engine.case_study import H20, H200, prfaas_pd
from tests.engine.seen import DOUBLINGS, histogram, observed

CASE = prfaas_pd()
TTFT = Options(objective=Objective.TTFT)


def advised(options=None, before=None, **changes):
    return advise(CASE, observed(**changes), options or Options(), before or Remembered())[0]


def course(seconds, options=None, follows=True, before=None, **changes):
    """t from second to second where what is advised is done, or is not."""
    t, said = changes.pop("threshold_tokens", 19_600.0), before or Remembered()
    found = []
    for now in seconds:
        advised_t, said = decide(CASE, observed(float(now), threshold_tokens=t, **changes), options or Options(), said)
        found.append(advised_t)
        t = advised_t if follows else t
    return np.array(found)


# --- what is said ------------------------------------------------------------------------------------------------


def test_a_link_near_its_limit_is_said_with_what_to_do_and_what_it_brings():
    """Figures of the planner's own search at 10 Gbps without headroom: 21.7K, 2.747, 2.610 and 3.000 req/s."""
    options = Options(headroom=0.0)
    busy = {"capacity_bps": 10e9, "rate_rps": 2.5}
    _, before = advise(CASE, observed(0.0, egress_bps=9.2e9, **busy), options, Remembered())
    advice, _ = advise(CASE, observed(10.0, egress_bps=9.6e9, **busy), options, before)
    assert advice.sentence == (
        "link at 96 % of 10 Gbps and rising: raise t from 19.6K to 21.7K; Λ_max 2.75 req/s instead of 2.61; "
        "converting one decode node would give 3.00"
    )
    assert advice.reason is Reason.LINK_BUSY


@pytest.mark.parametrize(
    ("changes", "reason", "said"),
    [
        ({"queues": Queues(1, 30, 2, 0), "capacity_bps": 7e9}, Reason.LINK_QUEUE, "30 KVCaches wait for the link"),
        ({"resent_share": 0.023}, Reason.RETRANSMITS, "2.3 % of what crosses is sent again"),
        ({"queues": Queues(45, 0, 9, 0)}, Reason.PRFAAS_BACKLOG, "45 requests wait for PrfaaS, 9 for PD-P"),
        ({"threshold_tokens": 12e3}, Reason.TOO_LOW, "19.7K carries the most: raise t from 12.0K to 18.0K"),
        ({"queues": Queues(0, 0, 25, 0), "threshold_tokens": 25e3}, Reason.LOCAL_QUEUE, "25 requests wait for PD-P"),
        (
            {"queues": Queues(1, 5, 7, 0), "egress_bps": 97e9},
            Reason.BOTH_SHORT,
            "link at 97 % of 100 Gbps, but PD-P is short as well, 7 requests wait: keep t at 19.6K",
        ),
        ({}, Reason.HOLD, "keep t at 19.6K"),
    ],
)
def test_every_reason_is_said(changes, reason, said):
    advice = advised(**changes)
    assert advice.reason is reason
    assert said in advice.sentence


def test_what_was_said_for_a_queue_that_is_gone_does_not_say_that_requests_wait():
    long = {"threshold_tokens": 25e3}
    _, before = advise(CASE, observed(0.0, queues=Queues(0, 0, 25, 0), **long), Options(), Remembered())
    after, _ = advise(CASE, observed(1.0, queues=Queues(0, 1, 0, 0), **long), Options(), before)
    assert after.reason is Reason.LOCAL_QUEUE
    assert after.sentence.startswith("requests waited for PD-P, now 0 there and 0 for PrfaaS: lower t from 25.0K to")


def test_who_has_followed_it_is_told_of_no_further_effect():
    short = {"capacity_bps": 10e9, "egress_bps": 9.6e9}
    told, before = advise(CASE, observed(0.0, **short), Options(), Remembered())
    after, _ = advise(CASE, observed(1.0, **short, threshold_tokens=told.threshold_tokens), Options(), before)
    assert after.reason is Reason.LINK_BUSY
    assert f"keep t at {told.threshold_tokens / 1000:.1f}K" in after.sentence
    assert "instead of" not in after.sentence


def test_what_it_would_bring_is_what_the_formulas_say():
    advice = advised(Options(headroom=0.0))
    deployed = prfaas_pd(19_600.0)
    truth, loaded = evaluate(deployed), under_load(deployed, 1.8)
    current = advice.current
    assert current.lambda_max_rps == pytest.approx(truth.lambda_max_rps, rel=1e-3)
    assert current.binding[0] in truth.binding
    assert current.offload_fraction == pytest.approx(truth.offload_fraction, rel=1e-3)
    for stage in Stage:
        assert current.utilisation[stage] == pytest.approx(1.8 / truth.stage_lambda_rps[stage], rel=1e-3)
    assert current.egress_bps == pytest.approx(1.8 / truth.lambda_max_rps * truth.egress_bps, rel=1e-3)
    assert current.ttft.mean == pytest.approx(loaded.mean, rel=5e-3)
    assert current.ttft.p90 == pytest.approx(loaded.p90, rel=5e-3)


def test_without_a_rate_capacity_is_advised_on_and_ttft_is_not():
    advice = advised(rate_rps=None)
    assert advice.is_valid
    assert (advice.current.ttft, advice.current.utilisation, advice.current.egress_bps) == (None, None, None)
    assert advice.quickest is None
    assert "request rate" in advice.unknown


# --- for TTFT ----------------------------------------------------------------------------------------------------


def test_a_quiet_hour_prefers_a_lower_threshold():
    """By brute force over thresholds: with few requests PrfaaS, whose chips are quicker, has no queue."""
    for rate in (0.3, 1.8):
        advice = advised(TTFT, rate_rps=rate)
        grid = np.geomspace(500, 60_000, 60)
        truth = min(under_load(prfaas_pd(float(t)), rate).mean for t in grid)
        assert advice.quickest.ttft.mean <= truth * 1.005
        assert advice.quickest.ttft.mean <= advice.best.ttft.mean
    assert advised(TTFT, rate_rps=0.3).quickest.threshold_tokens < advised(TTFT, rate_rps=1.8).quickest.threshold_tokens


def test_a_percentile_may_be_what_is_to_be_least():
    advice = advised(replace(TTFT, ttft_percentile=0.9))
    truth = min(under_load(prfaas_pd(float(t)), 1.8).p90 for t in np.geomspace(5_000, 40_000, 40))
    assert advice.quickest.ttft.p90 <= truth * 1.01
    assert advice.quickest.ttft.p90 <= advised(TTFT).quickest.ttft.p90 * 1.001


def test_for_ttft_t_falls_slowly_to_the_quickest():
    found = course(range(0, 600, 10), TTFT, egress_bps=2e9, rate_rps=0.7)
    assert np.all(np.diff(found) <= 0)
    assert np.all(found[1:] >= found[:-1] / 1.1 * (1 - 1e-9))
    quickest = advised(TTFT, rate_rps=0.7).quickest.threshold_tokens
    assert quickest < found[-1] < 5_000
    least, last = (under_load(prfaas_pd(float(t)), 0.7).mean for t in (quickest, found[-1]))
    assert last <= least * 1.015  # what is left is a trifle
    assert found[1] == 19_600  # three calm windows come first


def test_a_rate_that_no_threshold_carries_has_no_ttft():
    advice = advised(TTFT, rate_rps=9.0)
    assert [each.code for each in advice.hindrances] == [Obstacle.OVERLOADED]


# --- how t moves -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [Options(), TTFT])
def test_the_t_alone_is_that_of_the_advice(options):
    """Through a rise, a hold and a fall."""
    said = both = Remembered()
    t = 19_600.0
    for now in range(0, 120, 5):
        busy = {"queues": Queues(0, 30, 0, 0), "egress_bps": 6e9} if 20 <= now < 60 else {}
        seen = observed(float(now), threshold_tokens=t, **busy)
        advice, both = advise(CASE, seen, options, both)
        t, said = decide(CASE, seen, options, said)
        assert t == advice.threshold_tokens


def test_it_rises_at_once_by_a_step_while_the_link_is_busy_and_nothing_waits_for_it():
    assert set(course(range(60), egress_bps=9.7e10, rate_rps=0.9)) == {19_600.0 * 1.1}


def test_it_rises_by_a_step_a_window_while_requests_wait_for_the_link():
    found = course(range(60), egress_bps=9.7e10, rate_rps=0.9, queues=Queues(0, 100, 0, 0))
    moves = np.flatnonzero(np.diff(found)) + 1
    assert found[0] == pytest.approx(19_600.0 * 1.1)
    assert moves.tolist() == [10, 20]
    assert found[[10, 20]] == pytest.approx(19_600.0 * np.array([1.1**2, 1.1**3]), rel=0.01)


def test_requests_that_wait_for_prfaas_alone_move_it_as_much():
    found = course(range(0, 100, 10), queues=Queues(100, 0, 0, 0))
    assert found[-1] == pytest.approx(19_600.0 * 1.1**3, rel=0.01)


def test_a_busy_link_alone_does_not_make_pd_p_short():
    """PD-P is busy for nine tenths of the time at most."""
    found = course(range(0, 300, 10), egress_bps=9.7e10, threshold_tokens=19_600.0, rate_rps=2.55)
    busy = [2.55 / evaluate(prfaas_pd(t)).stage_lambda_rps[Stage.PD_P] for t in (found[-1], found[-1] * 1.1)]
    assert busy[0] <= 0.9 < busy[1]


@pytest.mark.parametrize(("waiting", "steps"), [(10.0, 0), (30.0, 1), (60.0, 2), (100.0, 3), (1000.0, 6)])
def test_t_leaves_its_goal_by_a_step_where_24_more_wait_on_one_side_and_by_one_more_each_time_they_double(
    waiting, steps
):
    """On a link of 6 Gbps, of which the headroom leaves 5.4, the best t is 30.5K by the planner's search."""
    seen = {"capacity_bps": 6e9, "threshold_tokens": 30_500.0, "rate_rps": 1.8}
    up = course(range(0, 200, 10), egress_bps=6e9, queues=Queues(0, waiting, 0, 0), **seen)
    down = course(range(0, 200, 10), egress_bps=5e9, queues=Queues(0, 0, waiting, 0), **seen)
    goal = advised(capacity_bps=6e9).best.threshold_tokens
    assert up[-1] == pytest.approx(goal * 1.1**steps, rel=0.01)
    assert down[-1] == pytest.approx(goal / 1.1**steps, rel=0.01)


def test_what_was_said_stays_said_until_telemetry_that_comes_late_shows_it():
    """t in force is seen 30 s after it is set: a step in 40 s, since nothing shows the one before yet."""
    said, t, set_at, found = Remembered(), 19_600.0, [], []
    for now in range(121):
        seen = next((each for at, each in reversed(set_at) if at <= now - 30), 19_600.0)
        waits = observed(float(now), threshold_tokens=seen, egress_bps=9.7e10, queues=Queues(0, 100, 0, 0))
        before, (t, said) = t, decide(CASE, waits, Options(), said)
        if before != t:
            found.append(now)
        set_at.append((now, t))
    assert found == [0, 39, 78]


def test_another_t_that_was_set_by_hand_is_watched_for_a_window():
    said, found = Remembered(), []
    for now in range(25):
        t = 19_600.0 if now < 5 else 21_400.0
        waits = observed(float(now), threshold_tokens=t, egress_bps=9.7e10, queues=Queues(0, 100, 0, 0))
        found.append(decide(CASE, waits, Options(), said))
        said = found[-1][1]
    assert [t for t, _ in found] == pytest.approx([21_560.0] * 5 + [21_400.0] * 10 + [23_540.0] * 10)


def test_who_does_not_follow_for_a_minute_is_advised_anew():
    said, found = Remembered(), []
    for now in range(75):
        calm = now >= 5
        seen = observed(float(now), threshold_tokens=19_600.0, egress_bps=5e9 if calm else 9.7e10, rate_rps=0.9)
        t, said = decide(CASE, seen, Options(), said)
        found.append(t)
    assert set(found[:60]) == {19_600.0 * 1.1}
    assert found[-1] == 19_600.0


def test_who_does_not_follow_is_told_the_same_again_and_not_more():
    assert set(course(range(60), follows=False, egress_bps=9.7e10)) == {19_600.0 * 1.1}


def test_it_falls_back_to_the_best_only_after_calm_windows_and_not_beyond():
    found = course(range(0, 300, 10), egress_bps=5e9, threshold_tokens=40e3)
    assert found[1] == 40e3
    assert found[2] == pytest.approx(40e3 / 1.1)
    assert found[-1] == pytest.approx(advised().best.threshold_tokens, rel=0.055)


def test_near_the_best_it_is_left_alone():
    for t in (19_000.0, 20_300.0):
        assert set(course(range(0, 200, 10), threshold_tokens=t)) == {t}


def congested(seconds, before=None, egress_bps=6e9):
    """What is said and remembered after some seconds in which 30 KVCaches wait, of which the link says nothing."""
    said = before or Remembered()
    for now in seconds:
        last, waits = said, observed(float(now), egress_bps=egress_bps, queues=Queues(1, 30, 2, 0))
        _, said = decide(CASE, waits, Options(), last)
    return advise(CASE, waits, Options(), last)[0], said


def test_a_brown_out_of_which_the_link_says_nothing_is_seen_by_what_waits_for_a_window():
    """The link is said to carry 100 Gbps; 6 Gbps cross while 30 KVCaches wait."""
    assert congested(range(10))[0].link_carries_bps == 100e9
    advice, _ = congested(range(11))
    assert advice.link_carries_bps == 6e9
    assert advice.best.threshold_tokens == pytest.approx(advised(capacity_bps=6e9).best.threshold_tokens)


def carries(before, now_s, egress_bps=4e9, **changes):
    advice, said = advise(CASE, observed(now_s, egress_bps=egress_bps, **changes), Options(), before)
    return advice.link_carries_bps, said


def test_what_a_congested_link_carried_is_believed_for_a_while():
    _, before = congested(range(11))
    found = [carries(before, now, egress)[0] for now, egress in ((100.0, 4e9), (100.0, 7e9), (311.0, 4e9))]
    assert found == [6e9, 7e9, 100e9]


def test_a_link_over_which_far_more_crosses_than_all_it_carried_is_as_good_as_it_is_said_to_be():
    """Not while anything waits, as what crosses may just then have grown; nor where nothing is said of it."""
    _, before = congested(range(11))
    assert carries(before, 100.0, 9e9, queues=Queues(0, 0, 0, 0))[0] == 100e9
    assert carries(before, 100.0, 9e9, queues=Queues(0, 1, 0, 0))[0] == 9e9
    assert carries(before, 100.0, 9e9, queues=Queues(0, 0, 0, 0), capacity_bps=None)[0] == 9e9
    for now, egress_bps in ((90.0, 7e9), (95.0, 7.1e9)):  # what was seen to cross since is no limit
        before = carries(before, now, egress_bps)[1]
    assert carries(before, 100.0, 7.3e9, queues=Queues(0, 0, 0, 0))[0] == 100e9


def test_a_link_that_proves_to_be_as_it_was_is_believed_twice_as_long():
    _, before = congested(range(11))
    found, before = carries(before, 311.0)
    assert found == 100e9
    _, before = congested(range(400, 411), before)
    found = [carries(before, now)[0] for now in (900.0, 1009.0, 1011.0)]
    assert found == [6e9, 6e9, 100e9]


def test_a_link_that_is_said_to_carry_more_than_before_does():
    _, before = congested(range(11))
    _, before = carries(before, 12.0, capacity_bps=6e9)
    assert carries(before, 13.0, capacity_bps=50e9)[0] == 50e9


def test_what_was_said_for_the_best_t_is_withdrawn_at_once_when_that_lies_on_the_other_side():
    before = Remembered()
    for now in range(0, 40, 10):
        told, before = advise(CASE, observed(now, threshold_tokens=21e3, egress_bps=5e9), Options(), before)
    assert told.reason is Reason.TOO_HIGH
    brown_out = observed(31.0, threshold_tokens=21e3, capacity_bps=6e9, egress_bps=5e9)
    after, _ = advise(CASE, brown_out, Options(), before)
    assert after.best.threshold_tokens > 25e3
    assert after.threshold_tokens > 21e3


def carried(*seconds):
    """What the link is counted with after some seconds, each a time, what is said, what crosses and what waits."""
    before = Remembered()
    for now, told_bps, egress_bps, waiting in seconds:
        seen = observed(now, capacity_bps=told_bps, egress_bps=egress_bps, queues=Queues(0, waiting, 0, 0))
        advice, before = advise(CASE, seen, Options(), before)
    return advice.link_carries_bps


BROWN_OUT = ((0.0, 100e9, 7e9, 0), (5.0, 10e9, 7e9, 9), (20.0, 10e9, 9.9e9, 30), (60.0, 10e9, 9.9e9, 30))


def test_a_brown_out_that_the_link_tells_of_is_over_when_it_says_so():
    assert carried(*BROWN_OUT) == pytest.approx(9.9e9)
    # the queue and the mean of a moment before say nothing of the link as it is now
    assert carried(*BROWN_OUT, (61.0, 100e9, 9.9e9, 25)) == 100e9
    assert carried(*BROWN_OUT, (61.0, 100e9, 9.9e9, 25), (62.0, 100e9, 12e9, 0), (120.0, 100e9, 8e9, 0)) == 100e9
    # but if after a window it still waits, the link does not carry what it says
    assert carried(*BROWN_OUT, (61.0, 100e9, 9.9e9, 25), (72.0, 100e9, 9.9e9, 25)) == 9.9e9


def test_where_only_one_side_has_a_known_queue_sides_are_not_compared():
    assert advised(queues=Queues(pd_p=50.0), egress_bps=97e9).reason is Reason.LINK_BUSY
    assert advised(queues=Queues(prfaas=50.0)).reason is Reason.HOLD


QUEUES = st.builds(Queues, *[st.one_of(st.none(), st.floats(0, 100))] * 4)


@given(
    t=st.floats(100.0, 1.2e5),
    egress=st.one_of(st.none(), st.floats(0, 1.2e11)),
    capacity=st.one_of(st.none(), st.floats(0, 1e11)),
    rate=st.one_of(st.none(), st.floats(0, 6.0)),
    queues=QUEUES,
    n_p=st.integers(0, 8),
    n_prfaas=st.integers(0, 4),
    objective=st.sampled_from(Objective),
)
def test_whatever_is_seen_a_step_is_bounded_and_what_is_unknown_is_not_guessed(
    t, egress, capacity, rate, queues, n_p, n_prfaas, objective
):
    changes = {"threshold_tokens": t, "egress_bps": egress, "capacity_bps": capacity, "rate_rps": rate}
    counts = {"prefill_instances": n_p, "decode_instances": 8 - n_p, "prfaas_instances": n_prfaas}
    options = Options(objective=objective)
    advice = advised(options, queues=queues, **changes, **counts, lengths=histogram(DOUBLINGS))
    if not advice.is_valid:
        assert advice.threshold_tokens is None
        assert advice.sentence.startswith("nothing is recommended: ")
        return
    assert t / 1.1 * (1 - 1e-9) <= advice.threshold_tokens <= t * 1.5 * (1 + 1e-9)
    assert advice.interval.low <= advice.best.threshold_tokens <= advice.interval.high * (1 + 1e-9)
    assert advice.sentence


# --- the split ---------------------------------------------------------------------------------------------------


def test_another_split_is_worth_what_the_formulas_say():
    split = advised(Options(headroom=0.0), capacity_bps=10e9, rate_rps=2.9).split
    there, here = (
        best(Problem(prfaas_pd(bandwidth_bps=10e9), Form.EXACT, free_threshold=True, free_split=free))
        for free in (True, False)
    )
    assert (split.instances, split.best.prefill_instances) == (1, there.prefill_instances)
    assert split.best.lambda_max_rps == pytest.approx(there.lambda_max_rps, rel=2e-3)
    assert split.gain_rps == pytest.approx(there.lambda_max_rps - here.lambda_max_rps, rel=0.02)


def test_the_cost_of_converting_is_what_is_not_served_meanwhile():
    """4/2 go to 2/4 at 100 Gbps: while the first of two changes, 3/2 serve at the t in force, and then 2/3 at the best
    t of 3/3, for two minutes each."""
    changes = {"prefill_instances": 4.0, "decode_instances": 2.0, "rate_rps": 1.55, "threshold_tokens": 40e3}
    split = advised(Options(conversion_s=120.0), **changes).split
    best_t = best(Problem(prfaas_pd(n_p=3, n_d=3), Form.EXACT, True, False)).threshold_tokens
    during = [evaluate(prfaas_pd(*at)).lambda_max_rps for at in ((40e3, 3, 2), (best_t, 2, 3))]
    assert split.instances == -2
    assert during[0] < 1.55 < during[1]
    assert split.lost_requests == pytest.approx((1.55 - during[0]) * 120.0, rel=0.02)
    gained = 1.55 / 0.85 - advised(**changes).current.lambda_max_rps
    assert split.pays_after_s == pytest.approx(240.0 + split.lost_requests / gained, rel=0.05)


def test_it_is_not_worth_converting_for_requests_that_do_not_come():
    split = advised(capacity_bps=10e9, rate_rps=1.0).split
    assert split.gain_rps > 0
    assert split.pays_after_s == np.inf
    assert not split.outlasts
    assert split.change == 0


def test_a_short_role_gets_an_instance_after_two_looks_and_it_stays_said():
    said, changes = Remembered(), {"capacity_bps": 10e9, "rate_rps": 2.4, "egress_bps": 8.5e9}
    found = []
    for now in range(0, 200, 10):
        advice, said = advise(CASE, observed(float(now), threshold_tokens=23e3, **changes), Options(), said)
        found.append(advice.split.change)
    assert found == [0] * 6 + [1] * 14
    assert "convert one decode node for" in advice.sentence


def test_roles_that_may_not_change_are_not_spoken_of():
    advice = advised(Options(changes_roles=False), capacity_bps=10e9, rate_rps=2.9)
    assert advice.split is None
    assert "convert" not in advice.sentence


# --- when nothing is said ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"age_s": 45.0}, Obstacle.STALE),
        ({"lengths": None}, Obstacle.NO_LENGTHS),
        ({"lengths": histogram(requests=150.0)}, Obstacle.FEW_SAMPLES),
        ({"threshold_tokens": None}, Obstacle.NO_THRESHOLD),
        ({"prefill_instances": None}, Obstacle.NO_INSTANCES),
        ({"capacity_bps": None}, Obstacle.NO_CAPACITY),
    ],
)
def test_what_is_missing_is_said_and_nothing_recommended(changes, code):
    advice = advised(**changes)
    assert [each.code for each in advice.hindrances] == [code]
    assert (advice.threshold_tokens, advice.recommended, advice.reason) == (None, None, Reason.NOTHING)


def test_lengths_for_which_the_profile_was_not_measured_are_said():
    lengths = histogram(np.geomspace(128, 1e6, 200), lengths=TruncatedLogNormal(11.5, 1.0, 128, 1_000_000))
    advice = advised(lengths=lengths)
    assert [each.code for each in advice.hindrances] == [Obstacle.EXTRAPOLATED] * 2
    assert "outside 1024 to 131072 tokens" in advice.sentence


def test_without_a_prfaas_cluster_there_is_no_threshold():
    homogeneous = prfaas_pd(np.inf, prfaas=None, link=None)
    advice, _ = advise(homogeneous, observed())
    assert [each.code for each in advice.hindrances] == [Obstacle.NO_PRFAAS]


def test_more_headroom_never_lowers_the_best():
    best = [advised(Options(headroom=share), capacity_bps=10e9).best.threshold_tokens for share in (0, 0.1, 0.3, 0.6)]
    assert best == sorted(best)
    assert best[-1] > best[0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"rate_rps": -1.0}, "rate_rps must not be negative"), ({"queues": Queues(link=np.nan)}, "queues.link")],
)
def test_what_cannot_be_seen_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        observed(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"headroom": 1.0}, "headroom"),
        ({"step": 1.0}, "step must be above 1"),
        ({"confidence": 1.0}, "confidence"),
        ({"ttft_percentile": 0.75}, "ttft_percentile"),
        ({"hysteresis": -0.1}, "hysteresis"),
        ({"window_s": 0.0}, "window_s"),
    ],
)
def test_options_that_cannot_be_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Options(**changes)


def test_a_profile_that_is_slower_everywhere_by_the_same_ratio_has_the_same_best():
    """Both sides' seconds scale alike where neither link nor decode binds."""
    from planner.engine.curves import Scaled

    slower = replace(
        CASE, prfaas=replace(CASE.prfaas, t_prefill=Scaled(H200, 1.3)), pd=replace(CASE.pd, t_prefill=Scaled(H20, 1.3))
    )
    assert advise(slower, observed())[0].best.threshold_tokens == pytest.approx(advised().best.threshold_tokens)
