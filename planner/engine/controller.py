"""What routes requests: state that is observed in, a threshold out.

Plain functions over numbers. The simulator compiles them as they stand, and who watches a running system calls them,
so each stands alone: none calls another, and what they remember is handed in and out.
"""

from __future__ import annotations

import math
from typing import NamedTuple


class Rule(NamedTuple):
    """How the threshold t moves: between two bounds, in equal ratios, with hysteresis. All numbers are floats.

    With `least_tokens` equal to `most_tokens` it never moves.
    """

    least_tokens: float
    """t while nothing is scarce."""
    most_tokens: float
    step: float = 1.1
    """Ratio of two neighbouring thresholds, above 1."""
    high: float = 0.9
    """Egress utilisation from which the link is short."""
    low: float = 0.7
    """Egress utilisation up to which it is not."""
    surge: float = 8.0
    """Requests that are too many, whose KVCache is not yet across; or local ones, beyond those that wait remotely."""
    patience: float = 3.0
    """Windows in a row without want, after which t is lowered by a step."""
    resent: float = 0.01
    """Share of what crosses that is sent again, from which the link is short however busy it is."""
    backlog: float = 32.0
    """Requests that wait for PrfaaS, beyond those that wait locally, from which it lacks instances."""


class Standing(NamedTuple):
    """What is remembered from window to window."""

    threshold_tokens: float
    calm: float = 0.0
    """Windows in a row without want."""


class Reallocation(NamedTuple):
    """When an instance of the PD cluster changes its role. All numbers are floats."""

    period_s: float = 60.0
    """Between two looks."""
    high: float = 0.85
    """Busy share from which a role is short."""
    room: float = 0.8
    """Busy share that the other role may have after it has given an instance away."""
    patience: float = 2.0
    """Looks in a row at which a role is short, after which it gets an instance."""
    least_prefill: float = 1.0
    """Instances that each role keeps."""
    least_decode: float = 1.0
    delay_s: float = 60.0
    """From when an instance is empty until it serves in its new role."""
    calm: float = 10.0
    """Looks in a row at which neither role is short nor would be with an instance back in the role that it was planned
    for, after which it goes back."""


class Pressure(NamedTuple):
    """What is remembered from look to look, and what is to be done now."""

    prefill: float = 0.0
    """Looks in a row at which prefill was short, ..."""
    decode: float = 0.0
    """... and decode."""
    calm: float = 0.0
    """... and at which an instance could have gone back."""
    change: int = 0
    """Instances that prefill gets of decode's: 1, 0, or -1."""


def all_local() -> Rule:
    """Nothing is sent away."""
    return static(math.inf)


def all_remote() -> Rule:
    """Everything is sent away, whatever it costs the link."""
    return static(0.0)


def static(threshold_tokens: float) -> Rule:
    """Requests longer than t are sent away, whatever happens."""
    return Rule(float(threshold_tokens), float(threshold_tokens))


def bandwidth_aware(least_tokens: float, most_tokens: float, **changes: float) -> Rule:
    """t rises from its usual value when the link or the remote queue is short, up to `most_tokens`, and comes back.

    `changes` are the other fields of `Rule`. Raises ValueError on bounds or marks that leave no room for hysteresis.
    """
    rule = Rule(float(least_tokens), float(most_tokens), **{name: float(value) for name, value in changes.items()})
    if not 0 < rule.least_tokens <= rule.most_tokens < math.inf:
        raise ValueError(f"thresholds must be positive and rise, got {least_tokens:g} to {most_tokens:g} tokens")
    if not rule.step > 1:
        raise ValueError(f"a step must be above 1, got {rule.step:g}: t would not move")
    if not 0 <= rule.low < rule.high <= 1:
        raise ValueError(f"needs 0 <= low < high <= 1, got low {rule.low:g} and high {rule.high:g}")
    if not (rule.surge > 0 and rule.patience >= 1):
        raise ValueError(f"surge must be positive and patience at least 1, got {rule.surge:g} and {rule.patience:g}")
    if not (rule.resent > 0 and rule.backlog > 0):
        raise ValueError(f"resent and backlog must be positive, got {rule.resent:g} and {rule.backlog:g}")
    return rule


