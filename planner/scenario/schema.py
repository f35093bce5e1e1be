"""The one document, field by field. Units are in the names; "K" never appears: tokens are tokens."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, PlainValidator, model_validator

from planner.documents.fields import Count, Lengths, Name, NotNegative, Points, Positive, Provenance, Table, Tokens
from planner.engine.curves import Curve, LogLogCurve, QuadraticFit
from planner.engine.lengths import Empirical, LengthDistribution, TruncatedLogNormal

SCHEMA_VERSION = 1


def _bandwidth(value: Any) -> float:
    if value == "unlimited":
        return math.inf
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1e18:
        raise ValueError("must be a number of bit/s from 0 to 1e18, or the word unlimited")
    return float(value)


Bandwidth = Annotated[float, PlainValidator(_bandwidth)]
Interpolation = Literal["log_log", "quadratic"]


class Measured(Table, ABC):
    """A quantity at a few lengths in tokens, and how to read it between them."""

    tokens: Lengths
    interpolation: Interpolation = "log_log"

    @property
    @abstractmethod
    def values(self) -> list[float]:
        """The quantity at each of `tokens`."""

    @model_validator(mode="after")
    def _is_a_curve(self) -> Self:
        self.curve()
        return self

    def curve(self) -> Curve:
        """The engine's curve through the points. Raises ValueError as the engine does."""
        kind = QuadraticFit if self.interpolation == "quadratic" else LogLogCurve
        return kind(self.tokens, self.values)


class KvSize(Measured):
    """S_kv: bytes of KVCache that a prompt of so many tokens leaves."""

    bytes: Points

    @property
    def values(self) -> list[float]:
        """S_kv in bytes."""
        return self.bytes


class Profile(Measured):
    """T_prefill: seconds that one instance of some hardware takes for a prompt of so many tokens."""

    name: Name
    hardware: Name
    gpus_per_instance: Annotated[int, Field(ge=1, le=100_000)]
    seconds: Points

    @property
    def values(self) -> list[float]:
        """T_prefill in seconds."""
        return self.seconds


class Model(Table):
    """What is served: its KVCache and how fast each hardware prefills it."""

    name: Name
    title: str = ""
    s_kv: KvSize
    profiles: Annotated[list[Profile], Field(min_length=1, max_length=1000)]


class Hardware(Table):
    """A chip, by the name that profiles and prices use."""

    name: Name
    title: str = ""


class Cluster(Table):
    """Instances of one hardware in one place. A PD cluster splits them into prefill and decode."""

    name: Name
    role: Literal["prfaas", "pd"]
    hardware: Hardware
    gpus_per_instance: Annotated[int, Field(ge=1, le=100_000)]
    instances: Count
    prefill_instances: Count | None = None
    decode_instances: Count | None = None


class LinkPrice(Table):
    """What the link costs: by volume and by time."""

    usd_per_gb: NotNegative | None = None
    usd_per_month: NotNegative | None = None


class LinkTable(Table):
    """A way between clusters: nominal and achieved bandwidth in bit/s, round-trip time in seconds."""

    model_config = ConfigDict(populate_by_name=True)

    name: Name
    from_: Name = Field(alias="from")
    to: Name
    bandwidth_bps: Bandwidth
    achieved_bps: NotNegative | None = None
    rtt_s: NotNegative | None = None
    price: LinkPrice | None = None

    @property
    def usable_bps(self) -> float:
        """What it was seen to carry, or else its nominal bandwidth, in bit/s."""
        return self.bandwidth_bps if self.achieved_bps is None else self.achieved_bps


class TruncatedLogNormalLengths(Table):
    """ln L is normal with mean mu and deviation sigma; lengths outside [min, max] tokens do not occur."""

    distribution: Literal["truncated_log_normal"]
    mu: Annotated[float, Field(ge=-50, le=50)]
    sigma: Annotated[float, Field(gt=0, le=20)]
    min: Tokens
    max: Tokens

    @model_validator(mode="after")
    def _has_requests(self) -> Self:
        self.lengths()
        return self

    def lengths(self) -> LengthDistribution:
        """The engine's distribution."""
        return TruncatedLogNormal(self.mu, self.sigma, self.min, self.max)


class EmpiricalLengths(Table):
    """Recorded lengths, each of the same weight."""

    distribution: Literal["empirical"]
    samples: Annotated[list[Tokens], Field(min_length=1, max_length=1_000_000)]

    def lengths(self) -> LengthDistribution:
        """The engine's distribution."""
        return Empirical(self.samples)


class Arrivals(Table):
    """How requests arrive. Steady-state throughput does not depend on it."""

    process: Literal["poisson"] = "poisson"


class Traffic(Table):
    """Requests: input and output lengths in tokens, and how many a second are to be served, if known."""

    name: Name | None = None
    input_tokens: Annotated[TruncatedLogNormalLengths | EmpiricalLengths, Field(discriminator="distribution")]
    output_tokens: Tokens
    arrivals: Arrivals = Arrivals()
    rate_rps: Positive | None = None


class DecodeTable(Table):
    """A decode instance: requests it holds at once, and seconds that each step takes."""

    max_batch: Positive
    step_s: Positive


class Slo(Table):
    """What users are promised."""

    tokens_per_s: Positive | None = None


class Price(Table):
    """What hardware of this name costs."""

    name: Name
    usd_per_gpu_hour: NotNegative


class Routing(Table):
    """Who goes where: by length against the threshold, or all to one side."""

    policy: Literal["threshold", "all_local", "all_remote"]
    threshold_tokens: NotNegative | None = None


class Document(Table):
    """A scenario, complete: nothing in it refers to anything outside."""

    schema_version: Literal[1]
    name: Name
    title: str = ""
    description: str = ""
    model: Model
    clusters: Annotated[list[Cluster], Field(min_length=1, max_length=100)]
    links: Annotated[list[LinkTable], Field(max_length=100)] = []
    traffic: Traffic
    decode: DecodeTable
    slo: Slo = Slo()
    prices: Annotated[list[Price], Field(max_length=1000)] = []
    routing: Routing
    free: Annotated[list[str], Field(max_length=100)] = []
    provenance: dict[str, Provenance] = {}
