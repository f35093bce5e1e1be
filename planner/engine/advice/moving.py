"""How t moves from second to second: the controller's rule about the best t, a step a window."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.engine.advice.points import Scene
from planner.engine.advice.terms import Observed, Options, Reason, Remembered
from planner.engine.controller import Rule, Standing, adjusted
from planner.engine.throughput import Stage

MARKS = Rule(0.0, 0.0)
ROOM = 0.78
"""Of the utilisation from which the link is short, up to which it is not; 0.7 of 0.9."""
CLOSER = 0.95
"""The same of what a step down would make of it by the formulas, where they tell."""
RISE = 1.02


@dataclass(frozen=True, slots=True)
class Move:
    """The t to set, and why."""

    threshold_tokens: float
    reason: Reason


def link_carries(observed: Observed, options: Options, before: Remembered) -> tuple[float | None, Remembered]:
    """What the link carries in bit/s: the lesser of what is said and what was seen; None where neither is known.

    While more wants to cross than does, what crosses is what it carries, averaged over a window. That is believed for
    `hold_s` after it was last so, and raised at once where more is seen to cross; then the link is as good as is said,
    until it shows again that it is not.
    """
    seen, at_s = before.achieved_bps, before.achieved_at_s
    if seen is not None and observed.now_s - at_s > options.hold_s:
        seen = None
    if observed.achieved_bps is not None:
        seen, at_s = observed.achieved_bps, observed.now_s
    elif observed.egress_bps is not None and is_congested(observed):
        weight = 1.0 if seen is None else -math.expm1(-(observed.now_s - at_s) / options.window_s)
        seen, at_s = observed.egress_bps * weight + (seen or 0.0) * (1 - weight), observed.now_s
    elif seen is not None and observed.egress_bps is not None:
        seen = max(seen, observed.egress_bps)
    known = [bps for bps in (observed.capacity_bps, seen) if bps is not None]
    return min(known, default=None), before._replace(achieved_bps=seen, achieved_at_s=at_s)


def is_congested(observed: Observed) -> bool:
    """Whether more wants to cross the link than does."""
    waits = observed.queues.link is not None and observed.queues.link >= MARKS.surge
    return waits or (observed.resent_share is not None and observed.resent_share >= MARKS.resent)


def utilisation(observed: Observed, link_bps: float) -> float | None:
    """Egress over what the link carries; a link that is down is wholly used."""
    if observed.egress_bps is None:
        return None
    return observed.egress_bps / link_bps if link_bps > 0 else 1.0


def moved(
    scene: Scene, observed: Observed, target: float, worth_it: bool, before: Remembered
) -> tuple[Move, Remembered]:
    """The t to set now. `target` is where t goes when nothing is short, if that is `worth_it`.

    Between the ends of two windows what was said is said again; who has followed it has nothing to do.
    """
    t = observed.threshold_tokens or 0.0
    if observed.now_s < before.window_ends_s and before.threshold_tokens is not None:
        if t == before.from_tokens:
            return Move(before.threshold_tokens, Reason(before.reason)), before
        if t == before.threshold_tokens:
            return Move(t, Reason(before.reason)), before
    standing, move = _decided(scene, observed, t, target, worth_it, before.calm)
    egress, was = observed.egress_bps, before.egress_bps
    return move, before._replace(
        window_ends_s=observed.now_s + scene.options.window_s,
        calm=standing.calm,
        threshold_tokens=move.threshold_tokens,
        from_tokens=t,
        reason=move.reason.value,
        egress_bps=egress,
        is_rising=egress is not None and was is not None and egress > was * RISE,
    )


def _decided(
    scene: Scene, observed: Observed, t: float, target: float, worth_it: bool, calm: float
) -> tuple[Standing, Move]:
    options = scene.options
    most = max(options.most_tokens or scene.loads.lengths.longest, t)
    rule = _rule(scene, t, min(target, t) if worth_it else t, most)
    busy, resent, (link, remote, local) = _busy(scene, observed, rule), observed.resent_share or 0.0, _queues(observed)
    standing = adjusted(rule, Standing(t, calm), busy, resent, link, remote, local)
    goes_up, leap = worth_it and target > t, min(max(t, 1.0) * options.leap, target, most)
    if standing.threshold_tokens > t:
        return standing, Move(leap if goes_up else standing.threshold_tokens, _why_up(rule, busy, resent, link))
    surges = local - remote - link >= rule.surge
    if standing.threshold_tokens < t:
        return standing, Move(standing.threshold_tokens, Reason.LOCAL_QUEUE if surges else Reason.TOO_HIGH)
    if goes_up and not surges:
        return Standing(t), Move(leap, Reason.TOO_LOW)
    return standing, Move(t, Reason.HOLD)


def _rule(scene: Scene, t: float, least: float, most: float) -> Rule:
    options = scene.options
    high = min(1 - options.headroom, MARKS.high)
    room = ROOM
    if scene.rate_rps is not None and t > least:
        # a step down makes more cross, by the formulas; that may be nearly as much as is allowed
        now, then = (scene.work(tokens)[Stage.LINK] for tokens in (t, t / options.step))
        room = max(ROOM, min(CLOSER * now / then if then > 0 else CLOSER, CLOSER))
    return Rule(least, most, step=options.step, high=high, low=room * high)


def _busy(scene: Scene, observed: Observed, rule: Rule) -> float:
    """Of the link: as seen, or else as the rate predicts, or else neither short nor with room."""
    seen = utilisation(observed, scene.link_bps)
    if seen is not None:
        return seen
    if scene.rate_rps is None or observed.threshold_tokens is None or not scene.link_bps > 0:
        return (rule.low + rule.high) / 2
    return scene.rate_rps * scene.work(observed.threshold_tokens)[Stage.LINK] / scene.link_bps


def _queues(observed: Observed) -> tuple[float, float, float]:
    """For the link, PrfaaS and PD-P. Two sides are compared only where both are known."""
    link, remote, local = observed.queues.link, observed.queues.prfaas, observed.queues.pd_p
    if remote is None or local is None:
        return link or 0.0, 0.0, 0.0
    return link or 0.0, remote, local


def _why_up(rule: Rule, busy: float, resent: float, link_queue: float) -> Reason:
    if link_queue >= rule.surge:
        return Reason.LINK_QUEUE
    if resent >= rule.resent:
        return Reason.RETRANSMITS
    return Reason.LINK_BUSY if busy >= rule.high else Reason.PRFAAS_BACKLOG
