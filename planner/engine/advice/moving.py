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
REFUTED = 1.2
"""Times what a congested link was seen to carry, that cross while nothing waits: it carries more now."""
LEAST_BPS = 1.0
"""A link that carries less is down."""
MOST_HOLDS = 8.0
"""Times `hold_s` for which a link is believed to be as it was seen, at most."""
A_STEP = 24.0
"""Requests more that wait on one side than on the other, for which t leaves its goal by a step."""
STEPS_WHEN_BUSY = 1
"""By which t leaves its goal at most where the link is busy and nothing waits for it."""


@dataclass(frozen=True, slots=True)
class Move:
    """The t to set, and why."""

    threshold_tokens: float
    reason: Reason


def link_carries(observed: Observed, options: Options, before: Remembered) -> tuple[float | None, Remembered]:
    """What the link carries in bit/s: the lesser of what is said and what was seen; None where neither is known.

    While more wants to cross than does, and has for a window, what crosses is what it carries, averaged over a window.
    That is believed for `hold_s` after it was last so, and raised at once where more is seen to cross; then the link is
    as good as is said, until it shows again that it is not. If it does so soon, it is believed for twice as long: who
    is not told when a link is well again can only try, and tries less and less often. Where the link is said to carry
    more than before, that is believed.
    """
    before = _forgotten(observed, options, before)
    seen, at_s, now_s = before.achieved_bps, before.achieved_at_s, observed.now_s
    since_s = min(before.congested_since_s, now_s) if is_congested(observed) else math.inf
    before = before._replace(congested_since_s=since_s, told_bps=observed.capacity_bps)
    if observed.achieved_bps is not None:
        seen, at_s = observed.achieved_bps, now_s
        before = before._replace(congested_bps=seen)
    elif observed.egress_bps is not None and now_s >= since_s + options.window_s:
        if seen is None:
            before = before._replace(holds_s=_hold(observed, options, before))
        weight = 1.0 if seen is None else -math.expm1(-(now_s - at_s) / options.window_s)
        seen, at_s = observed.egress_bps * weight + (seen or 0.0) * (1 - weight), now_s
        before = before._replace(congested_bps=seen)
    elif seen is not None and observed.egress_bps is not None:
        seen = max(seen, observed.egress_bps)
    known = [bps if bps >= LEAST_BPS else 0.0 for bps in (observed.capacity_bps, seen) if bps is not None]
    return min(known, default=None), before._replace(achieved_bps=seen, achieved_at_s=at_s)


def _forgotten(observed: Observed, options: Options, before: Remembered) -> Remembered:
    """Without what the link was seen to carry, where that is too long ago, or the link is said to carry more now."""
    told, was = observed.capacity_bps, before.told_bps
    if told is not None and was is not None and told > was * RISE:
        # what waits just now, and what crossed, are of the link as it was
        return before._replace(achieved_bps=None, holds_s=0.0, congested_since_s=math.inf)
    if before.achieved_bps is None:
        return before
    if _is_refuted(observed, before):
        return before._replace(achieved_bps=None, forgot_at_s=observed.now_s)
    if observed.now_s - before.achieved_at_s > max(before.holds_s, options.hold_s):
        return before._replace(achieved_bps=None, forgot_at_s=observed.now_s)
    return before


def _is_refuted(observed: Observed, before: Remembered) -> bool:
    """Whether far more crosses than all that the link carried when it was short, and nothing waits for it.

    Where nothing else is known of the link, the most that was seen to cross is as good as anything.
    """
    if observed.egress_bps is None or before.congested_bps is None or observed.capacity_bps is None:
        return False
    waits = observed.queues.link is not None and observed.queues.link >= 1
    return not waits and not is_congested(observed) and observed.egress_bps > REFUTED * before.congested_bps


