"""Deployments between two others: some parts of each. Every one is a complete scenario that can be opened and run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from planner import __version__
from planner.comparing.ends import LONGEST_SOURCE, Counts, End, checked, counted, opened
from planner.documents import paths
from planner.documents.copying import copied
from planner.documents.errors import refuse
from planner.documents.provenance import nearest
from planner.engine.blind import best_remote_share
from planner.engine.deployment import Deployment
from planner.engine.search import Problem, best
from planner.engine.throughput import Form
from planner.scenario import Scenario
from planner.scenario.build import deployment
from planner.scenario.document import UNSTATED, override
from planner.scenario.rules import profile
from planner.scenario.schema import Cluster

SHARE, THRESHOLD = "routing.remote_share", "routing.threshold_tokens"
LONGEST_NAME = 100


@dataclass(frozen=True)
class Pair:
    """Two ends in one shape. Under `tuned` every threshold is the best of its deployment; shares always are."""

    baseline: End
    candidate: End
    form: Form
    tuned: bool

    @cached_property
    def factors(self) -> tuple[str, ...]:
        """In which the two differ."""
        return tuple(factor for factor, differs in DIFFER.items() if differs(self))

    def end(self, factor: str, taken: frozenset[str]) -> End:
        """Which of the two a part comes from, where the candidate gives those of the factors `taken`."""
        return self.candidate if factor in taken else self.baseline


@dataclass(frozen=True, slots=True)
class Hybrid:
    """A deployment between the two; `found` are the fields that the program set itself."""

    scenario: Scenario
    deployed: Deployment
    form: Form
    found: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """The complete scenario, with the share or the threshold that it runs at."""
        document = opened(self.scenario)
        values = {SHARE: self.deployed.remote_share, THRESHOLD: self.deployed.threshold_tokens}
        said = {SHARE: "the share", THRESHOLD: "the threshold"}
        for path in self.found:
            if path in values:
                source = f"{said[path]} with which this deployment carries the most, {self.form.value} form"
                override(document, path, values[path], {"kind": "estimated", "source": f"{source}, {__version__}"})
        return document


def hybrid(pair: Pair, taken: frozenset[str]) -> Hybrid:
    """The deployment with the candidate's parts where factors are `taken`, and the baseline's elsewhere."""
    found = checked(_document(pair, taken), pair.baseline.scenario)
    deployed = deployment(found)
    set_here = [f"links.{link.name}.bandwidth_bps" for link in found.parsed.links if _is_assumed(pair, taken)]
    if pair.end("routing", taken).is_balanced:
        deployed = replace(deployed, remote_share=best_remote_share(deployed, pair.form))
        set_here.append(SHARE)
    elif pair.tuned and found.parsed.routing.policy == "threshold":
        optimum = best(Problem(deployed, pair.form, free_threshold=True, free_split=False))
        deployed = replace(deployed, threshold_tokens=optimum.threshold_tokens)
        set_here.append(THRESHOLD)
    return Hybrid(found, deployed, pair.form, tuple(set_here))


def _is_assumed(pair: Pair, taken: frozenset[str]) -> bool:
    return pair.end("link", taken).apart is not None


# --- in what the two differ --------------------------------------------------------------------------------------


def _chips_differ(pair: Pair) -> bool:
    return _chips(pair.baseline) != _chips(pair.candidate)


def _chips(end: End) -> list[Any]:
    """Of each cluster: the chip, how many an instance has, and how fast they prefill; decode is told of one chip."""
    return [_chip(end, each) for each in (end.remote, end.local) if each]


def _chip(end: End, cluster: Cluster) -> Any:
    found = profile(end.scenario.parsed, cluster)
    return cluster.hardware.name, cluster.gpus_per_instance, found and found.model_dump(exclude={"name"})


def _fleet_differs(pair: Pair) -> bool:
    one, other = pair.baseline.counts, pair.candidate.counts
    return (one.prfaas, one.pd) != (other.prfaas, other.pd)


def _split_differs(pair: Pair) -> bool:
    """Whether either fleet would be split otherwise in the proportion of the other."""
    ends = pair.baseline, pair.candidate
    return any(prefill_like(one, other) != one.counts.prefill for one, other in (ends, ends[::-1]))


def _routing_differs(pair: Pair) -> bool:
    one, other = pair.baseline, pair.candidate
    if one.is_balanced or other.is_balanced:
        return one.is_balanced != other.is_balanced
    first, second = (end.scenario.parsed.routing for end in (one, other))
    if pair.tuned and first.policy == second.policy == "threshold":
        return False
    return first.model_dump(exclude={"prefix"}) != second.model_dump(exclude={"prefix"})


def _link_differs(pair: Pair) -> bool:
    return _crossing(pair.baseline) != _crossing(pair.candidate)


def _crossing(end: End) -> object:
    """What may bind on the way: the link, and what an instance's network cards send."""
    if end.link is None or end.remote is None:
        return None
    return end.link.model_dump(exclude={"name", "from_", "to"}), end.remote.egress_bps


