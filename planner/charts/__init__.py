"""What the catalogue's detail pages draw: the curves of a stored entry as plain lists, in SI units."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from planner import store
from planner.charts.kv import of_model
from planner.charts.links import of_link
from planner.charts.prices import of_hardware
from planner.charts.profiles import of_profile
from planner.charts.traffic import of_traffic
from planner.models import Entry, Trace

type Charts = dict[str, Any]


def charts(entry: Entry) -> Charts:
    """The charts of an entry by name, with what it needs of the entries that it names or is named by."""
    return OF_KIND[entry.kind](entry)


def _model(entry: Entry) -> Charts:
    return of_model(entry.document, store.STORED.profiles(entry.name))


def _profile(entry: Entry) -> Charts:
    model = store.named("models", entry.document["model"])
    return of_profile(entry.document, model.document if model else None)


def _traffic(entry: Entry) -> Charts:
    digest = entry.document.get("trace")
    trace = Trace.objects.filter(digest=digest).values_list("statistics", flat=True).first() if digest else None
    return of_traffic(entry.document, trace)


def _link(entry: Entry) -> Charts:
    return of_link(entry.document)


def _hardware(entry: Entry) -> Charts:
    return {"prices": _prices(entry.document)}


def _price(entry: Entry) -> Charts:
    chip = store.named("hardware", entry.document["hardware"])
    return {"prices": _prices(chip.document if chip else {"name": entry.document["hardware"]}), "this": entry.name}


def _prices(hardware: Mapping[str, Any]) -> Charts:
    named = store.entries("prices").filter(document__hardware=hardware["name"])
    return of_hardware(hardware, [offer.document for offer in named])


OF_KIND: Mapping[str, Callable[[Entry], Charts]] = {
    "hardware": _hardware,
    "models": _model,
    "profiles": _profile,
    "traffic": _traffic,
    "links": _link,
    "prices": _price,
}
