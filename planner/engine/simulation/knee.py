"""Where TTFT turns up as the load grows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

TIMES = 2.0
"""P90 of TTFT at the knee, over that at the lowest load. Of M/M/1, whose response time is s / (1 − ρ), that is ρ = 1/2:
where ρ over the response time is the greatest, and beyond which delay grows faster than throughput."""


@dataclass(frozen=True, slots=True)
class Knee:
    """Where P90 of TTFT is twice what it is at the lowest load."""

    limit_s: float
    """Twice that."""
    within: float | None
    """The last load before any that is beyond the limit; None where nothing but the lowest was simulated."""
    beyond: float | None
    """The first load beyond the limit, or not stable; None where all are within it."""
    at: float | None
    """Between the two by a straight line; None where there are not two, or the second is not stable."""


def knee(points: Iterable[tuple[float, float | None]], times: float = TIMES) -> Knee | None:
    """Of loads with P90 of TTFT in seconds, None where not stable; None where the lowest load is not stable.

    A straight line lies above a curve that bends upwards: the knee is rather said too early than too late.
    """
    ordered = sorted(points, key=lambda point: point[0])
    if not ordered or ordered[0][1] is None:
        return None
    limit_s = times * ordered[0][1]
    within, within_s = ordered[0][0], ordered[0][1]
    for load, p90_s in ordered[1:]:
        if p90_s is None:
            return Knee(limit_s, within, load, None)
        if p90_s > limit_s:
            share = (limit_s - within_s) / (p90_s - within_s)
            return Knee(limit_s, within, load, within + share * (load - within))
        within, within_s = load, p90_s
    return Knee(limit_s, within, None, None)
