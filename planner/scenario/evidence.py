"""Which figures each number of a result rests on, and the weakest kind among them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from planner.documents.fields import PROVENANCE_KINDS
from planner.entries.traffic import CorrelatedOutput, RecordedReuse, TrafficFields
from planner.scenario.build import cluster_of_role, pd_cluster
from planner.scenario.document import Scenario
from planner.scenario.rules import profile
from planner.scenario.schema import Cluster

KV = ("model.s_kv",)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The weakest kind under each number; None for a stage that no request passes."""

    stages: dict[str, str | None]
    lambda_max_rps: str
    offload_fraction: str
    ttft_unloaded_s: str
    egress_bps: str

    @property
    def weakest(self) -> str:
        """The weakest kind of all."""
        return max((self.egress_bps, self.ttft_unloaded_s), key=PROVENANCE_KINDS.index)


def evidence(scenario: Scenario, used: Iterable[str], found: Iterable[str] = ()) -> Evidence:
    """The evidence under a result whose requests pass the stages `used`.

    Fields that the program `found` itself are no evidence and do not count.
    """
    places = _places(scenario)
    known = {path: scenario.provenance(path)["kind"] for path in scenario.figures() if path not in set(found)}

    def weakest(*under: str) -> str:
        kinds = (kind for path, kind in known.items() if path.startswith(tuple(f"{place}." for place in under)))
        own = (known[place] for place in under if place in known)
        return max((*kinds, *own), key=PROVENANCE_KINDS.index, default=PROVENANCE_KINDS[0])

    cut = _cut(scenario.parsed.traffic)
    passed = [stage for stage in places if stage in set(used)]
    profiles = [places[stage][0] for stage in ("prfaas", "pd_p") if stage in passed]
    all_stages = [place for stage in passed for place in places[stage]]
    return Evidence(
        stages={stage: weakest(*places[stage]) if stage in passed else None for stage in places},
        lambda_max_rps=weakest(*all_stages),
        offload_fraction=weakest(*cut),
        ttft_unloaded_s=weakest(*cut, *profiles),
        egress_bps=weakest(*all_stages, *KV),
    )


def _places(scenario: Scenario) -> dict[str, tuple[str, ...]]:
    """Where the figures of each stage stand in the document; the profile comes first."""
    document = scenario.parsed
    remote, local = cluster_of_role(document, "prfaas"), pd_cluster(document)
    pd, cut = f"clusters.{local.name}", _cut(document.traffic)
    given = ("traffic.input_tokens",) if isinstance(document.traffic.output_tokens, CorrelatedOutput) else ()
    places = {
        "pd_p": (_profile(scenario, local), pd, *cut),
        "pd_d": ("decode", "traffic.output_tokens", *given, pd),
    }
    if remote:
        places["prfaas"] = (_profile(scenario, remote), f"clusters.{remote.name}", *cut)
        way = f"links.{document.links[0].name}"
        places["link"] = (*KV, f"{way}.bandwidth_bps", f"{way}.achieved_bps", *cut)
    return places


def _cut(traffic: TrafficFields) -> tuple[str, ...]:
    """How requests are divided: their incremental lengths, and the threshold or the share."""
    if isinstance(traffic.prefix, RecordedReuse):
        return "traffic.prefix", "routing"
    return "traffic.input_tokens", "traffic.prefix", "routing"


def _profile(scenario: Scenario, cluster: Cluster) -> str:
    chosen = profile(scenario.parsed, cluster)
    return f"model.profiles.{chosen.name}" if chosen else "model.profiles"
