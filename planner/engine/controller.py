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
    """Requests that are too many: remote ones, waiting for an instance or for their KVCache to be across, or local."""
    patience: float = 3.0
    """Windows in a row without want, after which t is lowered by a step."""


class Standing(NamedTuple):
    """What is remembered from window to window."""

    threshold_tokens: float
    calm: float = 0.0
    """Windows in a row without want."""


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
    return rule


def is_remote(tokens: float, threshold_tokens: float) -> bool:
    """Whether a request of so many uncached tokens is prefilled by the PrfaaS cluster: l > t."""
    return tokens > threshold_tokens


def adjusted(rule: Rule, standing: Standing, utilisation: float, remote_queue: float, local_queue: float) -> Standing:
    """The threshold for the next window, from what the last one showed.

    `utilisation` is the bits that crossed over those that could have, in [0, 1]; the queues are requests that wait
    now. t rises at once when the remote side is short, unless the local queue is the longer one and would only grow;
    it falls at once when that is a surge itself, and else after `patience` windows in which the link had room.
    """
    t, calm = standing.threshold_tokens, 0.0
    if remote_queue >= local_queue:
        if utilisation >= rule.high or remote_queue >= rule.surge:
            t = min(t * rule.step, rule.most_tokens)
    elif local_queue >= rule.surge:
        t = max(t / rule.step, rule.least_tokens)
    if remote_queue <= local_queue < rule.surge and utilisation <= rule.low:
        calm = standing.calm + 1.0
        if calm >= rule.patience:
            t, calm = max(t / rule.step, rule.least_tokens), 0.0
    return Standing(t, calm)
