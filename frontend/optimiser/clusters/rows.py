"""Rows of the form as texts: read from what was sent, made of a scenario or of a fleet that was asked before."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.http import QueryDict

from frontend.catalogue.units import GBPS, PERCENT
from frontend.optimiser.fields import NumberField
from planner.api.documents import scenario_of
from planner.fleet.schema import MOST

type Row = dict[str, str]
type Rows = dict[str, list[Row]]

KINDS = ("prfaas", "link", "pd")
MOST_ROUTES = 2
"""Of a PD cluster, in the form."""
FIELD = re.compile(rf"({'|'.join(KINDS)})-(\d{{1,3}})-(\w+)")


def sent(data: QueryDict) -> Rows:
    """The rows of a form that was sent, in their order."""
    found: dict[str, dict[int, Row]] = {kind: {} for kind in KINDS}
    for key in data:
        if match := FIELD.fullmatch(key):
            found[match[1]].setdefault(int(match[2]), {})[match[3]] = str(data[key])
    return {kind: [rows[at] for at in sorted(rows)] for kind, rows in found.items()}


def flat(rows: Rows) -> Row:
    """The rows as a form sends them."""
    return {
        f"{kind}-{at}-{field}": text
        for kind, each in rows.items()
        for at, row in enumerate(each)
        for field, text in row.items()
    }


def of_scenario(name: str) -> Rows:
    """A fleet of one of each, as a scenario has them. Raises DocumentError."""
    document = scenario_of(name, {}).document()
    by_role = {cluster["role"]: cluster for cluster in document["clusters"]}
    remote, local = by_role.get("prfaas"), by_role["pd"]
    prfaas = [_prfaas(remote | {"hardware": remote["hardware"]["name"]})] if remote else []
    links = [_link(link) for link in document.get("links", [])]
    pd = {"name": local["name"], "scenario": name, "share": "100", "free": "on"}
    if prfaas and links:
        pd |= {"prfaas1": prfaas[0]["name"], "link1": links[0]["name"]}
    return {"prfaas": prfaas, "link": links, "pd": [pd]}


def of_fleet(fleet: Mapping[str, Any]) -> Rows:
    """A fleet that was asked before, whose scenarios are named."""
    return {
        "prfaas": [_prfaas(each) for each in fleet.get("prfaas", [])],
        "link": [_link(each) for each in fleet.get("links", [])],
        "pd": [_pd(each) for each in fleet["pd"]],
    }


def _prfaas(cluster: Mapping[str, Any]) -> Row:
    chips = f"{cluster['hardware']}:{cluster['gpus_per_instance']}"
    return {"name": cluster["name"], "chips": chips, "instances": f"{cluster['instances']:g}"}


def _link(link: Mapping[str, Any]) -> Row:
    achieved = link.get("achieved_bps")
    usable = link["bandwidth_bps"] if achieved is None else achieved
    return {"name": link["name"], "bandwidth": "" if usable == "unlimited" else NumberField(GBPS).typed(usable)}


def _pd(cluster: Mapping[str, Any]) -> Row:
    row = {
        "name": cluster["name"],
        "scenario": cluster["scenario"]["name"],
        "share": NumberField(PERCENT).typed(cluster["share"]),
    }
    for at, route in enumerate(cluster.get("routes", [])[:MOST_ROUTES], 1):
        row |= {f"prfaas{at}": route["prfaas"], f"link{at}": route["link"]}
    return row | ({"free": "on"} if cluster.get("free_split", True) else {})


# --- one more, one less ------------------------------------------------------------------------------------------


ALIKE = ("chips", "scenario", "prfaas1", "link1", "free")
"""Fields that another row takes over from the first one."""


def with_one_more(rows: Rows, kind: str) -> Rows:
    """The same with another row of a kind, as far as there may be more."""
    if kind not in KINDS or len(rows[kind]) >= MOST:
        return rows
    taken = {row.get("name") for row in rows[kind]}
    number = next(number for number in range(1, MOST + 2) if f"{kind}-{number}" not in taken)
    new = {"name": f"{kind}-{number}"}
    first = rows[kind][0] if rows[kind] else {}
    new |= {field: text for field, text in first.items() if field in ALIKE}
    return rows | {kind: [*rows[kind], new]}


def without(rows: Rows, place: str) -> Rows:
    """The same without the row at a place: `link-2`."""
    kind, _, at = place.rpartition("-")
    return rows | {kind: [row for here, row in enumerate(rows.get(kind, [])) if str(here) != at]} if kind else rows
