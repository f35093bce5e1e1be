"""What a chip was offered for, over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from frontend import figures
from frontend.catalogue.origins import Origin, origin_of
from planner import store
from planner.entries.price import Purchase
from planner.models import Entry


@dataclass(frozen=True, slots=True)
class Offer:
    """One dated offer."""

    entry: Entry
    usd_per_gpu_hour: str
    origin: Origin
    formula: str
    is_this: bool


def offers(price: Entry) -> list[Offer]:
    """Every offer for the same hardware, the newest first, those without a day last."""
    chip = price.document["hardware"]
    found = list(store.entries("prices", archived=None).filter(document__hardware=chip))
    tdp_w = Entry.objects.filter(kind="hardware", name=chip).values_list("document__tdp_w", flat=True).first()
    found.sort(key=lambda entry: (entry.document.get("date") or "", entry.name), reverse=True)
    return [_offer(entry, tdp_w, entry.pk == price.pk) for entry in found]


def _offer(entry: Entry, tdp_w: float | None, is_this: bool) -> Offer:
    purchase: dict[str, Any] | None = entry.document.get("purchase")
    if purchase is None:
        rent = f"{entry.document['usd_per_gpu_hour']:.3f}"
        return Offer(entry, rent, origin_of(entry.document, "usd_per_gpu_hour"), "", is_this)
    bought = Purchase.model_validate(purchase)
    cost = figures.NONE if tdp_w is None else f"{bought.usd_per_gpu_hour(tdp_w):.3f}"
    formula = "write-off and power at full draw: USD/GPU / (years · 8766 h) + USD/kWh · PUE · TDP"
    return Offer(entry, cost, origin_of(entry.document, "purchase"), formula, is_this)
