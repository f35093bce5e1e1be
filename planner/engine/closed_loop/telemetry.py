"""What a monitor shows of a simulated system, as late as it comes."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from planner.engine.advice import Histogram, Observed, Options, Queues
from planner.engine.closed_loop.system import Reading
from planner.engine.curves import Array
from planner.engine.deployment import require_not_negative

BUCKETS = tuple(float(digit * 10**power) for power in range(6) for digit in (1, 2, 5))[:16]
"""Bounds of vLLM's histograms of tokens, for prompts of up to 131,072: 1, 2, 5, ... 100,000."""


@dataclass(frozen=True, slots=True)
class Loop:
    """How what is seen comes to be followed."""

    options: Options = field(default_factory=Options)
    delay_s: int = 0
    """What is seen is of so many whole seconds ago, t in force included. What is advised is done at once."""
    tells_capacity: bool = True
    """Whether the link tells what it carries now; otherwise what it carries when nothing is in its way."""
    every_s: int = 1
    """Whole seconds between two looks."""
    mean_s: int = 10
    """Rates are means over so many whole seconds."""
    half_life_s: float = 600.0
    """After which an observed length counts half."""
    bounds: tuple[float, ...] = BUCKETS
    """Of the histogram of lengths, in tokens."""

    def __post_init__(self) -> None:
        """Raises ValueError on times out of range."""
        require_not_negative("delay_s", self.delay_s)
        for name in ("every_s", "mean_s", "half_life_s"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be positive and finite, got {getattr(self, name):g}")


class Telemetry:
    """Takes a reading every second, and tells what is known of the system as it was `delay_s` ago."""

    def __init__(self, loop: Loop, nominal_bps: float, lengths: Array) -> None:
        """`lengths` of all requests, in tokens, in the order in which they come."""
        self._loop, self._nominal_bps = loop, nominal_bps
        self._bucket = np.searchsorted(loop.bounds, lengths, side="left")
        self._counts: Array = np.zeros(len(loop.bounds) + 1)
        self._decay = 2.0 ** (-1.0 / loop.half_life_s)
        self._kept: deque[tuple[Reading, Array]] = deque(maxlen=loop.delay_s + loop.mean_s + 1)

    def take(self, reading: Reading) -> None:
        """The reading of the next second."""
        before = self._kept[-1][0].arrived if self._kept else 0
        came = np.bincount(self._bucket[before : reading.arrived], minlength=self._counts.size)
        self._counts = self._counts * self._decay + came
        self._kept.append((reading, self._counts))

    def observed(self, now_s: float) -> Observed | None:
        """None while nothing has come through yet."""
        last = len(self._kept) - 1 - self._loop.delay_s
        if last < 1:
            return None
        now, counts = self._kept[last]
        then = self._kept[max(last - self._loop.mean_s, 0)][0]
        seconds, sent = now.now_s - then.now_s, now.sent_bits - then.sent_bits
        return Observed(
            now_s=now_s,
            lengths=Histogram(self._loop.bounds, tuple(counts.tolist())),
            rate_rps=(now.arrived - then.arrived) / seconds,
            capacity_bps=now.capacity_bps if self._loop.tells_capacity else self._nominal_bps,
            egress_bps=sent / seconds,
            resent_share=(now.resent_bits - then.resent_bits) / sent if sent > 0 else 0.0,
            queues=Queues(now.prfaas, now.link, now.pd_p, now.pd_d),
            threshold_tokens=now.threshold_tokens,
            prfaas_instances=now.n_prfaas,
            prefill_instances=now.n_p,
            decode_instances=now.n_d,
        )
