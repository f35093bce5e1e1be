"""The state machine of an alert, held against what it promises, whatever the readings are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring.alerts.judging import OK, Policy, State, advance, verdict

SECOND = 1000
readings = st.lists(
    st.one_of(st.none(), st.sampled_from([0.1, 0.7, 0.8, 0.9]), st.floats(0, 1)), min_size=1, max_size=60
)
policies = st.builds(
    Policy,
    st.integers(0, 8).map(lambda seconds: seconds * SECOND),
    st.sampled_from(["alert", "ok", "keep"]),
    st.integers(0, 8).map(lambda seconds: seconds * SECOND),
)
FIRE, CLEAR = 0.8, 0.6


def course(values, policy, suppressed=()):
    """The state after each second's reading."""
    state, states = OK, []
    for second, value in enumerate(values):
        said = verdict(value, FIRE, CLEAR)
        state = advance(state, said, policy, second * SECOND, second in suppressed)
        states.append(state)
    return states


@pytest.mark.parametrize(
    ("value", "above", "said"),
    [
        (0.8, True, "fire"), (0.79, True, "hold"), (0.6, True, "hold"), (0.59, True, "clear"), (None, True, None),
        (0.6, False, "fire"), (0.61, False, "hold"), (0.8, False, "hold"), (0.81, False, "clear"),
    ],
)  # fmt: skip
def test_a_value_is_judged_by_the_two_levels(value, above, said):
    fire, clear = (0.8, 0.6) if above else (0.6, 0.8)
    assert verdict(value, fire, clear, above) == said


@given(policies, st.sampled_from(["ok", "firing"]), st.lists(st.floats(CLEAR, FIRE, exclude_max=True), max_size=40))
def test_inside_the_band_nothing_fires_and_nothing_resolves(policy, phase, values):
    state = State(phase, "value", 0) if phase == "firing" else OK
    for second, value in enumerate(values):
        state = advance(state, verdict(value, FIRE, CLEAR), policy, second * SECOND)
        assert state.phase == phase


@given(readings, policies)
def test_what_fires_by_its_value_was_at_or_beyond_the_level_for_so_long_without_a_break(values, policy):
    states = course(values, policy)
    for second, state in enumerate(states):
        begins = state.phase == "firing" and (second == 0 or states[second - 1].phase != "firing")
        if not begins or state.reason != "value":
            continue
        beyond, at = 0, second
        while at > 0 and (values[at - 1] is None or values[at - 1] >= FIRE):
            beyond += values[at - 1] is not None
            at -= 1
        assert values[second] >= FIRE
        assert beyond * SECOND >= policy.for_ms


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60), policies)
def test_with_data_it_is_as_a_brute_force_has_it(values, policy):
    firing, since = False, None
    for second, (value, state) in enumerate(zip(values, course(values, policy), strict=True)):
        if firing:
            firing = value >= CLEAR
            since = None
        elif value >= FIRE:
            since = second if since is None else since
            firing = (second - since) * SECOND >= policy.for_ms
        else:
            since = None
        assert (state.phase == "firing") == firing
        assert (state.phase == "pending") == (not firing and since is not None)


@given(readings, st.integers(0, 5))
def test_keep_changes_nothing_while_there_are_no_data(values, for_s):
    states = course(values, Policy(for_s * SECOND, "keep", SECOND))
    for before, after, value in zip(states, states[1:], values[1:], strict=False):
        if value is None:
            assert after.phase == before.phase


@given(readings, st.integers(0, 5), st.integers(0, 5))
def test_ok_ends_an_alert_after_its_own_time_without_data_and_not_before(values, for_s, no_data_for_s):
    states = course(values, Policy(for_s * SECOND, "ok", no_data_for_s * SECOND))
    blind = 0
    for before, after, value in zip(states, states[1:], values[1:], strict=False):
        blind = blind + 1 if value is None else 0
        if blind:
            over = (blind - 1) >= no_data_for_s
            assert after.phase == ("ok" if over else before.phase)


@given(readings, st.integers(0, 5), st.integers(0, 5))
def test_alert_fires_after_its_own_time_without_data_and_not_before(values, for_s, no_data_for_s):
    states = course(values, Policy(for_s * SECOND, "alert", no_data_for_s * SECOND))
    blind = 0
    for second, (value, state) in enumerate(zip(values, states, strict=True)):
        blind = blind + 1 if value is None else 0
        if blind - 1 >= no_data_for_s:
            assert state.phase == "firing"
        elif blind and (second == 0 or states[second - 1].phase != "firing"):
            assert state.phase != "firing"
        if value is not None:
            assert state.reason == "value"


def test_time_without_data_does_not_count_as_time_for_which_it_held():
    policy = Policy(3 * SECOND, "keep", SECOND)
    states = course([0.9, 0.9, None, None, None, 0.9, 0.9, 0.9], policy)
    assert [state.phase for state in states] == ["pending"] * 6 + ["firing"] * 2


def test_an_alert_of_no_data_ends_when_there_are_data_and_begins_anew_with_what_they_say():
    policy = Policy(2 * SECOND, "alert", SECOND)
    states = course([None, None, 0.9, 0.9, 0.9, 0.1], policy)
    assert [(state.phase, state.reason) for state in states] == [
        ("pending", "no_data"), ("firing", "no_data"), ("pending", "value"), ("pending", "value"),
        ("firing", "value"), ("ok", "value"),
    ]  # fmt: skip


def test_time_for_which_it_was_suppressed_is_no_time_without_data_afterwards():
    # Fires for lack of data after a minute; its source is lost for five, then 20 s pass until its first value.
    values, lost = [0.9] * 2 + [None] * 320 + [0.1], set(range(2, 302))
    states = course(values, Policy(600 * SECOND, "alert", 60 * SECOND), lost)
    assert {state.phase for state in states[:-1]} == {"pending"}
    assert {state.reason for state in states} == {"value"}
    assert states[-1] == OK


@given(readings, policies, st.sets(st.integers(0, 60)))
def test_while_its_source_is_lost_no_data_is_no_alert_and_what_fires_goes_on(values, policy, suppressed):
    states = course(values, policy, suppressed)
    for second, (value, state) in enumerate(zip(values, states, strict=True)):
        if value is None and second in suppressed:
            assert state.reason == "value"
            before = states[second - 1] if second else OK
            assert state.phase == (before.phase if before.reason == "value" else "ok")
