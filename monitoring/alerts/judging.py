"""From readings to the states of an alert: pure functions of (state, what is read, policy, now).

A condition has two levels. At or beyond `fire` it holds; on the other side of `clear` it does not; in between, in the
band, what was goes on to be: what fires goes on, and what does not fire does not begin to.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

type Phase = Literal["ok", "pending", "firing"]
type Reason = Literal["value", "no_data"]
type Verdict = Literal["fire", "hold", "clear"]
type NoData = Literal["alert", "ok", "keep"]


@dataclass(frozen=True, slots=True)
class Policy:
    """How long it must hold, and what no data means after how long."""

    for_ms: int
    no_data: NoData
    no_data_for_ms: int


@dataclass(frozen=True, slots=True)
class State:
    """Of one alert; `since_ms` says since when it is pending or firing, `blind_ms` since when there is no data."""

    phase: Phase = "ok"
    reason: Reason = "value"
    since_ms: int = 0
    blind_ms: int | None = None


OK = State()
HELD_EVERY_MS = 10_000


def verdict(value: float | None, fire: float, clear: float, above: bool = True) -> Verdict | None:
    """What a value says; None where there is none."""
    if value is None:
        return None
    if not above:
        value, fire, clear = -value, -fire, -clear
    if value >= fire:
        return "fire"
    return "hold" if value >= clear else "clear"


def advance(state: State, said: Verdict | None, policy: Policy, now_ms: int, is_suppressed: bool = False) -> State:
    """The next state. Suppressed is what rests on a source that is lost: it stays as it is, and no data is no alert."""
    if said is not None:
        return _seen(state, said, policy, now_ms)
    if is_suppressed:
        return OK if state.reason == "no_data" or state.phase == "ok" else _held(_blind(state, now_ms), now_ms)
    return _unseen(_blind(state, now_ms), policy, now_ms)


def _seen(state: State, said: Verdict, policy: Policy, now_ms: int) -> State:
    if state.reason == "no_data":
        state = OK  # there are data again: it begins anew with what they say
    if state.phase == "firing":
        return OK if said == "clear" else replace(state, blind_ms=None)
    if said != "fire":
        return OK
    if state.phase == "ok":
        state = State("pending", "value", now_ms)
    elif state.blind_ms is not None:
        # Time without data is no time for which it held.
        state = replace(state, since_ms=state.since_ms + now_ms - state.blind_ms, blind_ms=None)
    return _due(state, policy.for_ms, now_ms)


def _unseen(state: State, policy: Policy, now_ms: int) -> State:
    blind_ms = now_ms if state.blind_ms is None else state.blind_ms
    if policy.no_data == "keep":
        return state if state.phase != "ok" else OK
    if policy.no_data == "ok":
        is_over = now_ms - blind_ms >= policy.no_data_for_ms
        return OK if is_over or state.phase == "ok" else state
    if state.phase == "firing":
        return state
    is_over = state.reason == "value" and now_ms - blind_ms >= policy.no_data_for_ms
    if state.phase == "ok" or is_over:
        state = State("pending", "no_data", blind_ms, blind_ms)
    return _due(state, policy.no_data_for_ms, now_ms) if state.reason == "no_data" else state


def _blind(state: State, now_ms: int) -> State:
    return state if state.blind_ms is not None else replace(state, blind_ms=now_ms)


def _held(state: State, now_ms: int) -> State:
    """Time for which it is suppressed is no time without data; told seldom, since each change is written."""
    passed_ms = now_ms - (now_ms if state.blind_ms is None else state.blind_ms)
    if passed_ms < HELD_EVERY_MS:
        return state
    since_ms = state.since_ms + passed_ms if state.phase == "pending" else state.since_ms
    return replace(state, since_ms=since_ms, blind_ms=now_ms)


def _due(state: State, for_ms: int, now_ms: int) -> State:
    if now_ms - state.since_ms < for_ms:
        return state
    return State("firing", state.reason, now_ms, state.blind_ms)
