"""From a scenario to what the engine computes with."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from planner.documents.errors import refuse
from planner.engine.curves import Curve, LogLogCurve
from planner.engine.deployment import Decode, Deployment, Link, PdCluster, PrfaasCluster
from planner.engine.lengths import LEAST_TOKENS, equal_ratios
from planner.entries.traffic import ReuseByLength
from planner.scenario.document import Scenario
from planner.scenario.rules import profile
from planner.scenario.schema import Cluster, Document

CACHE_POINTS = 256


def cluster_of_role(document: Document, role: str) -> Cluster | None:
    """The cluster of a role, if there is one."""
    return next((cluster for cluster in document.clusters if cluster.role == role), None)


def pd_cluster(document: Document) -> Cluster:
    """The PD cluster, which every valid document has."""
    return next(cluster for cluster in document.clusters if cluster.role == "pd")


def deployment(scenario: Scenario) -> Deployment:
    """The scenario as an engine object, at the values that its document holds."""
    document = scenario.parsed
    remote, local = cluster_of_role(document, "prfaas"), pd_cluster(document)
    return Deployment(
        lengths=document.traffic.incremental_lengths(),
        s_kv=beyond_remote_cache(document, document.model.s_kv.curve()),
        prfaas=_prfaas(document, remote) if remote else None,
        link=Link(document.links[0].usable_bps) if remote else None,
        pd=PdCluster(local.prefill_instances or 0, local.decode_instances or 0, _prefill(document, local)),
        decode=Decode(document.decode.max_batch, document.decode.step_s, document.traffic.mean_output_tokens()),
        threshold_tokens=threshold(document),
        remote_share=document.routing.remote_share,
    )


def _prfaas(document: Document, cluster: Cluster) -> PrfaasCluster:
    egress_bps = math.inf if cluster.egress_bps is None else cluster.egress_bps
    t_prefill = beyond_remote_cache(document, _prefill(document, cluster))
    return PrfaasCluster(cluster.instances, t_prefill, egress_bps)


def beyond_remote_cache(document: Document, curve: Curve) -> Curve:
    """A curve of what PrfaaS prefills and sends, by the tokens that the *local* cache leaves of a prompt.

    Where PrfaaS's own cache holds less and nothing is copied, it has more of the same prompt to do: the curve is read
    there, at points close enough for straight lines in log-log scale. Raises ValueError where prompts of several
    lengths leave the same to the local cache's account.
    """
    reuse = document.traffic.prefix
    if document.routing.prefix == "best" or not isinstance(reuse, ReuseByLength) or reuse.remote_share == 1:
        return curve
    lengths = document.traffic.input_tokens.lengths()
    prompts = np.unique(np.concatenate([equal_ratios(lengths.shortest, lengths.longest, CACHE_POINTS), reuse.tokens]))
    hit = reuse.at(prompts)
    local, remote = prompts * (1 - hit), prompts * (1 - hit * reuse.remote_share)
    kept = local >= LEAST_TOKENS
    return LogLogCurve(local[kept], curve(remote[kept]))


def _prefill(document: Document, cluster: Cluster) -> Curve:
    found = profile(document, cluster)
    if found is None:  # the rules have refused such a document
        raise refuse(f"clusters.{cluster.name}.hardware", cluster.hardware.name, "has no profile")
    return found.curve()


def threshold(document: Document) -> float:
    """The t that routing stands for: 0 sends all away, infinity none; infinity too where no length matters."""
    if document.routing.policy in ("all_local", "blind"):
        return float("inf")
    return document.routing.threshold_tokens or 0.0


def frees_threshold(free: Sequence[str]) -> bool:
    """Whether t may vary."""
    return "routing.threshold_tokens" in free


def frees_share(free: Sequence[str]) -> bool:
    """Whether the share of requests that goes to PrfaaS may vary."""
    return "routing.remote_share" in free


def frees_split(free: Sequence[str]) -> bool:
    """Whether N_p/N_d may vary: naming either frees both, since their sum stays."""
    return any(path.endswith(("prefill_instances", "decode_instances")) for path in free)
