"""The one document, field by field. Units are in the names; "K" never appears: tokens are tokens."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from planner.documents.fields import Count, Name, NotNegative, Origins, Points, Positive, Share, Table, Text
from planner.entries.link import Background, Bandwidth, Connections, LinkPrice, Loss
from planner.entries.model import KvSize
from planner.entries.profile import Measured
from planner.entries.traffic import TrafficFields

SCHEMA_VERSION = 1
MOST_CLUSTERS = 100


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
    title: Text = ""
    s_kv: KvSize
    profiles: Annotated[list[Profile], Field(min_length=1, max_length=1000)]


class Hardware(Table):
    """A chip, by the name that profiles and prices use."""

    name: Name
    title: Text = ""


class Cluster(Table):
    """Instances of one hardware in one place. A PD cluster splits them into prefill and decode."""

    name: Name
    role: Literal["prfaas", "pd"]
    hardware: Hardware
    gpus_per_instance: Annotated[int, Field(ge=1, le=100_000)]
    instances: Count
    prefill_instances: Count | None = None
    decode_instances: Count | None = None
    egress_bps: Positive | None = None
    """Of a PrfaaS cluster: what one instance can send, in bit/s, as evenly as its network cards are used."""


class LinkTable(Table):
    """A way between clusters: nominal and achieved bandwidth in bit/s, round-trip time in seconds.

    What TCP makes of it, and what others use, enter simulations alone.
    """

    model_config = ConfigDict(populate_by_name=True)

    name: Name
    from_: Name = Field(alias="from")
    to: Name
    bandwidth_bps: Bandwidth
    achieved_bps: NotNegative | None = None
    rtt_s: NotNegative | None = None
    loss: Loss | None = None
    connections: Connections | None = None
    window_bytes: Positive | None = None
    background: Background | None = None
    price: LinkPrice | None = None

    @property
    def usable_bps(self) -> float:
        """What it was seen to carry, or else its nominal bandwidth, in bit/s."""
        return self.bandwidth_bps if self.achieved_bps is None else self.achieved_bps


class _Named(Table):
    name: Name | None = None


class TrafficTable(TrafficFields, _Named):
    """Requests, as the catalogue has them; a name may be left out."""


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
    """Who goes where: by length against the threshold, all to one side, or a share whatever the lengths (blind)."""

    policy: Literal["threshold", "all_local", "all_remote", "blind"]
    threshold_tokens: NotNegative | None = None
    remote_share: Share | None = None
    """Of the requests, those that go to PrfaaS under policy blind."""
    prefix: Literal["own", "best"] = "own"
    """Each cluster prefills what its own cache leaves (bandwidth scarce), or the better cache is copied (abundant)."""


class Document(Table):
    """A scenario, complete: nothing in it refers to anything outside."""

    schema_version: Literal[1]
    name: Name
    title: Text = ""
    description: str = ""
    model: Model
    clusters: Annotated[list[Cluster], Field(min_length=1, max_length=MOST_CLUSTERS)]
    links: Annotated[list[LinkTable], Field(max_length=100)] = []
    traffic: TrafficTable
    decode: DecodeTable
    slo: Slo = Slo()
    prices: Annotated[list[Price], Field(max_length=1000)] = []
    routing: Routing
    free: Annotated[list[str], Field(max_length=100)] = []
    provenance: Origins = {}
