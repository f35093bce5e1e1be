"""A question, field by field: a scenario, what could be bought instead of what it has, and what that costs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from planner.documents.fields import Name, NotNegative, Origins, Positive, Table
from planner.entries.link import Bandwidth, LinkPrice
from planner.scenario.schema import DecodeTable, Price

SCHEMA_VERSION = 1
MOST_INSTANCES = 2_000

Most = Annotated[int, Field(ge=1, le=MOST_INSTANCES)]


class Chips(Table):
    """Instances of a profile of the scenario's model, and how many there may be."""

    profile: Name
    most: Most = 64


class PrfaasChips(Chips):
    """The same for a PrfaaS cluster; `egress_bps` is what one instance can send, in bit/s."""

    egress_bps: Positive | None = None


class PdChips(Chips):
    """The same for a PD cluster; `decode` is how such an instance decodes, where the scenario does not say it."""

    decode: DecodeTable | None = None


class LinkChoice(Table):
    """A link that could be had, in bit/s, and its price; without one it counts as free.

    Bandwidth and monthly price are those of one line of the `lines` that are had.
    """

    name: Name
    bandwidth_bps: Bandwidth
    achieved_bps: NotNegative | None = None
    price: LinkPrice | None = None
    lines: Annotated[int, Field(ge=1, le=1000)] = 1


class Reserve(Table):
    """What is planned to stay free at the peak."""

    target_utilisation: Annotated[float, Field(gt=0, le=1)] = 1.0
    spare_instances: Annotated[int, Field(ge=0, le=100)] = 0
    """Of each role, so that any one may fail."""
    spare_lines: Annotated[int, Field(ge=0, le=100)] = 0
    """Of a link that has several."""
    link_headroom: Annotated[float, Field(ge=0, lt=1)] = 0.0


class Vary(Table):
    """A parameter, and the range over which two deployments are compared."""

    parameter: Literal["price_ratio", "link_usd_per_gb", "bandwidth_bps", "length_factor", "kv_factor"]
    lowest: NotNegative
    highest: Positive
    points: Annotated[int, Field(ge=2, le=200)] = 41


class Promise(Table):
    """TTFT under load in seconds that this percentile of the requests must not exceed."""

    ttft_s: Positive
    percentile: Literal[50, 90, 99] = 90


class Question(Table):
    """A question; `scenario` and `baseline` are complete scenario documents once it has been read."""

    schema_version: Literal[1] = 1
    problem: Literal["equal_cost", "least_cost", "break_even", "front"]
    form: Literal["exact", "paper"] = "exact"
    scenario: dict[str, Any]
    prices: Annotated[list[Price], Field(max_length=1000)] = []
    listed: Annotated[list[Price], Field(max_length=1000)] = []
    """For the scenario's chips the catalogue's cheapest offers on demand of the newest day, put there at reading."""
    listed_dearest: Annotated[list[Price], Field(max_length=1000)] = []
    """And the dearest ones."""
    prfaas: Annotated[list[PrfaasChips], Field(max_length=20)] | None = None
    pd: Annotated[list[PdChips], Field(min_length=1, max_length=20)] | None = None
    links: Annotated[list[LinkChoice], Field(max_length=20)] | None = None
    reserve: Reserve = Reserve()
    budget_usd_per_h: Positive | None = None
    baseline: dict[str, Any] | None = None
    rate_rps: Positive | None = None
    """The peak rate to be carried; of a front the greatest one."""
    promise: Promise | None = None
    percentile: Literal[50, 90, 99] = 90
    """Of TTFT, in a front."""
    rates: Annotated[int, Field(ge=1, le=50)] = 8
    """How many rates a front has."""
    seconds: Annotated[float, Field(gt=0, le=86_400)] | None = None
    """Time for a search under a promise, or for each rate of a front; without it the search ends when it is done."""
    vary: Vary | None = None
    provenance: Origins = {}
