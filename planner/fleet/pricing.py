"""Prices of a fleet's chips: what stands in it, else what a scenario of it says, else what the catalogue offers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from planner import offers
from planner.documents.errors import refuse
from planner.fleet.schema import FleetDocument
from planner.scenario import Scenario
from planner.scenario.build import pd_cluster
from planner.scenario.references import Catalogue


def put_prices(raw: dict[str, Any], parsed: FleetDocument, scenarios: Sequence[Scenario], catalogue: Catalogue) -> None:
    """Puts a price of every chip into `raw` that has none there, with its source, where anybody says one.

    Of the catalogue it is the cheapest offer on demand of the newest day. Raises DocumentError on a chip named twice.
    """
    held = [price.name for price in parsed.prices]
    for name in held:
        if held.count(name) > 1:
            raise refuse(f"prices.{name}", None, "is named twice; leave one of them out")
    prices, origins = raw.setdefault("prices", []), raw.setdefault("provenance", {})
    for chip in dict.fromkeys(_chips(parsed, scenarios)):
        found = None if chip in held else _price(chip, scenarios, catalogue)
        if found:
            prices.append({"name": chip, "usd_per_gpu_hour": found[0]})
            origins[f"prices.{chip}"] = found[1]


def _chips(parsed: FleetDocument, scenarios: Sequence[Scenario]) -> Iterator[str]:
    for cluster in parsed.prfaas:
        yield cluster.hardware
    for each in scenarios:
        yield pd_cluster(each.parsed).hardware.name


def _price(chip: str, scenarios: Sequence[Scenario], catalogue: Catalogue) -> tuple[float, dict[str, str]] | None:
    for each in scenarios:
        for price in each.parsed.prices:
            if price.name == chip:
                return price.usd_per_gpu_hour, each.provenance(f"prices.{chip}")
    for offer in offers.newest(catalogue.prices(chip))[:1]:
        return offer["usd_per_gpu_hour"], offers.origin(offer, "usd_per_gpu_hour")
    return None
