"""The bandwidth wall: Φ_kv of an instance, egress of fleets, and the links that carry it, at any lengths."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from planner import catalog, store
from planner.bandwidth.asked import Asked
from planner.bandwidth.reduction import reduction
from planner.charts.links import busiest_share
from planner.charts.origins import origin, s_kv_origin, weakest
from planner.documents.errors import DocumentError, FieldError, refuse
from planner.engine.throughput import BITS_PER_BYTE, egress_demand
from planner.entries.link import Link
from planner.entries.model import Model
from planner.entries.profile import Profile

type Document = Mapping[str, Any]

LINK_CLASSES: Mapping[str, float] = {
    "1 Gbps": 1e9,
    "10 Gbps": 1e10,
    "25 Gbps": 2.5e10,
    "100 Gbps": 1e11,
    "400 Gbps": 4e11,
    "1.6 Tbps": 1.6e12,
}
"""Bit/s by name, rising."""
LARGEST = "1.6 Tbps"


def wall(given: Asked) -> dict[str, Any]:
    """The answer in SI units. Raises DocumentError on a name that is not stored, and on a model without a profile."""
    profiles, links = _profiles(given), _links(given)
    rows = [_row(profile, given, links) for profile in profiles]
    return {
        "asked": {"lengths": list(given.lengths), "gpus": list(given.gpus), "headroom": given.headroom},
        "link_classes": [
            {"name": name, "bandwidth_bps": bps, "usable_bps": bps * (1 - given.headroom)}
            for name, bps in LINK_CLASSES.items()
        ],
        "links": links,
        "rows": rows,
        "published_source": catalog.published()["kv_throughput"]["source"],
        "reduction": explained(),
    }


# --- what is looked at -------------------------------------------------------------------------------------------


def _profiles(given: Asked) -> list[dict[str, Any]]:
    """Documents of the profiles that are asked for: each by its name, and of each model the first, unless another of
    it is named; of nothing at all, those that the paper's table 3 implies."""
    mistakes: list[FieldError] = []
    found = [*_named("profiles", "profile", given.profiles, mistakes)]
    covered = {profile["model"] for profile in found}
    for model in given.models:
        offered = store.STORED.profiles(model)
        if model not in covered and offered:
            found.append(offered[0])
        elif not offered:
            known = "has no profile; add one" if store.named("models", model) else "is not among the stored models"
            mistakes.append(FieldError("model", model, known))
    if mistakes:
        raise DocumentError(mistakes)
    return found or standard_profiles()


def standard_profiles() -> list[dict[str, Any]]:
    """Those of the published table's models on its hardware that are stored, in its order."""
    table = catalog.published()["kv_throughput"]
    names = [model["entry"] for model in table["models"]]
    alike = ([each for each in store.STORED.profiles(name) if _is_published(each, table)] for name in names)
    return [offered[0] for offered in alike if offered]


def _named(kind: str, field: str, names: Sequence[str], mistakes: list[FieldError]) -> Iterator[dict[str, Any]]:
    for name in names:
        entry = store.named(kind, name)
        if entry is None:
            known = ", ".join(store.STORED.names(kind)[:20]) or "nothing yet"
            mistakes.append(FieldError(field, name, f"is not among the stored {kind}; known: {known}"))
        else:
            yield dict(entry.document)


def _links(given: Asked) -> list[dict[str, Any]]:
    """What stored links have left: achieved, or else nominal less what others use at their busiest; less headroom."""
    mistakes: list[FieldError] = []
    documents = list(_named("links", "link", given.links, mistakes))
    if mistakes:
        raise DocumentError(mistakes)
    found = []
    for document in documents:
        link = Link.model_validate(document)
        left = link.bandwidth_bps * (1 - busiest_share(link)) if link.achieved_bps is None else link.achieved_bps
        bounded = math.isfinite(left)
        found.append(
            {
                "name": link.name,
                "title": link.title or link.name,
                "bandwidth_bps": link.bandwidth_bps if math.isfinite(link.bandwidth_bps) else None,
                "usable_bps": left * (1 - given.headroom) if bounded else None,
                "provenance": origin(document, "bandwidth_bps" if link.achieved_bps is None else "achieved_bps"),
            }
        )
    return found


# --- what they push out ------------------------------------------------------------------------------------------


