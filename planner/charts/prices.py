"""What a chip was offered for, over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner.charts.origins import origin
from planner.entries.price import Price

type Document = Mapping[str, Any]


def of_hardware(hardware: Document, prices: Sequence[Document]) -> dict[str, Any]:
    """One point an offer in USD per GPU-hour, by day, undated ones last; `prices` are the offers for the hardware."""
    found = [_offer(price, hardware.get("tdp_w")) for price in prices]
    found.sort(key=lambda offer: (offer["date"] is None, offer["date"] or "", offer["name"]))
    return {"hardware": hardware["name"], "title": hardware.get("title") or hardware["name"], "offers": found}


def _offer(document: Document, tdp_w: float | None) -> dict[str, Any]:
    price = Price.model_validate(document)
    cost, path = price.usd_per_gpu_hour, "usd_per_gpu_hour"
    if price.purchase is not None:
        cost, path = None if tdp_w is None else price.purchase.usd_per_gpu_hour(tdp_w), "purchase"
    return {
        "name": price.name,
        "title": price.title or price.name,
        "date": price.date,
        "provider": price.provider,
        "region": price.region,
        "kind": price.kind,
        "usd_per_gpu_hour": cost,
        "provenance": origin(document, path),
    }
