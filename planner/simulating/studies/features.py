"""Features that an ablation turns off, each in one place: what it is called, what turns it off, when it is on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from planner.simulating.document import Asked

type Changes = Mapping[str, Any]
"""New values by the dotted path of a field of a simulation."""


@dataclass(frozen=True, slots=True)
class Feature:
    """Something that a simulation may have on; `needs` says what is missing where it has not."""

    name: str
    title: str
    said: str
    """What is done without it."""
    off: Callable[[Asked], Changes]
    is_on: Callable[[Asked], bool]
    needs: str


def _crosses(asked: Asked) -> bool:
    return asked.experiment.deployment.link is not None


def _has_several_connections(asked: Asked) -> bool:
    paths = asked.experiment.transport.paths
    return _crosses(asked) and any(path.tcp and path.tcp.rtt_s > 0 and path.tcp.connections > 1 for path in paths)


def _without_connections(asked: Asked) -> Changes:
    """One on every path, of those that have a setting of their own too."""
    own = {f"paths.{at}.tcp.connections": 1 for at, path in enumerate(asked.run.paths) if path.tcp}
    return {"tcp": (asked.raw.get("tcp") or {}) | {"connections": 1}} | own


def _judges_by_caches(asked: Asked) -> bool:
    return asked.run.caches is not None and asked.run.caches.routing != "length"


def _copies(asked: Asked) -> bool:
    caches = asked.run.caches
    return caches is not None and caches.copies and caches.routing in ("best", "by_bandwidth")


def _fails_over(asked: Asked) -> bool:
    experiment = asked.experiment
    can_fail = experiment.faults is not None or any(path.weather for path in experiment.transport.paths)
    return experiment.failover and can_fail


FEATURES = {
    feature.name: feature
    for feature in (
        Feature("pipelining", "Layer-wise pipelining", "a KVCache is sent after its prefill, and not during it",
            lambda asked: {"chunks": 1}, lambda asked: _crosses(asked) and asked.run.chunks > 1,
            "a link, and chunks above 1"),
        Feature("connections", "Several connections", "each transfer has one TCP connection",
            _without_connections, _has_several_connections,
            "a link with an rtt_s, and more than one of tcp.connections"),
        Feature("bandwidth_awareness", "Bandwidth-aware routing", "t stays where the scenario has it",
            lambda asked: {"policy": "as_given"}, lambda asked: asked.run.policy == "bandwidth_aware",
            "policy bandwidth_aware"),
        Feature("cache_awareness", "Cache-aware routing", "whole prompts are judged against t, whatever is cached",
            lambda asked: {"caches.routing": "length"}, _judges_by_caches,
            "caches whose routing is not length"),
        Feature("copies", "Copies between clusters", "a better prefix in the other cluster stays there",
            lambda asked: {"caches.copies": False}, _copies,
            "caches with copies, and routing best or by_bandwidth"),
        Feature("prefix_caches", "Prefix caches", "nothing is reused",
            lambda asked: {"caches.pd_bytes": 0.0, "caches.prfaas_bytes": 0.0},
            lambda asked: asked.run.caches is not None,
            "caches"),
        Feature("long_term_control", "Instances that change their role", "N_p/N_d stays as the scenario has it",
            lambda asked: {"roles": None}, lambda asked: asked.run.roles is not None,
            "roles"),
        Feature("hot_spares", "Hot spares", "nothing stands in for an instance that is down",
            lambda asked: {"spares": []},
            lambda asked: bool(asked.run.spares and (asked.run.faults or asked.run.failures)),
            "spares, and faults or failures that they stand in for"),
        Feature("failover", "Failover", "requests wait for a cluster that is down or cut off",
            lambda asked: {"failover": False}, _fails_over,
            "failover, and weather or faults"),
    )
}  # fmt: skip


def on(asked: Asked) -> list[str]:
    """Names of all that a simulation has on."""
    return [feature.name for feature in FEATURES.values() if feature.is_on(asked)]


def left_out(asked: Asked) -> list[Feature]:
    """All that a simulation does not have on."""
    return [feature for feature in FEATURES.values() if not feature.is_on(asked)]
