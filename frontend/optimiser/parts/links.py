"""Ways between the datacenters that could be had, and what they cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django import forms

from frontend import figures
from frontend.catalogue.units import Unit
from frontend.optimiser.fields import BY_HAND, Cleaned, NumberField, Part, Question, Row, checks, several
from planner import store
from planner.documents.fields import PROVENANCE_KINDS
from planner.documents.provenance import nearest

PRICES = {"gb": "usd_per_gb", "month": "usd_per_month"}


@dataclass(frozen=True, slots=True)
class Link:
    """A link that could be had; `origins` are those of its bandwidth and price."""

    name: str
    title: str
    figures: Mapping[str, Any]
    price: Mapping[str, float | None]
    origins: tuple[Mapping[str, Any], ...]

    @property
    def usable(self) -> str:
        """What it carries, with its unit."""
        achieved = self.figures["achieved_bps"]
        bps = self.figures["bandwidth_bps"] if achieved is None else achieved
        return "unlimited" if bps == "unlimited" or math.isinf(bps) else f"{figures.gbps_of_three_digits(bps)} Gbps"


class Links(Part):
    """Links, each with its price by volume and by time."""

    legend = "Links"
    help = "What PrfaaS prefills crosses one of the chosen links. An empty price is none."
    choice = "link"
    more = "Stored links"

    def fields(self) -> dict[str, forms.Field]:
        links = self._links
        found: dict[str, forms.Field] = {
            "link": several({link.name: link.title for link in links.values()}, list(self._own))
        }
        for link in links.values():
            for key, label in (("gb", "By volume"), ("month", "By time")):
                field = NumberField(Unit(UNITS[key]), label=label, min_value=0)
                field.initial = field.typed(link.price[PRICES[key]])
                found[f"{key}_{link.name}"] = field
        return found

    def rows(self, form: forms.Form) -> list[Row]:
        boxes = checks(form, "link")
        return [
            Row(
                link.title,
                (form[f"gb_{link.name}"], form[f"month_{link.name}"]),
                boxes[link.name],
                note=f"{link.usable}, {'the scenario’s own' if link.name in self._own else link.name}",
                is_more=link.name not in self._own,
            )
            for link in self._links.values()
        ]

    def read(self, cleaned: Cleaned) -> Question:
        if not cleaned.get("prfaas"):
            return {"links": []}
        chosen = [self._links[name] for name in cleaned["link"]]
        origins = {f"links.{link.name}": _origin(link, _price(link, cleaned)) for link in chosen}
        links = [
            {"name": link.name, **link.figures, "price": price if any(price.values()) else None}
            for link in chosen
            for price in [_price(link, cleaned)]
        ]
        return {"links": links, "provenance": {path: origin for path, origin in origins.items() if origin}}

    def typed(self, question: Question) -> dict[str, Any]:
        asked = question.get("links")
        found: dict[str, Any] = {"link": list(self._own) if asked is None else [link["name"] for link in asked]}
        for link in asked or []:
            price = link.get("price") or {}
            for key, path in PRICES.items():
                found[f"{key}_{link['name']}"] = NumberField().typed(price.get(path))
        return found

    def places(self, cleaned: Cleaned) -> dict[str, str]:
        found = {"links": "link"}
        for name in cleaned.get("link", ()):
            found |= {f"links.{name}.price.{path}": f"{key}_{name}" for key, path in PRICES.items()}
        return found

    @cached_property
    def _own(self) -> dict[str, Link]:
        given = self.given.scenario
        return {
            link["name"]: _link(link, link["name"], (given.provenance(f"links.{link['name']}"),))
            for link in given.document().get("links", [])
        }

    @cached_property
    def _links(self) -> dict[str, Link]:
        """The scenario's own, then what is stored."""
        stored = [(entry.title or entry.name, entry.document) for entry in store.entries("links").order_by("name")]
        others = {document["name"]: _stored(document, title) for title, document in stored}
        return self._own | {name: link for name, link in others.items() if name not in self._own}


UNITS = {"gb": "USD/GB", "month": "USD/month"}


def _stored(document: dict[str, Any], title: str) -> Link:
    origins = (nearest(document, "bandwidth_bps"), nearest(document, "price"))
    priced = [nearest(document, f"price.{path}") for path in PRICES.values() if (document.get("price") or {}).get(path)]
    return _link(document, title, tuple(origin for origin in (origins[0], *priced) if origin))


def _link(document: Mapping[str, Any], title: str, origins: tuple[Mapping[str, Any], ...]) -> Link:
    price = document.get("price") or {}
    return Link(
        document["name"],
        title,
        {"bandwidth_bps": document["bandwidth_bps"], "achieved_bps": document.get("achieved_bps")},
        {path: price.get(path) for path in PRICES.values()},
        origins,
    )


def _price(link: Link, cleaned: Cleaned) -> dict[str, float | None]:
    return {path: cleaned[f"{key}_{link.name}"] for key, path in PRICES.items()}


def _origin(link: Link, price: Mapping[str, float | None]) -> dict[str, Any] | None:
    """The weakest kind of its figures, and where all of them come from."""
    origins = [*link.origins, *([BY_HAND] if price != link.price else [])]
    if not origins:
        return None
    kind = max((str(origin["kind"]) for origin in origins), key=PROVENANCE_KINDS.index)
    sources = dict.fromkeys(str(origin.get("source", "")) for origin in origins)
    return {"kind": kind, "source": "; ".join(source for source in sources if source)}
