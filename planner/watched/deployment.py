"""A stored scenario as what a running system is advised by: its curves, decode, and how requests arrive."""

from __future__ import annotations

from dataclasses import dataclass, replace

from planner import scenario, store
from planner.documents.errors import DocumentError
from planner.engine.curves import Curve
from planner.engine.deployment import Deployment
from planner.engine.latency import Circumstances
from planner.models import Entry
from planner.scenario import Scenario
from planner.scenario.build import cluster_of_role, deployment, pd_cluster
from planner.scenario.rules import profile
from planner.scenario.schema import Profile

SHIPPED = "shipped"
"""The revision of a scenario that comes with the product and is not stored."""
REMOTE, LOCAL = "remote", "local"


class Unusable(Exception):
    """A scenario by which nothing can be advised. The text says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Watched:
    """What of a scenario describes a running system; keep it until `revision_of` its name says another one."""

    name: str
    revision: str
    deployment: Deployment
    """Its lengths, counts, link and t are the scenario's: put what is observed in their place."""
    circumstances: Circumstances
    link_bps: float
    """What the scenario says that its link carries."""
    prefill: dict[str, Curve]
    """By route, `remote` or `local`: seconds that an instance takes for so many tokens that its own cache lacks."""
    s_kv: Curve
    """Bytes of KVCache that so many tokens leave."""


def revision_of(name: str) -> str:
    """What changes whenever the scenario does; one small query. Raises Unusable where there is none of that name."""
    entry = store.named(store.SCENARIOS, name)
    if entry is not None:
        return f"{entry.pk}.{entry.revision}"
    if name in scenario.SHIPPED and not Entry.objects.exists():
        return SHIPPED
    raise Unusable(f"there is no scenario {name!r}: it was deleted or renamed; choose another one for the watch")


def deployment_of(name: str) -> Watched:
    """The scenario as the engine sees it. Raises Unusable where it is gone, broken, or sends nothing away."""
    revision = revision_of(name)
    entry = store.named(store.SCENARIOS, name)
    try:
        found = store.scenario_of(entry) if entry else scenario.shipped(name)
        return _watched(found, revision)
    except (DocumentError, ValueError) as problem:
        raise Unusable(f"the scenario {name} cannot be read: {problem}") from problem


def _watched(found: Scenario, revision: str) -> Watched:
    document = found.parsed
    remote = cluster_of_role(document, "prfaas")
    if remote is None:
        raise Unusable(f"the scenario {found.name} has no PrfaaS cluster, and so no threshold to recommend")
    engine = deployment(found)
    rtt_s = max((link.rtt_s or 0.0 for link in document.links), default=0.0)
    return Watched(
        name=found.name,
        revision=revision,
        # A router that knows no lengths has no t; what is recommended is one that does.
        deployment=engine if engine.remote_share is None else replace(engine, remote_share=None, threshold_tokens=0.0),
        circumstances=Circumstances(document.traffic.arrivals.engine(), rtt_s, document.traffic.output_scv()),
        link_bps=engine.usable_bps,
        prefill={route: each.curve() for route, each in profiles_of(found).items()},
        s_kv=document.model.s_kv.curve(),
    )


def profiles_of(found: Scenario) -> dict[str, Profile]:
    """By route, the profile of the cluster that prefills it."""
    clusters = {REMOTE: cluster_of_role(found.parsed, "prfaas"), LOCAL: pd_cluster(found.parsed)}
    profiles = {route: profile(found.parsed, cluster) for route, cluster in clusters.items() if cluster}
    return {route: each for route, each in profiles.items() if each}