def _hold(observed: Observed, options: Options, before: Remembered) -> float:
    """For how long it is believed what the link is seen to carry from now on."""
    held = max(before.holds_s, options.hold_s)
    return min(2 * held, MOST_HOLDS * options.hold_s) if observed.now_s - before.forgot_at_s <= held else options.hold_s


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

    Between the ends of two windows what was said is said again; who has followed it has nothing to do. The next window
    begins when a t that was said, or another one that was set, is seen in force: telemetry that comes late shows
    nothing of it before.
    """
    t, now_s = observed.threshold_tokens or 0.0, observed.now_s
    before = _awaited(t, now_s, scene.options, _compared(observed, scene.options, before))
    is_said = now_s < before.window_ends_s and not (worth_it and _leads_away(t, target, before))
    if is_said and before.threshold_tokens is not None:
        return Move(before.threshold_tokens, Reason(before.reason)), before
    standing, move = _decided(scene, observed, t, target, worth_it, before.calm)
    return move, before._replace(
        window_ends_s=now_s + scene.options.window_s,
        said_at_s=now_s,
        calm=standing.calm,
        threshold_tokens=move.threshold_tokens,
        from_tokens=t,
        reason=move.reason.value,
    )


def _leads_away(t: float, target: float, before: Remembered) -> bool:
    """Whether what was said for the best t leads away from where that is now: the link is another one, say."""
    said = before.threshold_tokens
    return said is not None and before.reason in (Reason.TOO_LOW, Reason.TOO_HIGH) and (said - t) * (target - t) < 0


def _awaited(t: float, now_s: float, options: Options, before: Remembered) -> Remembered:
    """With a window that begins no earlier than what was said, or another t, is seen in force."""
    said, ends_s = before.threshold_tokens, now_s + options.window_s
    if said is None or t == said:
        return before
    if t == before.from_tokens:
        return before._replace(window_ends_s=ends_s) if now_s < before.said_at_s + options.settle_s else before
    return before._replace(
        window_ends_s=ends_s, said_at_s=now_s, threshold_tokens=t, from_tokens=t, reason=Reason.HOLD.value
    )


def _compared(observed: Observed, options: Options, before: Remembered) -> Remembered:
    """Whether the egress rises from window to window, whatever becomes of t."""
    egress, was = observed.egress_bps, before.egress_bps
    if observed.now_s < before.egress_at_s + options.window_s:
        return before
    is_rising = egress is not None and was is not None and egress > was * RISE
    return before._replace(egress_bps=egress, egress_at_s=observed.now_s, is_rising=is_rising)


def _decided(
    scene: Scene, observed: Observed, t: float, target: float, worth_it: bool, calm: float
) -> tuple[Standing, Move]:
    options = scene.options
    link, remote, local = queues = _queues(observed)
    goes_up, busy, resent = worth_it and target > t, _busy(scene, observed), observed.resent_share or 0.0
    rule = _rule(scene, t, target if worth_it else t, queues)
    if link < rule.surge and not goes_up and not _has_room(scene, t * options.step):
        busy, resent = min(busy, math.nextafter(rule.high, 0.0)), 0.0
    standing = adjusted(rule, Standing(t, calm), busy, resent, *queues)
    leap = min(max(t, 1.0) * options.leap, target, rule.most_tokens)
    if standing.threshold_tokens > t:
        return standing, Move(leap if goes_up else standing.threshold_tokens, _why_up(rule, busy, resent, link))
    excess = local - remote - link
    if standing.threshold_tokens < t:
        return standing, Move(
            standing.threshold_tokens, Reason.LOCAL_QUEUE if excess >= rule.surge else Reason.TOO_HIGH
        )
    if goes_up and excess < rule.surge / 2:
        return Standing(t), Move(leap, Reason.TOO_LOW)
    return standing, Move(t, _why_kept(scene, observed))


def _rule(scene: Scene, t: float, goal: float, queues: tuple[float, float, float]) -> Rule:
    """Between the goal less as many steps as local requests wait for, and more as many as those at the link do."""
    options, (link, remote, local) = scene.options, queues
    up, down = (_steps(excess) for excess in (link + remote - local, local - remote - link))
    # that the link is busy, without requests that wait for it, may be the chance of a few seconds
    steps = up if link >= MARKS.surge else max(up, STEPS_WHEN_BUSY)
    least, most = goal / options.step**down, goal * options.step**steps
    most = min(most, max(options.most_tokens or scene.loads.lengths.longest, t))
    # what is left to them may be a trifle
    least, most = (t if _is_near(t, bound, options) else bound for bound in (min(least, t), max(most, t)))
    high = min(1 - options.headroom, MARKS.high)
    room = ROOM
    if scene.rate_rps is not None and t > least:
        # a step down makes more cross, by the formulas; that may be nearly as much as is allowed
        now, then = (scene.work(tokens)[Stage.LINK] for tokens in (t, t / options.step))
        room = max(ROOM, min(CLOSER * now / then if then > 0 else CLOSER, CLOSER))
    return Rule(least, most, step=options.step, high=high, low=room * high)


def _is_near(t: float, bound: float, options: Options) -> bool:
    low, high = sorted((max(t, 1.0), max(bound, 1.0)))
    return high <= low * (1 + options.hysteresis)


def _steps(excess: float) -> int:
    """By which t may leave its goal for so many requests that wait on one side more than on the other.

    One for the first 24, and one more each time that doubles: whatever the goal does not know of, t meets it at last.
    """
    return math.floor(math.log2(excess / A_STEP)) + 1 if excess >= A_STEP else 0


def _has_room(scene: Scene, threshold_tokens: float) -> bool:
    """Whether PD-P would not be short at a t, by the formulas; where they cannot tell, it is not."""
    if scene.rate_rps is None or not scene.there.pd_p:
        return True
    return scene.rate_rps * scene.work(threshold_tokens)[Stage.PD_P] <= MARKS.high * scene.there.pd_p


def _busy(scene: Scene, observed: Observed) -> float:
    """Of the link: as seen, or else as the rate predicts, or else neither short nor with room."""
    seen = utilisation(observed, scene.link_bps)
    if seen is not None:
        return seen
    if scene.rate_rps is None or observed.threshold_tokens is None or not scene.link_bps > 0:
        return (ROOM + 1) / 2 * min(1 - scene.options.headroom, MARKS.high)
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


def _why_kept(scene: Scene, observed: Observed) -> Reason:
    """A link that is short would have t go up, were PD-P not short as well."""
    return Reason.BOTH_SHORT if _is_short(scene, observed) else Reason.HOLD


def _is_short(scene: Scene, observed: Observed) -> bool:
    """Whether the link is busy, much of what crosses is sent again, or it is waited for."""
    resent, waiting = observed.resent_share or 0.0, observed.queues.link or 0.0
    high = min(1 - scene.options.headroom, MARKS.high)
    return _busy(scene, observed) >= high or resent >= MARKS.resent or waiting >= MARKS.surge
