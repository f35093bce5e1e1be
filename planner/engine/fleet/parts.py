"""What a fleet is: several PrfaaS clusters, several PD clusters, and the links between them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from planner.engine.curves import Curve
from planner.engine.deployment import Decode, require_not_negative
from planner.engine.lengths import LengthDistribution

SHARES_SUM = 1e-9
"""How far the shares of the PD clusters may be from 1 together."""


@dataclass(frozen=True, slots=True)
class FleetPrfaas:
    """A PrfaaS cluster: its instances, and T_prefill in seconds by the name of the PD cluster (hence the model)."""

    name: str
    instances: float
    t_prefill: Mapping[str, Curve]

    def __post_init__(self) -> None:
        """Raises ValueError on a negative count."""
        require_not_negative(f"N_prfaas of {self.name}", self.instances)


@dataclass(frozen=True, slots=True)
class FleetLink:
    """A link, and the bit/s that it carries: 0 when it is down, infinite when it never binds."""

    name: str
    usable_bps: float

    def __post_init__(self) -> None:
        """Raises ValueError on a negative bandwidth."""
        require_not_negative(f"the bandwidth of {self.name} in bit/s", self.usable_bps)


@dataclass(frozen=True, slots=True)
class Route:
    """Where an offloaded request is prefilled, and the link on which its KVCache comes back; both by name."""

    prfaas: str
    link: str


@dataclass(frozen=True, slots=True)
class FleetPd:
    """A PD cluster with its own model and traffic; two models on one cluster are two entries.

    A `share` of the fleet's requests arrives here. Of the `instances`, `prefill_instances` prefill and the others
    decode; None leaves the split free. `s_kv` is in bytes. `routes` are the policy: requests of rising length stay
    local, go to the first route, and so on to the last, so that there are as many thresholds as routes.
    """

    name: str
    share: float
    instances: float
    prefill_instances: float | None
    lengths: LengthDistribution
    s_kv: Curve
    t_prefill: Curve
    decode: Decode
    routes: tuple[Route, ...] = ()

    def __post_init__(self) -> None:
        """Raises ValueError on no share, a negative count, or more prefill instances than there are."""
        if not 0 < self.share <= 1:
            raise ValueError(f"the share of {self.name} must be in (0, 1], got {self.share:g}; leave an idle one out")
        require_not_negative(f"instances of {self.name}", self.instances)
        if self.prefill_instances is not None:
            require_split(self, self.prefill_instances)


@dataclass(frozen=True, slots=True)
class Fleet:
    """All clusters and links; the shares of the PD clusters sum to 1."""

    prfaas: tuple[FleetPrfaas, ...]
    links: tuple[FleetLink, ...]
    pd: tuple[FleetPd, ...]

    def __post_init__(self) -> None:
        """Raises ValueError on a name that stands twice, shares that are not 1 together, or a route to nowhere."""
        for what, names in (
            ("PrfaaS cluster", [cluster.name for cluster in self.prfaas]),
            ("link", [link.name for link in self.links]),
            ("PD cluster", [pd.name for pd in self.pd]),
        ):
            _require_distinct(what, names)
        total = math.fsum(pd.share for pd in self.pd)
        if abs(total - 1.0) > SHARES_SUM:
            raise ValueError(f"the shares of the PD clusters must sum to 1, got {total:.12g}; divide each by it")
        links = {link.name for link in self.links}
        clusters = {cluster.name: cluster for cluster in self.prfaas}
        for pd in self.pd:
            for route in pd.routes:
                _require_route(pd, route, clusters, links)

    def remote_curve(self, pd: FleetPd, route: Route) -> Curve:
        """T_prefill of the PD cluster's model where the route leads."""
        return next(cluster for cluster in self.prfaas if cluster.name == route.prfaas).t_prefill[pd.name]


def require_split(pd: FleetPd, prefill_instances: float) -> None:
    """Raises ValueError unless so many of the cluster's instances can prefill."""
    if not 0 <= prefill_instances <= pd.instances:
        raise ValueError(f"N_p of {pd.name} must be from 0 to {pd.instances:g}, got {prefill_instances:g}")


def _require_distinct(what: str, names: Iterable[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"two of the fleet have the same name: {what} {twice[0]}")


def _require_route(pd: FleetPd, route: Route, clusters: Mapping[str, FleetPrfaas], links: set[str]) -> None:
    if route.prfaas not in clusters:
        raise ValueError(f"{pd.name} has a route to {route.prfaas}, which is no PrfaaS cluster of the fleet")
    if route.link not in links:
        raise ValueError(f"{pd.name} has a route over {route.link}, which is no link of the fleet")
    if pd.name not in clusters[route.prfaas].t_prefill:
        raise ValueError(f"{pd.name} has a route to {route.prfaas}, which has no T_prefill for it")