def _cache_differs(pair: Pair) -> bool:
    if pair.baseline.remote is None:
        return False
    return pair.baseline.scenario.parsed.routing.prefix != pair.candidate.scenario.parsed.routing.prefix


DIFFER: Mapping[str, Callable[[Pair], bool]] = {
    "chips": _chips_differ,
    "fleet": _fleet_differs,
    "split": _split_differs,
    "routing": _routing_differs,
    "link": _link_differs,
    "cache": _cache_differs,
}
"""Every factor, in the order in which steps are taken unless another is asked for."""


# --- how many instances ------------------------------------------------------------------------------------------


def _counts(pair: Pair, taken: frozenset[str]) -> Counts:
    """Instances by role: the fleet of one end, its PD cluster split in the proportion of one end."""
    fleet, split = _sized_by(pair, taken)
    prefill = prefill_like(fleet, split)
    return Counts(fleet.counts.prfaas, prefill, fleet.counts.pd - prefill)


def _sized_by(pair: Pair, taken: frozenset[str]) -> tuple[End, End]:
    """The ends that say how many instances there are, and how they are split: one where only one of these differs."""
    fleet, split = pair.end("fleet", taken), pair.end("split", taken)
    if "fleet" not in pair.factors:
        return split, split
    return (fleet, split) if "split" in pair.factors else (fleet, fleet)


def prefill_like(fleet: End, split: End) -> int:
    """N_p of one end's PD cluster in another's proportion of N_p/N_d, in whole instances; a role that is there stays.

    Raises DocumentError where there are too few instances for both roles.
    """
    total, like = fleet.counts.pd, split.counts
    if total == like.pd:
        return like.prefill
    least, most = min(like.prefill, 1), total - min(like.decode, 1)
    if least > most or not like.pd:
        said = (
            f"has {total} in its PD cluster, which cannot be split as the {like.prefill}/{like.decode} of {split.title}"
        )
        raise refuse("scenarios", fleet.original.name, said)
    return min(max(round(total * like.prefill / like.pd), least), most)


# --- the document ------------------------------------------------------------------------------------------------


def _document(pair: Pair, taken: frozenset[str]) -> dict[str, Any]:
    document = opened(pair.baseline.scenario)
    document.setdefault("provenance", {})
    document |= {"free": [], **_naming(pair, taken)}
    for factor, take in TAKE.items():
        if factor in taken:
            take(document, pair.baseline, pair.candidate)
    _count(document, pair, taken)
    return document


def _naming(pair: Pair, taken: frozenset[str]) -> dict[str, str]:
    """Name, title and description of a hybrid: what of the candidate it has; the ends have their own titles."""
    one, other = pair.baseline, pair.candidate
    known = [factor for factor in pair.factors if factor in taken]
    if len(known) in (0, len(pair.factors)):
        end, ending = (other, "end") if known else (one, "start")
        stem, title = end.original.name, end.title
    else:
        stem, ending = other.original.name, "-".join(known)
        title = f"{one.title} with {', '.join(known)} of {other.title}"
    ending = f"--tuned-{ending}" if pair.tuned else f"--{ending}"
    return {
        "name": stem[: LONGEST_NAME - len(ending)] + ending,
        "title": paths.cut(title, LONGEST_SOURCE),
        "description": f"A deployment on the way from {one.title} to {other.title}.",
    }


