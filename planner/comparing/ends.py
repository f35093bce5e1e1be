"""The two ends of an attribution, written in one shape, so that each part of one can stand in the other's place."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from planner.documents import paths
from planner.documents.copying import copied
from planner.documents.errors import DocumentError, refuse
from planner.engine.blind import best_remote_share
from planner.engine.deployment import Deployment
from planner.engine.throughput import Form, lambda_max, stage_rates, work
from planner.entries.traffic import ReuseByLength
from planner.scenario import Scenario
from planner.scenario.build import cluster_of_role, deployment, pd_cluster
from planner.scenario.rules import mistakes
from planner.scenario.schema import Cluster, Document, LinkTable

SAME = 1e-9
"""Relative difference up to which two ways of writing a deployment carry the same."""
WORKLOAD = ("model.name", "model.s_kv", "traffic.input_tokens", "traffic.output_tokens", "traffic.prefix")
UNIFORM_SHARE = {"all_remote": 1.0, "all_local": 0.0}
NEVER_BINDS = {
    "kind": "estimated",
    "source": "never binds: these instances stand where the others do, and are written apart to be compared",
}
LONGEST_SOURCE = 2000


@dataclass(frozen=True, slots=True)
class Counts:
    """Instances by role."""

    prfaas: int
    prefill: int
    decode: int

    @property
    def pd(self) -> int:
        """Of the PD cluster."""
        return self.prefill + self.decode


@dataclass(frozen=True, slots=True)
class End:
    """A scenario of a comparison in the shape of the other.

    `apart` counts the instances of a scenario without PrfaaS that are written as a cluster of their own. Where its
    router knows no lengths and sends the share that carries the most, it is balanced: so are hybrids with its routing.
    """

    original: Scenario
    scenario: Scenario
    apart: int | None = None
    is_balanced: bool = False

    @property
    def title(self) -> str:
        """As people read it."""
        return self.original.parsed.title or self.original.name

    @property
    def remote(self) -> Cluster | None:
        """The cluster that prefills apart."""
        return cluster_of_role(self.scenario.parsed, "prfaas")

    @property
    def local(self) -> Cluster:
        """The PD cluster."""
        return pd_cluster(self.scenario.parsed)

    @property
    def link(self) -> LinkTable | None:
        """Between the two."""
        return self.scenario.parsed.links[0] if self.remote else None

    @property
    def counts(self) -> Counts:
        """Instances by role."""
        remote, local = self.remote, self.local
        return Counts(remote.instances if remote else 0, local.prefill_instances or 0, local.decode_instances or 0)


def in_one_shape(baseline: Scenario, candidate: Scenario, form: Form, tuned: bool) -> tuple[End, End]:
    """Both ends with a PrfaaS cluster if either has one. Under `tuned` no router that knows no lengths is badly set.

    Raises DocumentError where they do not serve one workload.
    """
    require_one_workload(baseline, candidate)
    both = (baseline, candidate)
    if not any(cluster_of_role(each.parsed, "prfaas") for each in both):
        return End(baseline, baseline), End(candidate, candidate)
    first, second = (_end(each, other, form, tuned) for each, other in (both, both[::-1]))
    return first, second


def require_one_workload(baseline: Scenario, candidate: Scenario) -> None:
    """Raises DocumentError where two scenarios differ in what is served, or in how one chip decodes it."""
    for path in differences(baseline, candidate):
        said = (
            f"attribution compares deployments of one workload; {baseline.name} and {candidate.name} differ in {path}"
        )
        raise refuse("candidate", candidate.name, said)


def differences(baseline: Scenario, candidate: Scenario) -> Iterator[str]:
    """Places in which two scenarios differ in what is served, or in how one chip decodes it."""
    both = baseline.parsed, candidate.parsed
    one, other = (pd_cluster(each) for each in both)
    same_chip = (one.hardware.name, one.gpus_per_instance) == (other.hardware.name, other.gpus_per_instance)
    for path in (*WORKLOAD, *(("decode.max_batch", "decode.step_s") if same_chip else ())):
        part, field = path.split(".")
        first, second = (getattr(getattr(each, part), field) for each in both)
        if first != second:
            yield path


def opened(given: Scenario) -> dict[str, Any]:
    """Its document, free to be changed but for its traffic, which may be a long record and stays the one that it is."""
    return {field: part if field == "traffic" else copied(part) for field, part in given.raw.items()}


def checked(document: dict[str, Any], like: Scenario) -> Scenario:
    """The scenario of a document put together from checked ones, with the traffic of one of them, not read again.

    Raises DocumentError where its parts contradict each other.
    """
    parsed = Document.model_validate({**document, "traffic": like.parsed.traffic})
    if found := list(mistakes(parsed)):
        raise DocumentError(found)
    return Scenario(parsed, document)


def carried_rps(deployed: Deployment, form: Form) -> float:
    """Λ_max in req/s."""
    return float(lambda_max(stage_rates(deployed, work(deployed, deployed.threshold_tokens, form))))


# --- a router that knows no lengths ------------------------------------------------------------------------------


def _end(given: Scenario, other: Scenario, form: Form, tuned: bool) -> End:
    if cluster_of_role(given.parsed, "prfaas") is None:
        return _apart(given, other, form)
    routing = given.parsed.routing
    if routing.policy == "threshold":
        return End(given, given)
    share = UNIFORM_SHARE.get(routing.policy, routing.remote_share)
    best = best_remote_share(deployment(given), form)
    if not tuned and not (share is not None and math.isclose(share, best, rel_tol=SAME, abs_tol=SAME)):
        return End(given, given)
    document = opened(given)
    _route_blindly(document, best, routing.prefix)
    return End(given, checked(document, given), is_balanced=True)


def _route_blindly(document: dict[str, Any], share: float, prefix: str) -> None:
    document["routing"] = {"policy": "blind", "threshold_tokens": None, "remote_share": share, "prefix": prefix}
    document["free"] = []
    origins = document.setdefault("provenance", {})
    for stale in [path for path in origins if path.startswith("routing.")]:
        del origins[stale]


# --- without PrfaaS, some of its instances apart -----------------------------------------------------------------


def _apart(given: Scenario, like: Scenario, form: Form) -> End:
    """As many of its prefill instances as the other has of PrfaaS, behind a link that never binds.

    One pool divided in proportion carries what it carries undivided; the caches stay one as well.
    """
    remote, local = cluster_of_role(like.parsed, "prfaas"), pd_cluster(given.parsed)
    prefill = local.prefill_instances or 0
    count = min(remote.instances if remote else 0, prefill)
    document = opened(given)
    name = "prfaas" if local.name != "prfaas" else "apart"
    _move_apart(document, given, name, count)
    link = like.parsed.links[0].name
    document["links"] = [{"name": link, "from": name, "to": local.name, "bandwidth_bps": "unlimited"}]
    document["provenance"][f"links.{link}.bandwidth_bps"] = dict(NEVER_BINDS)
    reuse = given.parsed.traffic.prefix
    shared = isinstance(reuse, ReuseByLength) and reuse.remote_share != 1
    _route_blindly(document, 0.0, "best" if shared else like.parsed.routing.prefix)
    document["routing"]["remote_share"] = best_remote_share(deployment(checked(document, given)), form)
    found = checked(document, given)
    _require_same(given, found, count, form)
    return End(given, found, apart=count, is_balanced=True)


def _move_apart(document: dict[str, Any], given: Scenario, name: str, count: int) -> None:
    """Takes instances out of the PD cluster into one of their own; every figure keeps its source."""
    local = pd_cluster(given.parsed)
    place, prefill = f"clusters.{local.name}", local.prefill_instances or 0
    cluster, origins = paths.get(document, place), document.setdefault("provenance", {})
    chips = {field: cluster[field] for field in ("hardware", "gpus_per_instance")}
    document["clusters"] = [{"name": name, "role": "prfaas", **chips, "instances": count}, *document["clusters"]]
    cluster |= {"instances": local.instances - count, "prefill_instances": prefill - count}
    origins[f"clusters.{name}"] = given.provenance(f"{place}.gpus_per_instance")
    told = counted(given, f"{place}.prefill_instances", f"{count} of {prefill} prefill instances written apart")
    for path in (f"clusters.{name}.instances", f"{place}.instances", f"{place}.prefill_instances"):
        origins[path] = dict(told)


def counted(given: Scenario, path: str, said: str) -> dict[str, str]:
    """The source of a count, and what was done to it."""
    stated = given.provenance(path)
    return {"kind": stated["kind"], "source": paths.cut(f"{said}: {stated['source']}", LONGEST_SOURCE)}


def _require_same(given: Scenario, found: Scenario, count: int, form: Form) -> None:
    own, apart = (carried_rps(deployment(each), form) for each in (given, found))
    if not math.isclose(own, apart, rel_tol=SAME):
        said = f"cannot be written with {count} of its instances apart: that carries {apart:.9g} req/s, not {own:.9g}"
        raise refuse("scenarios", given.name, said)
