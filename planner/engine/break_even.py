"""Where two ways of spending the same money tie: a deployment with PrfaaS, and the best without it.

The gain is Λ_max of the one over Λ_max of the other at what the first one costs. The other is taken in fractions of
instances, or else the gain would jump wherever the money is enough for one more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq

from planner.engine import equal_cost
from planner.engine.curves import Array, Scaled
from planner.engine.least_cost import Bought
from planner.engine.lengths import TruncatedLogNormal
from planner.engine.options import Space, loads

BYTES_PER_GB = 1e9


@dataclass(frozen=True, slots=True)
class Tie:
    """The gain over a parameter, shape of `values`; and the values at which it passes 1, rising."""

    values: Array
    gain: Array
    ties: tuple[float, ...]


def tie(space: Space, bought: Bought, vary: Callable[[Space, float], Space], values: Array) -> Tie:
    """The gain of a purchase at each value of a parameter, and where it is 1, to the last digits.

    The purchase keeps its counts; its threshold and its split are the best ones at each value.
    """

    def excess(value: float) -> float:
        return float(np.log(gain(vary(space, value), bought)))

    gains = np.array([gain(vary(space, float(value)), bought) for value in values])
    logs = np.log(gains)
    crossing = np.flatnonzero(np.isfinite(logs[:-1]) & np.isfinite(logs[1:]) & (logs[:-1] * logs[1:] < 0))
    ties = [brentq(excess, values[at], values[at + 1], rtol=1e-10) for at in crossing]
    return Tie(values, gains, tuple(sorted([*ties, *values[gains == 1.0].tolist()])))


def gain(space: Space, bought: Bought) -> float:
    """Λ_max of the purchase over that of the best without PrfaaS, in fractions, for the same money."""
    at, limit = equal_cost.at_best_split(space, bought)
    usd_per_h = equal_cost.cost(space, at, limit.egress_bps).usd_per_h
    alone = replace(space, prfaas=(), links=())
    found = equal_cost.dearest(alone, loads(alone), usd_per_h, whole=False)
    if found is None:
        return np.inf if limit.lambda_max_rps > 0 else np.nan
    return limit.lambda_max_rps / found[0]


# --- what can be varied ------------------------------------------------------------------------------------------


def prfaas_price(space: Space, factor: float) -> Space:
    """The space with every PrfaaS instance at `factor` times its price."""
    return replace(space, prfaas=tuple(replace(each, usd_per_h=each.usd_per_h * factor) for each in space.prfaas))


def volume_price(space: Space, usd_per_gb: float) -> Space:
    """The space with links at this price for each 10^9 bytes."""
    rates = [replace(link.rate, usd_per_byte=usd_per_gb / BYTES_PER_GB) for link in space.links]
    return replace(space, links=tuple(replace(link, rate=rate) for link, rate in zip(space.links, rates, strict=True)))


def bandwidth(space: Space, usable_bps: float) -> Space:
    """The space with links of this usable bandwidth in bit/s."""
    return replace(space, links=tuple(replace(link, usable_bps=usable_bps) for link in space.links))


def length(space: Space, factor: float) -> Space:
    """The space with prompts `factor` times as long, within the same bounds. Raises ValueError on other lengths."""
    given = space.lengths
    if not isinstance(given, TruncatedLogNormal):
        raise ValueError("prompt lengths can be varied only where they are a truncated log-normal")
    scaled = TruncatedLogNormal(given.mu + np.log(factor), given.sigma, given.shortest, given.longest)
    return replace(space, lengths=scaled)


def kv_size(space: Space, factor: float) -> Space:
    """The space with a KVCache `factor` times as large: with fewer or more layers of full attention."""
    return replace(space, s_kv=Scaled(space.s_kv, factor))
