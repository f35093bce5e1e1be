"""What a policy changes in the window as it was, and the threshold and the split that are advised for it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from planner.documents.errors import FieldError
from planner.engine.deployment import Deployment, Link
from planner.engine.search import Problem, best
from planner.engine.throughput import Form
from planner.scenario.build import cluster_of_role, pd_cluster
from planner.simulating.document import Asked
from planner.simulating.replays.schema import Policy, Recommended, Replay

type Changes = Mapping[str, Any]
"""New values by the dotted path of a field of a simulation."""

TITLES = {
    "as_recorded": "Routed as recorded",
    "bandwidth_aware": "Bandwidth-aware",
    "advised": "As advised",
    "as_recommended": "As recommended at the time",
}
THRESHOLD = "scenario.routing.threshold_tokens"
FLEET = ("prfaas_instances", "prefill_instances", "decode_instances")
ROUTES_BY_LENGTH = ("static", "bandwidth_aware", "advised", "as_recommended")
NOTHING_RECOMMENDED = (
    "cannot be followed: no t was recommended to this watch in this window, or none was recorded; choose another window"
)


def mistakes(policy: Policy, base: Asked, replay: Replay, at: int) -> Iterator[FieldError]:
    """What contradicts the scenario, the window, or itself."""
    place, scenario = f"policies.{at}", base.scenario.parsed
    if policy.policy in ROUTES_BY_LENGTH and scenario.routing.policy != "threshold":
        said = f"needs routing.policy threshold in the scenario, which has {scenario.routing.policy}"
        yield FieldError(f"{place}.policy", policy.policy, said)
    if policy.policy == "as_recommended" and replay.recommended is None:
        yield FieldError(f"{place}.policy", policy.policy, NOTHING_RECOMMENDED)
    if policy.threshold_tokens is not None and policy.policy not in ("static", "bandwidth_aware"):
        said = f"is not given with policy {policy.policy}; leave it out, or take static or bandwidth_aware"
        yield FieldError(f"{place}.threshold_tokens", policy.threshold_tokens, said)
    if policy.policy == "static" and policy.threshold_tokens is None and not any(_fleet(policy)) and not policy.roles:
        yield FieldError(f"{place}.threshold_tokens", None, "is missing: the t of policy static, in tokens")
    if policy.best_split and policy.policy != "advised":
        yield FieldError(f"{place}.best_split", True, "needs policy advised, which finds t and split")
    if policy.best_split and (policy.prefill_instances is not None or policy.decode_instances is not None):
        yield FieldError(f"{place}.best_split", True, "is found; leave prefill_instances and decode_instances out")
    if policy.prfaas_instances is not None and cluster_of_role(scenario, "prfaas") is None:
        yield FieldError(f"{place}.prfaas_instances", policy.prfaas_instances, "there is no PrfaaS cluster")
    if policy.decode_instances == 0:
        yield FieldError(f"{place}.decode_instances", 0, "must be at least 1: every answer is decoded")
    if policy.policy == "as_recorded" and not (policy.roles or any(_fleet(policy))):
        yield FieldError(f"{place}.policy", policy.policy, "is simulated anyway; give it another fleet, or roles")


def _fleet(policy: Policy) -> list[bool]:
    return [getattr(policy, name) is not None for name in FLEET]


def filled(policy: Policy, base: Asked, headroom: float) -> Policy:
    """The policy with the threshold, and the split, that it has."""
    if policy.policy == "advised":
        found = best(Problem(_judged(policy, base, headroom), Form.EXACT, True, policy.best_split))
        split = {"prefill_instances": int(found.prefill_instances), "decode_instances": int(found.decode_instances)}
        t = max(1.0, min(found.threshold_tokens, 1e9))
        return policy.model_copy(update={"threshold_tokens": t} | (split if policy.best_split else {}))
    if policy.policy in ("static", "bandwidth_aware") and policy.threshold_tokens is None:
        return policy.model_copy(update={"threshold_tokens": _recorded(policy, base)})
    return policy


def _recorded(policy: Policy, base: Asked) -> float:
    """The scenario's t, which is the recorded one's median; where t is raised and it moved, the least of it."""
    track = base.run.threshold_track
    if track and policy.policy == "bandwidth_aware":
        return max(1.0, min(track.tokens))
    return max(1.0, base.experiment.deployment.threshold_tokens)


def _judged(policy: Policy, base: Asked, headroom: float) -> Deployment:
    """What the advice is found for: the lengths of the window, the policy's fleet, and what the link usually carried,
    less what is to be left free."""
    deployed = base.experiment.deployment
    weather = base.run.weather
    if deployed.link is not None:
        usual_bps = deployed.link.usable_bps
        if weather and weather.recording:
            usual_bps = float(np.median(weather.recording.bps))
        deployed = replace(deployed, link=Link(usual_bps * (1 - headroom)))
    if policy.prfaas_instances is not None and deployed.prfaas is not None:
        deployed = replace(deployed, prfaas=replace(deployed.prfaas, instances=policy.prfaas_instances))
    pd = deployed.pd
    n_p = pd.prefill_instances if policy.prefill_instances is None else policy.prefill_instances
    n_d = pd.decode_instances if policy.decode_instances is None else policy.decode_instances
    return deployed.split(n_p, n_d)


def changes(policy: Policy, base: Asked, recommended: Recommended | None) -> Changes:
    """What it sets in the simulation of the window as it was; the policy is `filled`."""
    found: dict[str, Any] = {}
    if policy.policy == "as_recommended":
        found = _followed(recommended)
    elif policy.policy in ROUTES_BY_LENGTH:
        aware = policy.policy != "static"
        found = {"threshold_track": None, "policy": "bandwidth_aware" if aware else "as_given"}
        found[THRESHOLD] = policy.threshold_tokens
    if policy.roles:
        found["roles"] = base.raw.get("roles") or {}
    return found | dict(_of_fleet(policy, base))


def _followed(recommended: Recommended | None) -> dict[str, Any]:
    """t interval by interval, as recorded t is followed; the scenario's is its median."""
    if recommended is None:
        return {}
    track = recommended.model_dump(exclude={"share"})
    return {"threshold_track": track, "policy": "as_given", THRESHOLD: float(np.median(recommended.tokens))}


