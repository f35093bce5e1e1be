"""A scenario put together from stored entries, by name: nothing is typed twice, every figure keeps its source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from planner import store
from planner.documents.errors import refuse
from planner.scenario import NotInCatalogue
from planner.scenario.document import SET_BY_HAND
from planner.scenario.references import model_cache, model_profile
from planner.scenario.schema import SCHEMA_VERSION

LINK_FIELDS = ("bandwidth_bps", "achieved_bps", "rtt_s", "loss", "connections", "window_bytes", "background", "price")
REMOTE, LOCAL, WAY = "prfaas", "pd", "wan"


@dataclass(frozen=True, slots=True)
class Fleet:
    """Instances of one profile: it says which model, hardware and GPUs an instance."""

    profile: str
    instances: int


@dataclass(frozen=True, slots=True)
class Composition:
    """What a planner chooses: names of entries, and the numbers that are the planner's own."""

    name: str
    title: str
    model: str
    traffic: str
    local: Fleet
    prefill_instances: int
    max_batch: float
    step_s: float
    remote: Fleet | None = None
    link: str | None = None
    threshold_tokens: float | None = None
    slo_tokens_per_s: float | None = None


def compose(chosen: Composition) -> dict[str, Any]:
    """The scenario document, not yet checked. Raises DocumentError on a name that is not stored."""
    origins: dict[str, Any] = {"routing": SET_BY_HAND, "decode": SET_BY_HAND}
    fleets = {REMOTE: chosen.remote, LOCAL: chosen.local}
    return {
        "schema_version": SCHEMA_VERSION,
        "name": chosen.name,
        "title": chosen.title,
        "model": _model(chosen, origins),
        "clusters": [_cluster(role, fleet, chosen, origins) for role, fleet in fleets.items() if fleet],
        "links": _links(chosen, origins),
        "traffic": chosen.traffic,
        "decode": {"max_batch": chosen.max_batch, "step_s": chosen.step_s},
        "slo": {"tokens_per_s": chosen.slo_tokens_per_s},
        "routing": _routing(chosen),
        "free": _free(chosen),
        "provenance": origins,
    }


def _named(kind: str, name: str, field: str) -> dict[str, Any]:
    try:
        return store.STORED.entry(kind, name)
    except NotInCatalogue as problem:
        known = ", ".join(problem.known[:20]) or "nothing yet"
        raise refuse(field, name or None, f"is not among the stored {kind}; known: {known}") from problem


def _model(chosen: Composition, origins: dict[str, Any]) -> dict[str, Any]:
    entry = _named("models", chosen.model, "model")
    s_kv, known = model_cache(entry)
    origins |= {f"model.{path}": origin for path, origin in known.items()}
    profiles = {}
    for field, fleet in (("remote.profile", chosen.remote), ("local.profile", chosen.local)):
        if fleet:
            profiles[fleet.profile] = _profile(chosen, fleet, field, origins)
    return {"name": entry["name"], "title": entry.get("title", ""), "s_kv": s_kv, "profiles": list(profiles.values())}


def _profile(chosen: Composition, fleet: Fleet, field: str, origins: dict[str, Any]) -> dict[str, Any]:
    entry = _named("profiles", fleet.profile, field)
    if entry["model"] != chosen.model:
        raise refuse(field, fleet.profile, f"is a profile of {entry['model']}; choose one of {chosen.model}")
    figures, origin = model_profile(entry)
    if origin:
        origins[f"model.profiles.{entry['name']}"] = origin
    return figures


def _cluster(role: str, fleet: Fleet, chosen: Composition, origins: dict[str, Any]) -> dict[str, Any]:
    entry = _named("profiles", fleet.profile, f"{role}.profile")
    hardware = _named("hardware", entry["hardware"], f"{role}.profile")
    origins[f"clusters.{role}"] = SET_BY_HAND
    if origin := entry.get("provenance", {}).get("gpus_per_instance"):
        origins[f"clusters.{role}.gpus_per_instance"] = origin
    cluster = {
        "name": role,
        "role": role,
        "hardware": {"name": hardware["name"], "title": hardware.get("title", "")},
        "gpus_per_instance": entry["gpus_per_instance"],
        "instances": fleet.instances,
    }
    if role == LOCAL:
        rest = fleet.instances - chosen.prefill_instances
        if rest < 1:
            most = max(fleet.instances - 1, 0)
            raise refuse("prefill_instances", chosen.prefill_instances, f"must be at most {most}: one has to decode")
        if chosen.prefill_instances < 1:
            raise refuse("prefill_instances", chosen.prefill_instances, "must be at least 1: some prompts stay here")
        cluster |= {"prefill_instances": chosen.prefill_instances, "decode_instances": rest}
    return cluster


def _links(chosen: Composition, origins: dict[str, Any]) -> list[dict[str, Any]]:
    if chosen.remote is None:
        return []
    if not chosen.link:
        raise refuse("link", None, "is missing: what PrfaaS prefills crosses a link")
    entry = _named("links", chosen.link, "link")
    for path, origin in entry.get("provenance", {}).items():
        if path.split(".")[0] in LINK_FIELDS:
            origins[f"links.{WAY}.{path}"] = origin
    figures = {field: entry[field] for field in LINK_FIELDS if field in entry}
    return [{"name": WAY, "from": REMOTE, "to": LOCAL, **figures}]


def _routing(chosen: Composition) -> dict[str, Any]:
    if chosen.remote is None:
        return {"policy": "all_local", "threshold_tokens": None}
    if chosen.threshold_tokens is None:
        raise refuse("threshold_tokens", None, "is missing: requests longer than it go to PrfaaS")
    return {"policy": "threshold", "threshold_tokens": chosen.threshold_tokens}


def _free(chosen: Composition) -> list[str]:
    split = [f"clusters.{LOCAL}.prefill_instances", f"clusters.{LOCAL}.decode_instances"]
    return ["routing.threshold_tokens", *split] if chosen.remote else split
