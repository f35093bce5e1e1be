"""Stored offers of hardware, as a question takes them: in USD a GPU-hour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from planner import store
from planner.entries.price import Purchase
from planner.models import Entry

ON_DEMAND = "on_demand"


@dataclass(frozen=True, slots=True)
class Offer:
    """A stored price."""

    name: str
    day: str
    provider: str
    kind: str
    usd_per_gpu_hour: float

    @property
    def label(self) -> str:
        """Day, provider, kind and price."""
        said = (self.day or "no date", self.provider, self.kind.replace("_", " "))
        return f"{', '.join(part for part in said if part)}: {self.usd_per_gpu_hour:.4g} USD/GPU-hour"


def offers(hardware: str) -> list[Offer]:
    """Every offer of a chip that has a cost by the hour: the newest first, within a day the cheapest."""
    entries = store.entries("prices").filter(document__hardware=hardware)
    tdp_w = Entry.objects.filter(kind="hardware", name=hardware).values_list("document__tdp_w", flat=True).first()
    found = [offer for entry in entries if (offer := _offer(entry.name, entry.document, tdp_w))]
    found.sort(key=lambda offer: offer.usd_per_gpu_hour)
    return sorted(found, key=lambda offer: offer.day, reverse=True)


def listed(hardware: str) -> Offer | None:
    """The newest offer on demand."""
    return next((offer for offer in offers(hardware) if offer.kind == ON_DEMAND), None)


def _offer(name: str, document: dict[str, Any], tdp_w: float | None) -> Offer | None:
    usd = document.get("usd_per_gpu_hour")
    if document.get("purchase"):
        usd = None if tdp_w is None else Purchase.model_validate(document["purchase"]).usd_per_gpu_hour(tdp_w)
    if usd is None:
        return None
    return Offer(name, document.get("date") or "", document.get("provider", ""), document["kind"], usd)
