"""A way between datacenters."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator

from planner.documents.fields import NotNegative, Positive, Share, Table
from planner.entries.base import Entry


def _bandwidth(value: Any) -> float:
    if value == "unlimited":
        return math.inf
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1e18:
        raise ValueError("must be a number of bit/s from 0 to 1e18, or the word unlimited")
    return float(value)


Bandwidth = Annotated[float, PlainValidator(_bandwidth)]


class LinkPrice(Table):
    """What the link costs: by volume (10^9 bytes) and by time."""

    usd_per_gb: NotNegative | None = None
    usd_per_month: NotNegative | None = None


class Constant(Table):
    """Others use the same share of the bandwidth all day."""

    kind: Literal["constant"]
    share: Share


class Diurnal(Table):
    """Others use a share that swings once a day around its mean, highest at `peak_hour` UTC."""

    kind: Literal["diurnal"]
    mean_share: Share
    amplitude: Share
    peak_hour: Annotated[float, Field(ge=0, lt=24)] = 12.0


class Recorded(Table):
    """The share that others used, sample by sample, at equal distances."""

    kind: Literal["recorded"]
    interval_s: Positive
    share: Annotated[list[Share], Field(min_length=1, max_length=100_000, fail_fast=True)]


Background = Annotated[Constant | Diurnal | Recorded, Field(discriminator="kind")]
Connections = Annotated[int, Field(ge=1, le=100_000)]
Loss = Annotated[float, Field(ge=0, lt=1)]
"""Share of packets; with all of them lost, nothing crosses."""


class Link(Entry):
    """Nominal and achieved bandwidth in bit/s, round-trip time in seconds, loss as a share of packets.

    Transfers go over so many TCP connections, each with a window of so many bytes.
    """

    bandwidth_bps: Bandwidth
    achieved_bps: NotNegative | None = None
    rtt_s: NotNegative | None = None
    loss: Share | None = None
    connections: Connections | None = None
    window_bytes: Positive | None = None
    background: Background | None = None
    price: LinkPrice | None = None
