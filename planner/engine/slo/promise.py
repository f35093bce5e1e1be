"""What is promised, and the purchase that keeps it."""

from __future__ import annotations

from dataclasses import dataclass

from planner.engine.latency import LoadedTtft
from planner.engine.least_cost import Bought


@dataclass(frozen=True, slots=True)
class Promise:
    """TTFT in seconds that a share of the requests, 0.5, 0.9 or 0.99, must not exceed."""

    ttft_s: float
    share: float = 0.9

    def of(self, ttft: LoadedTtft) -> float:
        """The percentile that is promised, in seconds."""
        return {0.5: ttft.p50, 0.9: ttft.p90, 0.99: ttft.p99}[self.share]


@dataclass(frozen=True, slots=True)
class Kept:
    """The cheapest purchase found that keeps a promise, None where there is none, and its cost at the rate.

    `at_least_usd_per_h` bounds what was not looked at: it equals the cost unless time ran out. `tried` counts the
    deployments that were evaluated, `pruned` the choices of threshold, chips and link that could not be cheaper.
    """

    bought: Bought | None
    usd_per_h: float
    at_least_usd_per_h: float
    tried: int
    pruned: int

    @property
    def gap(self) -> float:
        """By what share a cheaper purchase may have been missed, at most; infinite where none was found in time."""
        if self.bought is None:
            return 0.0 if self.at_least_usd_per_h == self.usd_per_h else float("inf")
        return self.usd_per_h / self.at_least_usd_per_h - 1 if self.at_least_usd_per_h > 0 else float("inf")
