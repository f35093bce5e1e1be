"""The Pareto front of cost, rate and TTFT: what no other deployment beats in all three.

For each rate the cheapest deployment is sought under one promise after another, from none to hardly any wait. Rates
are independent of one another: each is a shard that any worker can compute, and merging them is a matter of order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner.engine.curves import Array
from planner.engine.latency import Circumstances, LoadedTtft
from planner.engine.least_cost import Bought
from planner.engine.options import ROUNDING, Space
from planner.engine.search import Report
from planner.engine.slo import Kept, Promise, cheapest_keeping, least_percentile, ttft

LOOSEST_S = 1e9
"""A promise that every stable deployment keeps."""
SLACKS = (4.0, 2.5, 1.8, 1.4, 1.2, 1.1, 1.05, 1.02)
"""Promises, as multiples of the least TTFT that there is without any queue."""


@dataclass(frozen=True, slots=True)
class Point:
    """A deployment at a rate: USD an hour, and TTFT under load in seconds."""

    bought: Bought
    rate_rps: float
    usd_per_h: float
    ttft: LoadedTtft


@dataclass(frozen=True, slots=True)
class Shard:
    """Question: the front at one rate, of the percentile `share`."""

    space: Space
    rate_rps: float
    share: float
    around: Circumstances
    seconds: float = float("inf")
    """Time for it."""


@dataclass(frozen=True, slots=True)
class Found:
    """The points of one rate, the cheapest first, and what they took; `gap` is the greatest of theirs."""

    points: tuple[Point, ...]
    tried: int
    pruned: int
    gap: float


def at_rate(asked: Shard, report: Report) -> Found:
    """The points of the front at one rate; none where nothing carries it."""
    points: list[Point] = []
    searches: list[Kept] = []
    least_s = least_percentile(asked.space, asked.rate_rps, asked.share, asked.around)
    promises = [LOOSEST_S, *(slack * least_s for slack in SLACKS)]
    for done, promised in enumerate(promises):
        best = f"{points[-1].usd_per_h:,.2f} USD/h" if points else "nothing yet"
        report(done, len(promises), f"{asked.rate_rps:.3g} req/s: {best}")
        promise, seconds_left = Promise(promised, asked.share), asked.seconds / len(promises)
        found = cheapest_keeping(asked.space, asked.rate_rps, promise, asked.around, seconds=seconds_left)
        searches.append(found)
        if found.bought is None:
            break
        seconds = ttft(asked.space, found.bought, asked.rate_rps, asked.around)
        points.append(Point(found.bought, asked.rate_rps, found.usd_per_h, seconds))
    report(len(promises), len(promises), f"{asked.rate_rps:.3g} req/s: done")
    return Found(
        tuple(points),
        sum(each.tried for each in searches),
        sum(each.pruned for each in searches),
        max(each.gap for each in searches),
    )


def unbeaten(standings: Sequence[tuple[float, float, float]]) -> list[int]:
    """The places of the points that no other one beats or equals in rate, USD an hour and seconds together.

    By rate, then by cost; of equal ones the first. Points in any order give the same front.
    """
    order = sorted(range(len(standings)), key=lambda at: (-standings[at][0], *standings[at][1:], at))
    kept: list[int] = []
    for at in order:
        _, usd, seconds = standings[at]
        if not any(standings[other][1] <= usd * (1 + ROUNDING) and standings[other][2] <= seconds for other in kept):
            kept.append(at)
    return sorted(kept, key=lambda at: standings[at])


def rates(most_rps: float, count: int) -> Array:
    """Rates to try, evenly up to the greatest one."""
    return np.linspace(most_rps / count, most_rps, count)
