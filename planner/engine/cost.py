"""What a deployment costs an hour, and what each million tokens of it costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from planner.engine.curves import Array

BITS_PER_BYTE = 8
SECONDS_PER_HOUR = 3600.0
HOURS_PER_MONTH = 8766 / 12
MILLION = 1e6


@dataclass(frozen=True, slots=True)
class LinkRate:
    """A link's price: by time in USD an hour, and by volume in USD a byte that crosses it."""

    usd_per_h: float = 0.0
    usd_per_byte: float = 0.0

    def bits_per_s(self, usd_per_h: float) -> float:
        """The traffic in bit/s that so many USD an hour pay for, by volume alone; endless where volume is free."""
        if not self.usd_per_byte:
            return float("inf") if usd_per_h >= 0 else 0.0
        return max(usd_per_h, 0.0) * BITS_PER_BYTE / (SECONDS_PER_HOUR * self.usd_per_byte)


@dataclass(frozen=True, slots=True)
class Cost:
    """USD an hour by what it is paid for; `link_volume` is of the traffic at the rate that was asked about."""

    prfaas: float
    prefill: float
    decode: float
    link_time: float
    link_volume: float

    @property
    def usd_per_h(self) -> float:
        """All of it, USD an hour."""
        return self.prfaas + self.prefill + self.decode + self.link_time + self.link_volume

    @property
    def input_usd_per_h(self) -> float:
        """What input tokens are charged with: prefill on either side, and the link."""
        return self.usd_per_h - self.decode


def volume_usd_per_h(rate: LinkRate, egress_bps: ArrayLike) -> Array:
    """USD an hour of the bytes that cross a link, at so many bit/s."""
    usd: Array = rate.usd_per_byte * SECONDS_PER_HOUR / BITS_PER_BYTE * np.asarray(egress_bps, dtype=float)
    return usd


def per_million(usd_per_h: float, tokens_per_s: float) -> float:
    """USD a million tokens; infinite where there are none and something is paid."""
    if tokens_per_s > 0:
        return usd_per_h / (tokens_per_s * SECONDS_PER_HOUR) * MILLION
    return float("inf") if usd_per_h > 0 else 0.0
