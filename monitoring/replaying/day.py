"""What happens in a day: how load swings, bursts, a link that carries less, sources that fall silent or start anew."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.engine.curves import Array

HOUR_S = 3600.0
DAY_S = 24 * HOUR_S
MINUTE_S = 60.0
FIRST_HOUR, PEAK_HOUR, AMPLITUDE = 8.0, 14.0, 0.5
"""Time 0 is eight in the morning; the load is highest at two, half as much again as on average."""
LOAD = 0.6
"""Share of Λ_max on average over a day."""
BROWN_OUT_SHARE = 0.1
"""Of its bandwidth, what the link carries during the brown-out of a usual day."""
RTT_S = 0.03
"""Assumed of a link between datacenters whose scenario does not say it."""


@dataclass(frozen=True, slots=True)
class Burst:
    """So many times the requests for a while."""

    begin_s: float
    end_s: float
    factor: float


@dataclass(frozen=True, slots=True)
class BrownOut:
    """The link carries no more than `bps` for a while."""

    begin_s: float
    end_s: float
    bps: float


@dataclass(frozen=True, slots=True)
class Silence:
    """A source sends nothing for a while; its counters go on."""

    source: str
    begin_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Restart:
    """A source's counters begin again at zero."""

    source: str
    at_s: float


@dataclass(frozen=True, slots=True)
class Day:
    """All times in seconds from its beginning."""

    duration_s: float = DAY_S
    load: float = LOAD
    bursts: tuple[Burst, ...] = ()
    brown_outs: tuple[BrownOut, ...] = ()
    silences: tuple[Silence, ...] = ()
    restarts: tuple[Restart, ...] = ()
    moves_t: bool = False
    """Whether t follows the link by the simulator's own rule; else it stays, as where nobody follows any advice."""

    def __post_init__(self) -> None:
        """Raises ValueError on a duration, a load, a factor or a span that cannot be."""
        for name, value in (("duration", self.duration_s), ("load", self.load)):
            if not 0 < value < math.inf:
                raise ValueError(f"the {name} must be positive and finite, got {value:g}")
        spans: Sequence[tuple[str, Sequence[Burst | BrownOut | Silence]]] = (
            ("burst", self.bursts), ("brown-out", self.brown_outs), ("silence", self.silences),
        )  # fmt: skip
        for what, span in [(what, each) for what, those in spans for each in those]:
            if not 0 <= span.begin_s < span.end_s < math.inf:
                begin, end = f"{span.begin_s:g}", f"{span.end_s:g}"
                raise ValueError(f"a {what} must begin at 0 s or later and end after that, got {begin} to {end} s")
        for burst in self.bursts:
            if not 0 < burst.factor < math.inf:
                raise ValueError(f"the factor of a burst must be positive, got {burst.factor:g}")
        for brown_out in self.brown_outs:
            if not 0 <= brown_out.bps < math.inf:
                raise ValueError(f"bit/s of a brown-out must be 0 or more, got {brown_out.bps:g}")

    def is_silent(self, source: str, at_s: float) -> bool:
        """Whether a source sends nothing now."""
        return any(each.source == source and each.begin_s <= at_s < each.end_s for each in self.silences)

    def started_s(self, source: str, at_s: float) -> float:
        """When a source's counters began."""
        return max((each.at_s for each in self.restarts if each.source == source and each.at_s <= at_s), default=0.0)

    def shares(self) -> Array:
        """The load of each minute, 1 on average over a whole day without bursts."""
        middle_s = (np.arange(math.ceil(self.duration_s / MINUTE_S)) + 0.5) * MINUTE_S
        angle = 2 * np.pi * (middle_s / DAY_S + (FIRST_HOUR - PEAK_HOUR) / 24)
        shares: Array = 1 + AMPLITUDE * np.cos(angle)
        for burst in self.bursts:
            shares[(middle_s >= burst.begin_s) & (middle_s < burst.end_s)] *= burst.factor
        return shares


def usual(link_bps: float | None, duration_s: float = DAY_S, load: float = LOAD, *, moves_t: bool = False) -> Day:
    """A day with all of it, as far as it lasts; `link_bps` None: there is no link."""
    bps = BROWN_OUT_SHARE * link_bps if link_bps else None
    return Day(
        duration_s,
        load,
        bursts=(Burst(2.5 * HOUR_S, 2.75 * HOUR_S, 1.25),),
        brown_outs=(BrownOut(4 * HOUR_S, 5 * HOUR_S, bps),) if bps else (),
        silences=(Silence("pd-decode", 7 * HOUR_S, 7.5 * HOUR_S),),
        restarts=(Restart("prfaas", 9 * HOUR_S), Restart("gateway", 10 * HOUR_S)),
        moves_t=moves_t,
    )


def simulation(scenario: Mapping[str, Any], day: Day, seed: int) -> dict[str, Any]:
    """The document of a simulation of a scenario's complete document in which the day happens.

    Arrivals are those of the day, whatever the scenario's. t moves with the link where that is asked for, and lengths
    decide who goes there.
    """
    shares, changed = day.shares(), deepcopy(dict(scenario))
    changed["traffic"] = changed["traffic"] | {
        "arrivals": {"process": "recorded", "interval_s": MINUTE_S, "rate_rps": shares.tolist()}
    }
    windows = [{"begin_s": each.begin_s, "end_s": each.end_s, "bps": each.bps} for each in day.brown_outs]
    moves_t = day.moves_t and scenario["routing"]["policy"] == "threshold"
    return {
        "scenario": changed,
        "load": day.load * float(shares.mean()),
        "policy": "bandwidth_aware" if moves_t else "as_given",
        "requests": 100,
        "replications": 1,
        "seed": seed,
        "warm_up": 0.0,
        **({"weather": {"windows": windows}} if windows else {}),
    }


def over_tcp(simulation: Mapping[str, Any]) -> dict[str, Any]:
    """The document of a simulation whose transfers cross the link by TCP, so that it is known what is sent again."""
    links = simulation["scenario"].get("links")
    if not links:
        return dict(simulation)
    link = links[0] if links[0].get("rtt_s") is not None else links[0] | {"rtt_s": RTT_S}
    scenario = simulation["scenario"] | {"links": [link, *links[1:]]}
    return {**simulation, "scenario": scenario, "tcp": simulation.get("tcp") or {}}
