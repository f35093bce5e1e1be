"""Whether instances of the PD cluster are to change their role: what it brings, what it costs, and when."""

from __future__ import annotations

import math

from planner.engine.advice.optimum import best_split, best_threshold
from planner.engine.advice.points import Scene, best_point, point
from planner.engine.advice.terms import Observed, Point, Remembered, Split
from planner.engine.controller import Pressure, reallocated, reallocation
from planner.engine.throughput import Stage

PERIOD_S = 60.0
"""Between two looks."""


def split(scene: Scene, observed: Observed, now: Point, before: Remembered) -> tuple[Split | None, Remembered]:
    """The best split, and whether to go there; None where it is the present one. `now` is t and the split in force."""
    n_p = best_split(scene.loads, scene.there)
    best = best_point(scene.split(n_p), with_ttft=True)
    present = point(scene, best_threshold(scene.loads, scene.there), with_ttft=False)
    gain, instances = best.lambda_max_rps - present.lambda_max_rps, round(n_p - scene.there.pd_p)
    if not instances or gain <= scene.options.least_gain * present.lambda_max_rps:
        return None, _looked(scene, observed, now, before, scene.there.pd_p, 0)
    lost, pays_after_s = _cost(scene, now, best, instances)
    outlasts = pays_after_s <= scene.options.horizon_s
    after = _looked(scene, observed, now, before, n_p, int(math.copysign(1, instances)) if outlasts else 0)
    return Split(best, gain, instances, lost, pays_after_s, outlasts, after.change), after


def _cost(scene: Scene, now: Point, best: Point, instances: int) -> tuple[float, float]:
    """Requests not served while instances change over, and the seconds from the beginning until the gain makes up.

    An instance that changes serves in neither role; the rest do what they can at their best t. What is gained and lost
    is of the requests that come: a split that could serve more than come gains nothing by it.
    """
    rate = math.inf if scene.rate_rps is None else scene.rate_rps
    seconds, toward = scene.options.conversion_s, 1 if instances > 0 else -1
    served, lost = min(rate, now.lambda_max_rps), 0.0
    for done in range(abs(instances)):
        at = scene.split(scene.there.pd_p + toward * done)
        during = _without_one(at, gives_decode=toward > 0)
        lost += max(served - min(rate, during), 0.0) * seconds
    gain = min(rate, best.lambda_max_rps) - served
    if not gain > 0:
        return lost, math.inf
    return lost, seconds * abs(instances) + lost / gain


def _without_one(scene: Scene, gives_decode: bool) -> float:
    """Λ_max while one instance of a role is on its way to the other."""
    there = scene.there
    n_p, n_d = (there.pd_p, there.pd_d - 1) if gives_decode else (there.pd_p - 1, there.pd_d)
    fewer = type(there)(there.prfaas, there.link_bps, max(n_p, 0.0), max(n_d, 0.0), there.decode_rps)
    at = Scene(scene.deployment, scene.options, scene.loads, fewer, scene.link_bps, scene.rate_rps)
    return best_point(at, with_ttft=False).lambda_max_rps


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
    rule = reallocation(period_s=PERIOD_S, delay_s=scene.options.conversion_s, least_prefill=0.0)
    pressure = Pressure(before.short_prefill, before.short_decode, before.calm_roles)
    found = reallocated(rule, pressure, busy[0], busy[1], n_p, n_d, wanted if toward else n_p)
    change = found.change if found.change == toward else 0
    return before._replace(
        look_s=observed.now_s + PERIOD_S,
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
