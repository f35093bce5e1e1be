"""A fleet, field by field: PD clusters are scenarios with a share of the requests, routes say who prefills for whom."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from planner.documents.fields import Count, Name, NotNegative, Origins, Table
from planner.entries.link import Bandwidth
from planner.scenario.schema import Price

MOST = 20


class PrfaasCluster(Table):
    """A PrfaaS cluster that serves every PD cluster with a route to it."""

    name: Name
    hardware: Name
    gpus_per_instance: Annotated[int, Field(ge=1, le=100_000)]
    instances: Count


class FleetLink(Table):
    """A link, in bit/s; several routes may share it."""

    name: Name
    bandwidth_bps: Bandwidth
    achieved_bps: NotNegative | None = None

    @property
    def usable_bps(self) -> float:
        """What it was seen to carry, or else its nominal bandwidth, in bit/s."""
        return self.bandwidth_bps if self.achieved_bps is None else self.achieved_bps


class RouteTo(Table):
    """Where offloaded requests are prefilled, and how their KVCache comes back."""

    prfaas: Name
    link: Name


class PdShare(Table):
    """A PD cluster: of its scenario count the model, the traffic, the PD cluster and decode."""

    name: Name
    scenario: dict[str, Any]
    share: Annotated[float, Field(gt=0, le=1)]
    """Of all requests of the fleet."""
    routes: Annotated[list[RouteTo], Field(max_length=MOST)] = []
    """In the order of rising length; none keeps every request here."""
    free_split: bool = True
    """Whether N_p/N_d may change."""


class FleetDocument(Table):
    """A fleet; scenarios in it are complete documents once it has been read."""

    schema_version: Literal[1] = 1
    problem: Literal["clusters"]
    name: Name = "fleet"
    prfaas: Annotated[list[PrfaasCluster], Field(max_length=MOST)] = []
    links: Annotated[list[FleetLink], Field(max_length=MOST)] = []
    pd: Annotated[list[PdShare], Field(min_length=1, max_length=MOST)]
    prices: Annotated[list[Price], Field(max_length=2 * MOST)] = []
    """Of a GPU-hour; complete once the fleet has been read, as far as anybody says what a chip costs."""
    provenance: Origins = {}
