"""A simulation, field by field: a scenario, how loaded it is, how requests are routed, and how much is counted."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from planner.documents.fields import NotNegative, Positive, Table
from planner.simulating.circumstances import Conditions
from planner.simulating.prompts import Prompts
from planner.simulating.stages import CachesTable, DecodeTable, PathTable, PrefillTable, RolesTable, TrackTable

MOST_REQUESTS = 100_000_000


class BrownOut(Table):
    """The link carries less, or nothing, for a while: one window of `weather`, in short."""

    begin_s: NotNegative
    end_s: Positive
    bps: NotNegative = 0.0


class Run(Conditions):
    """What is simulated; `scenario` is a complete document once it has been read."""

    schema_version: Literal[1] = 1
    scenario: dict[str, Any]
    rate_rps: Positive | None = None
    load: Annotated[float, Field(gt=0, le=10)] | None = None
    """Share of the scenario's Λ_max in exact form, where no rate is given."""
    requests: Annotated[int, Field(ge=100, le=MOST_REQUESTS)] = 100_000
    """Of each replication."""
    replications: Annotated[int, Field(ge=1, le=200)] = 5
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 1
    warm_up: Annotated[float, Field(ge=0, lt=1)] = 0.05
    policy: Literal["as_given", "all_local", "all_remote", "bandwidth_aware"] = "as_given"
    threshold_track: TrackTable | None = None
    """t over time, as it was recorded."""
    order: Literal["fcfs", "shortest"] = "fcfs"
    chunks: Annotated[int, Field(ge=1, le=10_000)] = 16
    """In which a KVCache is sent while prefill goes on; 1 sends it after the prefill."""
    connection_bps: Positive | None = None
    """Most that one transfer gets of the link."""
    failover: bool = True
    """Whether a cluster that is down, or cut off, gets no requests while the other one can."""
    prefill: PrefillTable = PrefillTable()
    decode: DecodeTable = DecodeTable()
    paths: Annotated[list[PathTable], Field(max_length=100)] = Field(default_factory=list)
    """Ways that the link consists of; none: it is one."""
    prompts: Prompts | None = None
    """What requests have in common; without it their lengths are the scenario's, and no two begin alike."""
    caches: CachesTable | None = None
    roles: RolesTable | None = None
    brown_out: BrownOut | None = None
    ttft_within_s: Positive | None = None
    """Promise on TTFT, in seconds: how many requests keep it is counted."""