def reallocation(**changes: float) -> Reallocation:
    """Roles that follow where the work is. `changes` are fields of `Reallocation`.

    Raises ValueError on marks that would send an instance to and fro, and on times and counts out of range.
    """
    rule = Reallocation(**{name: float(value) for name, value in changes.items()})
    if not 0 < rule.room <= rule.high <= 1:
        raise ValueError(f"needs 0 < room <= high <= 1, got room {rule.room:g} and high {rule.high:g}")
    if not (0 < rule.period_s < math.inf and 0 <= rule.delay_s < math.inf):
        raise ValueError(
            f"period_s must be positive and delay_s not negative, got {rule.period_s:g} and {rule.delay_s:g}"
        )
    if not (rule.patience >= 1 and rule.calm >= 1):
        raise ValueError(f"patience and calm must be at least 1, got {rule.patience:g} and {rule.calm:g}")
    if not (rule.least_prefill >= 0 and rule.least_decode >= 1):
        raise ValueError("least_decode must be at least 1, and least_prefill not negative")
    return rule


def is_remote(tokens: float, threshold_tokens: float) -> bool:
    """Whether a request of so many uncached tokens is prefilled by the PrfaaS cluster: l > t."""
    return tokens > threshold_tokens


def judged_tokens(tokens: float, cached_pd: float, cached_prfaas: float, is_abundant: bool) -> float:
    """What of a prompt is compared with t: all but what is cached.

    Where bandwidth is scarce, each cluster is judged by itself, and the PD cluster's cache counts; where it is
    abundant, the better one of both does, for it can be copied across.
    """
    cached = max(cached_pd, cached_prfaas) if is_abundant else cached_pd
    return tokens - cached


def adjusted(
    rule: Rule,
    standing: Standing,
    utilisation: float,
    resent: float,
    link_queue: float,
    remote_queue: float,
    local_queue: float,
) -> Standing:
    """The threshold for the next window, from what the last one showed.

    `utilisation` is the bits that crossed over those that could have, `resent` the share of them that was sent again,
    both in [0, 1]. The queues are requests now: prefilled by PrfaaS and not yet across, waiting for a PrfaaS instance,
    and for one of PD-P. t rises at once while the link is short, unless the local queue is the longer one and would
    only grow, and when the wait for PrfaaS is a backlog beyond the local one. It falls at once when the local queue
    is a surge beyond the others, and else after `patience` windows in which the link had room.

    That PrfaaS has a queue is no reason by itself: where t is the best one both sides have them, and a t that follows
    their chance makes both longer.
    """
    t, calm = standing.threshold_tokens, 0.0
    is_short = utilisation >= rule.high or resent >= rule.resent or link_queue >= rule.surge
    if (is_short and link_queue + remote_queue >= local_queue) or remote_queue - local_queue >= rule.backlog:
        t = min(t * rule.step, rule.most_tokens)
    elif local_queue - remote_queue - link_queue >= rule.surge:
        t = max(t / rule.step, rule.least_tokens)
    elif not is_short and utilisation <= rule.low:
        calm = standing.calm + 1.0
        if calm >= rule.patience:
            t, calm = max(t / rule.step, rule.least_tokens), 0.0
    return Standing(t, calm)


def reallocated(
    rule: Reallocation,
    pressure: Pressure,
    prefill_busy: float,
    decode_busy: float,
    prefill_instances: float,
    decode_instances: float,
    planned_prefill: float,
) -> Pressure:
    """Whether an instance is to change its role, from how busy both roles were since the last look, in [0, 1].

    A role that was short for `patience` looks in a row gets an instance of the other one, if that keeps enough of
    them, and would not be short itself with the same work on one less. An instance goes back, towards as many for
    prefill as were planned, when for `calm` looks in a row its present role could have spared it.
    """
    prefill = pressure.prefill + 1.0 if prefill_busy >= rule.high else 0.0
    decode = pressure.decode + 1.0 if decode_busy >= rule.high else 0.0
    decode_spares_one = decode_busy * decode_instances <= rule.room * (decode_instances - 1)
    prefill_spares_one = prefill_busy * prefill_instances <= rule.room * (prefill_instances - 1)
    spares_one = prefill_spares_one if prefill_instances > planned_prefill else decode_spares_one
    is_calm = prefill == 0 and decode == 0 and prefill_instances != planned_prefill and spares_one
    calm, change = pressure.calm + 1.0 if is_calm else 0.0, 0
    if prefill >= rule.patience and decode_spares_one and decode_instances - 1 >= rule.least_decode:
        change = 1
    elif decode >= rule.patience and prefill_spares_one and prefill_instances - 1 >= rule.least_prefill:
        change = -1
    elif calm >= rule.calm:
        change = -1 if prefill_instances > planned_prefill else 1
    return Pressure(0.0, 0.0, 0.0, change) if change else Pressure(prefill, decode, calm, 0)
