"""The bandwidth wall: any models, lengths and fleet sizes against classes of links. Its whole state is its address."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from frontend import figures, words
from planner import bandwidth, store
from planner.documents.errors import DocumentError

VIEW = "view"
"""Which of the demands the map shows: the page's own parameter, of which the API knows nothing."""


@require_safe
def bandwidth_wall(request: HttpRequest) -> HttpResponse:
    """The page; what cannot be asked stays in its field with the reason beside it."""
    query = {field: values for field, values in request.GET.lists() if field != VIEW}
    errors: dict[str, str] = {}
    wall = None
    try:
        wall = bandwidth.wall(bandwidth.asked(query))
    except DocumentError as problem:
        errors = {error.field or "": f"{error.value or ''} {error.message}".strip() for error in problem.errors}
    context = {
        "wall": wall,
        "rows": [_row(row, wall) for row in wall["rows"]] if wall else [],
        "lengths": [figures.length(tokens) for tokens in wall["asked"]["lengths"]] if wall else [],
        "reduction": _reduction(wall["reduction"]) if wall and wall["reduction"] else None,
        "errors": errors,
        "typed": _typed(request, wall),
        "view": request.GET.get(VIEW, "0"),
        "choices": _choices(query, wall),
        "links": _links(query),
        "kinds": words.PROVENANCE,
    }
    return render(request, "bandwidth_wall.html", context, status=400 if errors else 200)


def _typed(request: HttpRequest, wall: Mapping[str, Any] | None) -> dict[str, str]:
    """What the fields hold: what was typed, or what is shown where nothing was."""
    standard = {"length": "", "gpus": "", "headroom": ""}
    if wall:
        shown = wall["asked"]
        standard = {
            "length": ", ".join(figures.length(tokens).replace(",", "") for tokens in shown["lengths"]),
            "gpus": ", ".join(map(str, shown["gpus"])),
            "headroom": f"{shown['headroom']:g}",
        }
    return {field: ", ".join(filter(None, request.GET.getlist(field))) or text for field, text in standard.items()}


def _choices(query: Mapping[str, list[str]], wall: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Every model that has a profile, with its profiles; checked are those shown, or asked for in vain."""
    checked = {row["profile"] for row in wall["rows"]} if wall else set(query.get("profile", []))
    titles = dict(store.entries("models").values_list("name", "title"))
    profiles = store.entries("profiles").order_by("document__model", "name")
    groups = groupby(profiles, key=lambda profile: profile.document["model"])
    return [
        {
            "title": titles.get(model) or model,
            "profiles": [
                {
                    "name": each.name,
                    "label": f"{each.document['gpus_per_instance']} × {each.document['hardware']}",
                    "checked": each.name in checked,
                }
                for each in of_model
            ],
        }
        for model, of_model in groups
    ]


def _links(query: Mapping[str, list[str]]) -> list[dict[str, Any]]:
    chosen = set(query.get("link", []))
    return [
        {"name": link.name, "title": link.title or link.name, "checked": link.name in chosen}
        for link in store.entries("links").order_by("name")
    ]


# --- numbers as text ---------------------------------------------------------------------------------------------

RATES = ((1e12, "Tbps"), (1e9, "Gbps"), (1e6, "Mbps"), (1e3, "kbps"))


def rate(bps: float) -> str:
    """Four significant digits, as many as the published rates have at most, in the unit that fits."""
    size, unit = next((each for each in RATES if bps >= 0.99995 * each[0]), RATES[-1])
    return f"{float(f'{bps / size:.4g}'):g} {unit}"


def _row(row: Mapping[str, Any], wall: Mapping[str, Any]) -> dict[str, Any]:
    """A model's lines of the table: one instance, then each fleet."""
    instance = {"label": "One instance", "detail": f"{row['gpus_per_instance']} GPUs", "gpus": None}
    fleets = [
        {"label": f"{gpus:,} GPUs", "detail": f"{gpus / row['gpus_per_instance']:,g} instances", "gpus": gpus}
        for gpus in wall["asked"]["gpus"]
    ]
    lines = [
        {**line, "cells": [_cell(cell, line["gpus"], row["provenance"]) for cell in row["cells"]]}
        for line in (instance, *fleets)
    ]
    return {**row, "lines": lines}


def _cell(cell: Mapping[str, Any], gpus: int | None, origin: Mapping[str, str]) -> dict[str, Any]:
    demand = cell["instance"] if gpus is None else next(each for each in cell["fleets"] if each["gpus"] == gpus)
    seconds, size = cell["t_prefill_s"], cell["s_kv_bytes"] / 2**20
    formula = f"S_kv {size:,.1f} MiB / T_prefill {seconds:.4g} s (eq. 1)"
    if gpus is not None:
        formula = f"{demand['instances']:,g} instances × {rate(cell['instance']['egress_bps'])} (eq. 2); {formula}"
    found = {
        "rate": rate(demand["egress_bps"]),
        "link": link_words(demand),
        "is_beyond": demand["link_count"] > 1,
        "formula": f"{formula}; {origin['source']}",
        "is_extrapolated": cell["is_extrapolated"],
        "links": [{"name": each["name"], **_use(each["used"])} for each in demand["links"]],
    }
    if gpus is None and cell["published_bps"] is not None:
        found["published"] = rate(cell["published_bps"])
        if cell["difference"] is not None:
            found["difference"] = figures.difference(cell["instance"]["egress_bps"], cell["published_bps"])
    return found


def link_words(demand: Mapping[str, Any]) -> str:
    """The class of link that carries a demand: `100 Gbps`, or `3 × 1.6 Tbps` where it takes several of the largest."""
    count, name = demand["link_count"], demand["link_class"]
    return name if count == 1 else f"{count:,} × {name}"


def _use(used: float | None) -> dict[str, Any]:
    if used is None:
        return {"text": "nothing left", "carries": False}
    return {"text": f"{used * 100:.0f} % full" if used <= 1 else f"{used:,.3g} × too much", "carries": used <= 1}


def _reduction(found: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of the explanation, written."""
    factors = {name: f"{found[name]:.3g}" for name in ("attention", "reference_attention", "ratio")}
    totals = {name: f"{found[name]:.1f}" for name in ("total", "reference_total")}
    return {**found, **factors, **totals, "state": f"{found['state_bytes'] / 2**20:,.0f}"}
