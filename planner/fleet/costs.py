"""What a fleet costs an hour and a million tokens: its GPUs at a price for each chip; its links are not priced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from planner import evaluation
from planner.documents.fields import PROVENANCE_KINDS
from planner.documents.provenance import nearest
from planner.engine.cost import per_million
from planner.engine.lengths import mean
from planner.fleet.document import Fleet
from planner.scenario.build import pd_cluster
from planner.scenario.document import UNSTATED

type Document = dict[str, Any]
FREE_LINKS = "A fleet's links are not priced: they count as free."


def cost(given: Fleet, rate_rps: float, kind: str) -> Document:
    """USD an hour of every cluster and of all, and USD a million tokens at a rate; null where a price is not known.

    `kind` is the weakest evidence under the rate.
    """
    lines = [_line(given, *each) for each in _clusters(given)]
    known = [line["usd_per_h"] for line in lines]
    total = None if None in known else sum(known)
    prices = [line["kind"] for line in lines]
    tokens_per_s = rate_rps * _tokens(given)
    return {
        "clusters": lines,
        "usd_per_h": total,
        "usd_per_million_tokens": None if total is None else evaluation.number(per_million(total, tokens_per_s)),
        "evidence": {"usd_per_h": _weakest(*prices), "usd_per_million_tokens": _weakest(kind, *prices)},
        "missing": sorted({line["hardware"] for line in lines if line["usd_per_h"] is None}),
    }


def _weakest(*kinds: str) -> str:
    return max(filter(None, kinds), key=PROVENANCE_KINDS.index, default="")


def _clusters(given: Fleet) -> Iterator[tuple[str, str, str, int]]:
    """Name, role, chip and GPUs of each."""
    for cluster in given.parsed.prfaas:
        yield cluster.name, "prfaas", cluster.hardware, cluster.instances * cluster.gpus_per_instance
    for pd, each in zip(given.parsed.pd, given.scenarios, strict=True):
        local = pd_cluster(each.parsed)
        yield pd.name, "pd", local.hardware.name, local.instances * local.gpus_per_instance


def _line(given: Fleet, name: str, role: str, chip: str, gpus: int) -> Document:
    usd = next((price.usd_per_gpu_hour for price in given.parsed.prices if price.name == chip), None)
    stated: Mapping[str, str] = nearest(given.raw, f"prices.{chip}") or UNSTATED
    return {
        "name": name,
        "role": role,
        "hardware": chip,
        "gpus": gpus,
        "usd_per_gpu_hour": usd,
        "usd_per_h": None if usd is None else gpus * usd,
        "kind": "" if usd is None else stated["kind"],
        "source": "" if usd is None else stated.get("source", ""),
    }


def _tokens(given: Fleet) -> float:
    """Mean tokens of a request of the fleet, in and out."""
    traffics = [(pd.share, each.parsed.traffic) for pd, each in zip(given.parsed.pd, given.scenarios, strict=True)]
    return sum(share * (mean(of.input_tokens.lengths()) + of.mean_output_tokens()) for share, of in traffics)