def _row(document: dict[str, Any], given: Asked, links: Sequence[Document]) -> dict[str, Any]:
    entry = store.STORED.entry("models", document["model"])
    model, profile = Model.model_validate(entry), Profile.model_validate(document)
    lengths = np.array(given.lengths)
    sizes, times = model.s_kv()(lengths), profile.prefill.curve()(lengths)
    published, is_derived = _published(document), _is_derived(document)
    cells = []
    for tokens, size, seconds in zip(given.lengths, sizes.tolist(), times.tolist(), strict=True):
        rate = _rate(size, seconds, tokens, profile.name)
        cells.append(
            {
                "length_tokens": tokens,
                "s_kv_bytes": size,
                "t_prefill_s": seconds,
                "is_extrapolated": _extrapolated(model, profile, tokens),
                "instance": _demand(1, profile.gpus_per_instance, rate, given.headroom, links),
                "fleets": [_fleet(gpus, profile, rate, given.headroom, links) for gpus in given.gpus],
                "published_bps": published.get(tokens),
                "difference": rate / published[tokens] - 1 if tokens in published and not is_derived else None,
            }
        )
    return {
        "model": model.name,
        "title": model.title or model.name,
        "profile": profile.name,
        "hardware": profile.hardware,
        "gpus_per_instance": profile.gpus_per_instance,
        "cells": cells,
        "provenance": weakest([s_kv_origin(entry), origin(document, "prefill")]),
    }


def _rate(size: float, seconds: float, tokens: float, profile: str) -> float:
    """Φ_kv in bit/s (eq. 1). Raises DocumentError where curves were prolonged until it has no number."""
    rate = BITS_PER_BYTE * size / seconds if seconds else math.inf
    if not 0 < rate < math.inf:
        raise refuse("length", tokens, f"is too far outside the measured lengths of {profile} to say anything")
    return rate


def _fleet(gpus: int, profile: Profile, rate: float, headroom: float, links: Sequence[Document]) -> dict[str, Any]:
    each = profile.gpus_per_instance
    return {"gpus": gpus, **_demand(gpus / each, each, rate, headroom, links)}


def _demand(
    instances: float, gpus_per_instance: int, rate: float, headroom: float, links: Sequence[Document]
) -> dict[str, Any]:
    """Egress of busy instances in bit/s (eq. 2), the smallest class that carries it, and how full links would be."""
    egress = float(egress_demand(instances * gpus_per_instance, gpus_per_instance, rate))
    return {
        "instances": instances,
        "egress_bps": egress,
        **smallest(egress, headroom),
        "links": [{"name": link["name"], "used": _used(egress, link["usable_bps"])} for link in links],
    }


def _used(egress_bps: float, usable_bps: float | None) -> float | None:
    """Share of what a link has left; None where that is nothing."""
    if usable_bps is None:  # unlimited
        return 0.0
    return egress_bps / usable_bps if usable_bps else None


def smallest(egress_bps: float, headroom: float) -> dict[str, Any]:
    """The smallest class of link that carries a demand and leaves its headroom, and how many of it: one, or as many of
    the largest class as it takes."""
    for name, bps in LINK_CLASSES.items():
        if egress_bps <= bps * (1 - headroom):
            return {"link_class": name, "link_count": 1}
    return {"link_class": LARGEST, "link_count": math.ceil(egress_bps / (LINK_CLASSES[LARGEST] * (1 - headroom)))}


def _extrapolated(model: Model, profile: Profile, tokens: float) -> bool:
    """Whether T_prefill, or an S_kv that was measured, was not measured as short or long."""
    curves = [profile.prefill, *([model.measured] if model.measured else [])]
    return any(not curve.tokens[0] <= tokens <= curve.tokens[-1] for curve in curves)


# --- what the paper prints ---------------------------------------------------------------------------------------


def _is_published(profile: Document, table: Document) -> bool:
    same = profile["hardware"], profile["gpus_per_instance"]
    return same == (table["hardware"], table["gpus_per_instance"])


def _published(profile: Document) -> dict[float, float]:
    """Φ_kv in bit/s by length, where the paper prints it for this model on this hardware."""
    table = catalog.published()["kv_throughput"]
    if not _is_published(profile, table):
        return {}
    printed: list[float] = next((model["bps"] for model in table["models"] if model["entry"] == profile["model"]), [])
    return dict(zip(map(float, table["tokens"]), printed, strict=False))


def _is_derived(profile: Document) -> bool:
    """Whether T_prefill was worked out from the printed Φ_kv, which then is no check of it."""
    whence = origin(profile, "prefill")
    return whence["kind"] == "inferred" and catalog.published()["kv_throughput"]["cited_as"] in whence["source"]


def explained() -> dict[str, Any] | None:
    """The published reduction beside the factors of the stored models; None where those are not stored, or otherwise
    built than it needs."""
    published = catalog.published()["kv_reduction"]
    entries = [store.named("models", published[role]) for role in ("model", "reference")]
    if not all(entries):
        return None
    hybrid, reference = (entry.document for entry in entries if entry)
    found = reduction(hybrid, reference)
    if found is None:
        return None
    return {
        "model": hybrid["name"],
        "title": hybrid.get("title") or hybrid["name"],
        "reference": reference["name"],
        "reference_title": reference.get("title") or reference["name"],
        **asdict(found),
        **{name: getattr(found, name) for name in FACTORS},
        "published": {name: published[name] for name in ("attention", "ratio", "total", "source")},
        "provenance": weakest([origin(hybrid, "layers"), origin(reference, "layers")]),
    }


FACTORS = ("attention", "reference_attention", "ratio", "total", "reference_total")