def _of_fleet(policy: Policy, base: Asked) -> Iterator[tuple[str, Any]]:
    scenario = base.scenario.parsed
    prfaas, pd = cluster_of_role(scenario, "prfaas"), pd_cluster(scenario)
    if policy.prfaas_instances is not None and prfaas is not None:
        yield f"scenario.clusters.{prfaas.name}.instances", policy.prfaas_instances
    if policy.prefill_instances is None and policy.decode_instances is None:
        return
    n_p = pd.prefill_instances if policy.prefill_instances is None else policy.prefill_instances
    n_d = pd.decode_instances if policy.decode_instances is None else policy.decode_instances
    place = f"scenario.clusters.{pd.name}"
    yield f"{place}.prefill_instances", n_p
    yield f"{place}.decode_instances", n_d
    yield f"{place}.instances", (n_p or 0) + (n_d or 0)


def title(policy: Policy) -> str:
    """How it is called where people read it."""
    said = TITLES.get(policy.policy, "t")
    if policy.threshold_tokens is not None and math.isfinite(policy.threshold_tokens):
        joined = " = " if policy.policy == "static" else ", t from "
        said += f"{joined}{policy.threshold_tokens:,.0f}"
    if policy.prefill_instances is not None or policy.decode_instances is not None:
        n_p, n_d = (
            "as recorded" if count is None else count for count in (policy.prefill_instances, policy.decode_instances)
        )
        said += f", N_p/N_d {n_p}/{n_d}"
    if policy.prfaas_instances is not None:
        said += f", N_prfaas {policy.prfaas_instances}"
    return said + (", roles change" if policy.roles else "")