def _take_chips(document: dict[str, Any], ours: End, theirs: End) -> None:
    given = theirs.scenario.raw
    for our, their in ((ours.remote, theirs.remote), (ours.local, theirs.local)):
        if our and their:
            for field in ("hardware", "gpus_per_instance"):
                _carry(document, given, f"clusters.{their.name}.{field}", f"clusters.{our.name}.{field}")
    for part in ("model.profiles", "decode", "prices"):
        _carry(document, given, part, part)


def _take_routing(document: dict[str, Any], ours: End, theirs: End) -> None:
    _carry(document, theirs.scenario.raw, "routing", "routing")
    document["routing"]["prefix"] = ours.scenario.parsed.routing.prefix


def _take_link(document: dict[str, Any], ours: End, theirs: End) -> None:
    given = theirs.scenario.raw
    for stale in [path for path in document["provenance"] if path.startswith("links.")]:
        del document["provenance"][stale]
    _carry(document, given, "links", "links")
    if ours.remote and theirs.remote:
        document["links"][0] |= {"from": ours.remote.name, "to": ours.local.name}
        place, field = f"clusters.{ours.remote.name}.egress_bps", f"clusters.{theirs.remote.name}.egress_bps"
        paths.put(document, place, theirs.remote.egress_bps)
        document["provenance"][place] = theirs.scenario.provenance(field)


def _take_cache(document: dict[str, Any], _: End, theirs: End) -> None:
    document["routing"]["prefix"] = theirs.scenario.parsed.routing.prefix


TAKE: Mapping[str, Callable[[dict[str, Any], End, End], None]] = {
    "chips": _take_chips,
    "routing": _take_routing,
    "link": _take_link,
    "cache": _take_cache,
}
"""What the candidate's parts are; instances are counted last."""


def _count(document: dict[str, Any], pair: Pair, taken: frozenset[str]) -> None:
    remote, local = pair.baseline.remote, pair.baseline.local
    fleet, split = _sized_by(pair, taken)
    found = _counts(pair, taken)
    said = "" if fleet is split else f"split in the proportion of {split.title}"
    if remote:
        there = fleet.remote or remote
        _put(document, f"clusters.{remote.name}.instances", found.prfaas, fleet, f"clusters.{there.name}.instances", "")
        paths.get(document, f"clusters.{remote.name}").pop("prefill_instances", None)
    values = {"instances": found.pd, "prefill_instances": found.prefill, "decode_instances": found.decode}
    for field, value in values.items():
        _put(document, f"clusters.{local.name}.{field}", value, fleet, f"clusters.{fleet.local.name}.{field}", said)


def _put(document: dict[str, Any], path: str, value: int, end: End, theirs: str, said: str) -> None:
    paths.put(document, path, value)
    origins = document["provenance"]
    origins[path] = counted(end.scenario, theirs, said) if said else end.scenario.provenance(theirs)


def _carry(document: dict[str, Any], given: Mapping[str, Any], path: str, to: str) -> None:
    """Puts a part of another document in the place of ours, with what that one says of where its figures come from."""
    paths.put(document, to, copied(paths.get(given, path)))
    origins, told = document["provenance"], given.get("provenance") or {}
    for stale in [key for key in origins if key == to or key.startswith(f"{to}.")]:
        del origins[stale]
    for key, entry in told.items():
        if key == path or key.startswith(f"{path}."):
            origins[to + key[len(path) :]] = dict(entry)
    # or else an entry of ours that speaks for more would speak for it
    origins.setdefault(to, dict(nearest(given, path) or UNSTATED))
