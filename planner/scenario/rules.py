"""What a well-formed document must also be: consistent, and within what the mathematics can answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from planner.documents.errors import FieldError
from planner.entries.traffic import ReuseByLength
from planner.scenario.schema import Cluster, Document, Profile

MOST_SPLIT = 2_000
"""Instances of a PD cluster: every split of them is searched at once, against 10,000 thresholds."""


def mistakes(document: Document) -> Iterator[FieldError]:
    """Every contradiction in the document."""
    for place, items in (
        ("clusters", document.clusters),
        ("links", document.links),
        ("prices", document.prices),
        ("model.profiles", document.model.profiles),
    ):
        yield from _repeated(place, items)
    for cluster in document.clusters:
        yield from _cluster(document, cluster)
    yield from _topology(document)
    yield from _links(document)
    yield from _routing(document)
    yield from _free(document)


def _repeated(place: str, items: Sequence[Any]) -> Iterator[FieldError]:
    names = [item.name for item in items]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield FieldError(f"{place}.{name}", None, "is named twice; give each its own name")


def _cluster(document: Document, cluster: Cluster) -> Iterator[FieldError]:
    place = f"clusters.{cluster.name}"
    if profile(document, cluster) is None:
        known = ", ".join(f"{p.hardware} × {p.gpus_per_instance}" for p in document.model.profiles)
        yield FieldError(
            f"{place}.hardware",
            f"{cluster.hardware.name} × {cluster.gpus_per_instance}",
            f"has no profile of {document.model.name}; profiles: {known}",
        )
    if cluster.role == "prfaas":
        if cluster.decode_instances:
            yield FieldError(f"{place}.decode_instances", cluster.decode_instances, "must be 0: PrfaaS only prefills")
        if cluster.prefill_instances not in (None, cluster.instances):
            yield FieldError(f"{place}.prefill_instances", cluster.prefill_instances, "must equal instances")
        return
    if cluster.egress_bps is not None:
        yield FieldError(f"{place}.egress_bps", cluster.egress_bps, "is of PrfaaS clusters: a PD cluster sends nothing")
    if cluster.instances > MOST_SPLIT:
        yield FieldError(f"{place}.instances", cluster.instances, f"must be at most {MOST_SPLIT} in a PD cluster")
    n_p, n_d = cluster.prefill_instances, cluster.decode_instances
    for name, value in (("prefill_instances", n_p), ("decode_instances", n_d)):
        if value is None:
            yield FieldError(f"{place}.{name}", None, "is missing: a PD cluster needs it")
    if n_p is not None and n_d is not None and n_p + n_d != cluster.instances:
        yield FieldError(
            f"{place}.instances",
            cluster.instances,
            f"must be prefill_instances + decode_instances = {n_p} + {n_d}; change one of the three",
        )


def profile(document: Document, cluster: Cluster) -> Profile | None:
    """The profile of the document's model on a cluster's hardware."""
    wanted = (cluster.hardware.name, cluster.gpus_per_instance)
    return next((p for p in document.model.profiles if (p.hardware, p.gpus_per_instance) == wanted), None)


def _topology(document: Document) -> Iterator[FieldError]:
    for role, least in (("prfaas", 0), ("pd", 1)):
        names = [cluster.name for cluster in document.clusters if cluster.role == role]
        if not least <= len(names) <= 1:
            allowed = "exactly one" if least else "at most one"
            yield FieldError(
                "clusters", ", ".join(names) or None, f"needs {allowed} cluster of role {role}, got {len(names)}"
            )


def _links(document: Document) -> Iterator[FieldError]:
    roles = {cluster.name: cluster.role for cluster in document.clusters}
    for link in document.links:
        for end, name, role in (("from", link.from_, "prfaas"), ("to", link.to, "pd")):
            if roles.get(name) != role:
                known = ", ".join(n for n, r in roles.items() if r == role) or "none here"
                yield FieldError(f"links.{link.name}.{end}", name, f"must name a cluster of role {role}: {known}")
        if link.achieved_bps is not None and link.achieved_bps > link.bandwidth_bps:
            yield FieldError(
                f"links.{link.name}.achieved_bps",
                link.achieved_bps,
                f"must not exceed bandwidth_bps, {link.bandwidth_bps:g} bit/s",
            )
    if "prfaas" in roles.values() and len(document.links) != 1:
        yield FieldError("links", None, f"needs exactly one link from the PrfaaS cluster, got {len(document.links)}")


def _routing(document: Document) -> Iterator[FieldError]:
    policy, threshold = document.routing.policy, document.routing.threshold_tokens
    remote = any(cluster.role == "prfaas" for cluster in document.clusters)
    if policy != "all_local" and not remote:
        yield FieldError("routing.policy", policy, "needs a cluster of role prfaas; without one use all_local")
    if policy == "threshold" and threshold is None:
        yield FieldError("routing.threshold_tokens", None, "is missing: policy threshold needs it, in tokens")
    if policy in ("all_local", "blind") and threshold is not None:
        yield FieldError("routing.threshold_tokens", threshold, f"must be null: policy {policy} has no threshold")
    yield from _remote_share(document)
    yield from _prefix(document)
    if policy == "all_remote" and threshold not in (None, 0):
        yield FieldError(
            "routing.threshold_tokens", threshold, "must be 0 under policy all_remote; use policy threshold to cut"
        )


def _remote_share(document: Document) -> Iterator[FieldError]:
    policy, share = document.routing.policy, document.routing.remote_share
    if policy == "blind" and share is None:
        yield FieldError("routing.remote_share", None, "is missing: policy blind needs it, from 0 to 1")
    if policy != "blind" and share is not None:
        yield FieldError("routing.remote_share", share, f"must be null: policy {policy} sends no share of all requests")


def _free(document: Document) -> Iterator[FieldError]:
    by_policy = {"threshold": "routing.threshold_tokens", "blind": "routing.remote_share"}
    allowed = [path for policy, path in by_policy.items() if policy == document.routing.policy]
    for cluster in document.clusters:
        if cluster.role == "pd":
            allowed += [f"clusters.{cluster.name}.{field}" for field in ("prefill_instances", "decode_instances")]
    for path in document.free:
        if path not in allowed:
            yield FieldError("free", path, f"cannot be varied here; allowed: {', '.join(allowed)}")


def _prefix(document: Document) -> Iterator[FieldError]:
    """A cache of PrfaaS that holds less is read by the prompt's length, which the local rest must tell."""
    reuse = document.traffic.prefix
    if not isinstance(reuse, ReuseByLength) or reuse.remote_share == 1 or document.routing.prefix == "best":
        return
    lengths = document.traffic.input_tokens.lengths()
    prompts = np.unique(np.concatenate([np.geomspace(lengths.shortest, lengths.longest, 1024), reuse.tokens]))
    if np.any(np.diff(prompts * (1 - reuse.at(prompts))) <= 0):
        said = "needs longer prompts to leave more to prefill, and with these hit ratios several lengths leave the same"
        yield FieldError("traffic.prefix.remote_share", reuse.remote_share, said)
