"""What a question starts from: a scenario, the profiles of its model, and another scenario whose cost is the budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from planner import store
from planner.documents.provenance import nearest
from planner.scenario import Scenario
from planner.scenario.build import cluster_of_role, pd_cluster
from planner.scenario.document import UNSTATED
from planner.scenario.rules import profile as profile_of
from planner.scenario.schema import Cluster

type Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Option:
    """Instances of one profile; `decode` is how one decodes where the profile says it, `origin` who says so."""

    name: str
    hardware: str
    gpus_per_instance: int
    decode: Document | None
    origin: Document
    needs_decode: bool
    """Whether the scenario leaves open how such an instance decodes."""

    @property
    def title(self) -> str:
        """As people say it: `8 × h200`."""
        return f"{self.gpus_per_instance} × {self.hardware}"


@dataclass(frozen=True, slots=True)
class Given:
    """A scenario that is there, and what could be bought for its model."""

    scenario: Scenario
    options: tuple[Option, ...]
    baseline: Scenario | None = None

    @property
    def prfaas(self) -> str | None:
        """The profile of the scenario's PrfaaS cluster."""
        cluster = cluster_of_role(self.scenario.parsed, "prfaas")
        return _profile(self.scenario, cluster) if cluster else None

    @property
    def egress_bps(self) -> float | None:
        """What one instance of the scenario's PrfaaS cluster can send, in bit/s, where the scenario says it."""
        clusters = self.scenario.document()["clusters"]
        return next((cluster.get("egress_bps") for cluster in clusters if cluster["role"] == "prfaas"), None)

    @property
    def pd(self) -> str | None:
        """The profile of the scenario's PD cluster."""
        return _profile(self.scenario, pd_cluster(self.scenario.parsed))

    @property
    def own_hardware(self) -> list[str]:
        """Hardware that has a cost whatever is bought: the scenario's, and that of the one that sets the budget."""
        asked = [self.scenario, *([self.baseline] if self.baseline else [])]
        return list(dict.fromkeys(cluster.hardware.name for each in asked for cluster in each.parsed.clusters))

    @property
    def hardware(self) -> list[str]:
        """All of which a price may be asked."""
        return list(dict.fromkeys([*self.own_hardware, *(option.hardware for option in self.options)]))


def given(scenario: Scenario, baseline: Scenario | None = None) -> Given:
    """The scenario with every profile of its model: its own, and those that are stored besides."""
    return Given(scenario, tuple(_options(scenario)), baseline)


def _options(scenario: Scenario) -> Iterator[Option]:
    model, local = scenario.parsed.model, pd_cluster(scenario.parsed)
    stored = {entry["name"]: entry for entry in store.STORED.profiles(model.name)}
    held = {profile.name: profile for profile in model.profiles}
    for name in dict.fromkeys([*held, *stored]):
        entry = stored.get(name, {})
        hardware = held[name].hardware if name in held else entry["hardware"]
        gpus = held[name].gpus_per_instance if name in held else entry["gpus_per_instance"]
        is_local = (hardware, gpus) == (local.hardware.name, local.gpus_per_instance)
        origin = nearest(entry, "decode") or UNSTATED
        yield Option(name, hardware, gpus, _decode(entry), origin, needs_decode=not is_local)


def _decode(profile: Document) -> Document | None:
    """Its largest batch, and the step at it."""
    steps = [step for step in profile.get("decode") or [] if step["batch"] == profile.get("max_batch")]
    return {"max_batch": profile["max_batch"], "step_s": steps[0]["seconds"]} if steps else None


def _profile(scenario: Scenario, cluster: Cluster) -> str | None:
    found = profile_of(scenario.parsed, cluster)
    return found.name if found else None
