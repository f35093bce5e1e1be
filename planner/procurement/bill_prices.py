"""What a GPU-hour of a chip costs: as given, or else as the scenario says, or else as the catalogue lists it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner import offers
from planner.catalog import NotInCatalogue
from planner.documents.errors import refuse
from planner.scenario import Scenario
from planner.scenario.references import Catalogue

GIVEN, SCENARIO, CATALOGUE = "given", "scenario", "catalogue"
DEAREST_USD = 1e18


@dataclass(frozen=True, slots=True)
class UnitPrice:
    """USD a GPU-hour, who says so (`said_by`), and what that rests on; `date` is the day of an offer.

    `has_power`: the chip is bought, and what it draws is in the price.
    """

    usd_per_gpu_hour: float
    said_by: str
    kind: str
    source: str
    date: str | None = None
    has_power: bool = False


type Given = Mapping[str, UnitPrice]
"""Prices by hardware that go before any other."""


def given(texts: Sequence[str], chips: Collection[str], catalogue: Catalogue, field: str = "price") -> Given:
    """Prices from texts HARDWARE=USD or HARDWARE=OFFER, of `chips` alone. Raises DocumentError, naming `field`."""
    found: dict[str, UnitPrice] = {}
    for text in texts:
        hardware, _, price = text.partition("=")
        if not hardware or not price:
            raise refuse(field, text, "must be HARDWARE=USD, in USD a GPU-hour, or HARDWARE=OFFER")
        if hardware not in chips:
            raise refuse(field, text, f"prices no chip that is asked about; these are: {', '.join(sorted(chips))}")
        if hardware in found:
            raise refuse(field, text, f"prices {hardware} a second time; leave one out")
        found[hardware] = _given(text, hardware, price, catalogue, field)
    return found


def _given(text: str, hardware: str, price: str, catalogue: Catalogue, field: str) -> UnitPrice:
    try:
        usd = float(price)
    except ValueError:
        return _offered(text, hardware, price, catalogue, field)
    if not 0 <= usd <= DEAREST_USD:  # NaN neither
        raise refuse(field, text, f"must be from 0 to {DEAREST_USD:g} USD a GPU-hour")
    return UnitPrice(usd, GIVEN, "user", "given with the question")


def _offered(text: str, hardware: str, name: str, catalogue: Catalogue, field: str) -> UnitPrice:
    try:
        entry = catalogue.entry("prices", name)
    except NotInCatalogue as problem:
        said = "must be USD a GPU-hour or the name of a stored price; the catalogue lists them under Prices"
        raise refuse(field, text, said) from problem
    if entry["hardware"] != hardware:
        raise refuse(field, text, f"is an offer of {entry['hardware']}, and {hardware} is to be priced")
    usd, path = offers.usd_per_gpu_hour(entry, field, catalogue)
    return _priced(entry, usd, path, GIVEN)


def of_chip(hardware: str, given: Given, scenario: Scenario, catalogue: Catalogue) -> UnitPrice | None:
    """What a chip costs; None where nobody says it."""
    if hardware in given:
        return given[hardware]
    for price in scenario.parsed.prices:
        if price.name == hardware:
            origin = scenario.provenance(f"prices.{hardware}")
            return UnitPrice(price.usd_per_gpu_hour, SCENARIO, origin["kind"], origin["source"])
    newest = offers.newest(catalogue.prices(hardware))
    return _priced(newest[0], newest[0]["usd_per_gpu_hour"], "usd_per_gpu_hour", CATALOGUE) if newest else None


def _priced(entry: Mapping[str, Any], usd: float, path: str, said_by: str) -> UnitPrice:
    origin = offers.origin(entry, path)
    is_bought = path == "purchase"
    return UnitPrice(usd, said_by, origin["kind"], origin["source"], entry.get("date"), has_power=is_bought)


def listed(hardware: str, catalogue: Catalogue) -> dict[str, Any] | None:
    """The cheapest and the dearest offer on demand of the newest day, in USD a GPU-hour; None where there is none."""
    newest = offers.newest(catalogue.prices(hardware))
    if not newest:
        return None
    return {
        "date": newest[0].get("date"),
        "offers": len(newest),
        "cheapest": _offer(newest[0]),
        "dearest": _offer(newest[-1]),
    }


def _offer(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {"offer": entry["name"], "usd_per_gpu_hour": entry["usd_per_gpu_hour"]}
