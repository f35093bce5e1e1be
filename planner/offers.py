"""What chips cost by the offers of a catalogue: which offers count, and what a GPU-hour of one comes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner.documents.errors import refuse
from planner.documents.provenance import nearest
from planner.entries.hardware import Hardware
from planner.entries.price import Price
from planner.scenario.document import UNSTATED
from planner.scenario.references import Catalogue


def newest(offers: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The offers on demand of the newest day, the cheapest first; those without a day where none has any."""
    on_demand = [offer for offer in offers if offer["kind"] == "on_demand"]
    day = max((offer.get("date") or "" for offer in on_demand), default="")
    found = [offer for offer in on_demand if (offer.get("date") or "") == day]
    return sorted(found, key=lambda offer: (offer["usd_per_gpu_hour"], offer["name"]))


def origin(offer: Mapping[str, Any], path: str) -> dict[str, str]:
    """Where an offer's figure comes from: the offer, its day, and its own source."""
    stated = nearest(offer, path) or UNSTATED
    source = f"offer {offer['name']} of {offer.get('date') or 'no date'}: {stated.get('source', '')}".rstrip(": ")
    return {"kind": stated["kind"], "source": source[:2000]}


def usd_per_gpu_hour(entry: Mapping[str, Any], field: str, catalogue: Catalogue) -> tuple[float, str]:
    """What an offer costs a GPU-hour, as rented, or as bought, written off and powered; and which figure says so.

    Raises DocumentError, naming `field`, where a bought chip's power is not stored.
    """
    price = Price.model_validate(entry)
    if price.usd_per_gpu_hour is not None:
        return price.usd_per_gpu_hour, "usd_per_gpu_hour"
    hardware = Hardware.model_validate(catalogue.entry("hardware", price.hardware))
    if price.purchase is None or hardware.tdp_w is None:
        raise refuse(field, entry["name"], f"needs the power that {price.hardware} draws: its tdp_w is not stored")
    return price.purchase.usd_per_gpu_hour(hardware.tdp_w), "purchase"
