"""Whether instances of the PD cluster are to change their role: what it brings, what it costs, and when."""

from __future__ import annotations

import math

from planner.engine.advice.optimum import best_split, best_threshold
from planner.engine.advice.points import Scene, best_point, point
from planner.engine.advice.terms import Observed, Point, Remembered, Split
from planner.engine.controller import Pressure, reallocated, reallocation
from planner.engine.throughput import Stage

ROLES = reallocation(least_prefill=0.0)
"""A look a minute."""


def split(scene: Scene, observed: Observed, now: Point, before: Remembered) -> tuple[Split | None, Remembered]:
    """The best split, and whether to go there; None where it is the present one. `now` is t and the split in force."""
    n_p = best_split(scene.loads, scene.there)
    best = best_point(scene.split(n_p), with_ttft=False)
    present = point(scene, best_threshold(scene.loads, scene.there), with_ttft=False)
    gain, instances = best.lambda_max_rps - present.lambda_max_rps, round(n_p - scene.there.pd_p)
    if not instances or gain <= scene.options.least_gain * present.lambda_max_rps:
        return None, _looked(scene, observed, now, before, scene.there.pd_p, 0)
    lost, pays_after_s = _cost(scene, now, best, instances)
    outlasts = pays_after_s <= scene.options.horizon_s
    after = _looked(scene, observed, now, before, n_p, int(math.copysign(1, instances)) if outlasts else 0)
    best = point(scene.split(n_p), best.threshold_tokens)
    return Split(best, gain, instances, lost, pays_after_s, outlasts, after.change), after


def _cost(scene: Scene, now: Point, best: Point, instances: int) -> tuple[float, float]:
    """Requests not served while instances change over, and the seconds from the beginning until the gain makes up.

    An instance that changes serves in neither role, and t follows only when it has changed. Lost are requests that come
    now. Gained are those that could come before anything is short, as the controller understands it: a split that
    could serve more than so many gains nothing by it.
    """
    rate = math.inf if scene.rate_rps is None else scene.rate_rps
    seconds, toward = scene.options.conversion_s, 1 if instances > 0 else -1
    served, lost, t = min(rate, now.lambda_max_rps), 0.0, now.threshold_tokens
    for done in range(abs(instances)):
        at = scene.split(scene.there.pd_p + toward * done)
        t = best_threshold(at.loads, at.there) if done else t
        during = _without_one(at, t, gives_decode=toward > 0)
        lost += max(served - min(rate, during), 0.0) * seconds
    wanted = rate / ROLES.high
    gain = min(wanted, best.lambda_max_rps) - min(wanted, now.lambda_max_rps)
    if not gain > 0:
        return lost, math.inf
    return lost, seconds * abs(instances) + lost / gain


def _without_one(scene: Scene, threshold_tokens: float, gives_decode: bool) -> float:
    """Λ_max while one instance of a role is on its way to the other."""
    there = scene.there
    n_p, n_d = (there.pd_p, there.pd_d - 1) if gives_decode else (there.pd_p - 1, there.pd_d)
    fewer = type(there)(there.prfaas, there.link_bps, max(n_p, 0.0), max(n_d, 0.0), there.decode_rps)
    at = Scene(scene.deployment, scene.options, scene.loads, fewer, scene.link_bps, scene.rate_rps)
    return point(at, threshold_tokens, with_ttft=False).lambda_max_rps


def _looked(scene: Scene, observed: Observed, now: Point, before: Remembered, wanted: float, toward: int) -> Remembered:
    """The controller's look at both roles, every minute; what it said stays said until it is done or no longer right.

    `toward` is the direction that outlasts its conversion, `wanted` the N_p to which instances go back by themselves.
    """
    n_p, n_d = scene.there.pd_p, scene.there.pd_d
    if before.change and (before.change != toward or before.change_at != n_p):
        before = before._replace(change=0, change_at=None)
    busy = _busy(observed.prefill_busy, now, Stage.PD_P), _busy(observed.decode_busy, now, Stage.PD_D)
    if observed.now_s < before.look_s or busy[0] is None or busy[1] is None:
        return before
    pressure = Pressure(before.short_prefill, before.short_decode, before.calm_roles)
    found = reallocated(ROLES, pressure, busy[0], busy[1], n_p, n_d, wanted if toward else n_p)
    change = found.change if found.change == toward else 0
    return before._replace(
        look_s=observed.now_s + ROLES.period_s,
        short_prefill=found.prefill,
        short_decode=found.decode,
        calm_roles=found.calm,
        change=change or before.change,
        change_at=n_p if change else before.change_at,
    )


def _busy(seen: float | None, now: Point, stage: Stage) -> float | None:
    """As seen, or else as the rate predicts."""
    if seen is not None:
        return seen
    return None if now.utilisation is None else min(now.utilisation[stage], 1.0)
