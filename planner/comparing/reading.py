"""From what is asked for to a comparison as it is shown: stored or put together, changed in places, rescaled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner import comparison, store
from planner.catalog import NotInCatalogue
from planner.comparing.equal import rescaled
from planner.comparison import Asked
from planner.documents.errors import refuse
from planner.scenario.schema import LinkTable

CHANGES = ("baseline", "form", "scale")
FIELDS = ("comparison", "set", "prices", "link_prices", "power", *CHANGES)
UNSAVED = "unsaved"


@dataclass(frozen=True, slots=True)
class Shown:
    """A comparison as it was asked for, and as it is shown: the same, or rescaled; `reasons` say what was not."""

    given: Asked
    asked: Asked
    reasons: dict[str, str]


def read(data: Any) -> Shown:
    """A comparison by name or as a document, with what differs from it. Raises DocumentError.

    `data` has `comparison`, and may have `set` ({scenario: {path: value}}), `prices` ([{name, usd_per_gpu_hour}], which
    take the place of those of the same chips), `link_prices` ({scenario: {usd_per_gb, usd_per_month}}), `power`,
    `baseline`, `form` and `scale`. What `link_prices` and `power` do not name stays as it is; a null in them is none.
    """
    if not isinstance(data, Mapping) or "comparison" not in data:
        raise refuse("comparison", None, "is missing: the name of a stored comparison, or a document of one")
    document = dict(_document(data["comparison"]))
    document |= {field: data[field] for field in CHANGES if data.get(field) is not None}
    if data.get("power") is not None:
        _power(document, data["power"])
    if data.get("prices"):
        _reprice(document, data["prices"])
    changes = data.get("set") or {}
    if not isinstance(changes, Mapping):
        raise refuse("set", None, "must be an object of scenario to {PATH: value}")
    given = comparison.parse(document, store.STORED, changes)
    if data.get("link_prices"):
        given = comparison.parse(given.document(), store.STORED, _link_prices(given, data["link_prices"]))
    asked, reasons = rescaled(given)
    return Shown(given, asked, reasons)


def _document(given: Any) -> Mapping[str, Any]:
    if isinstance(given, Mapping):
        return {"name": UNSAVED, **given}
    if not isinstance(given, str):
        raise refuse("comparison", None, "must be the name of a stored comparison, or a document of one")
    entry = store.named(store.COMPARISONS, given)
    if entry is None:
        known = ", ".join(store.first_names(store.COMPARISONS)) or "none yet"
        raise refuse("comparison", given, f"is no stored comparison; known: {known}")
    return dict(entry.document)


def _link_prices(given: Asked, prices: Any) -> dict[str, dict[str, Any]]:
    """The same as overrides of the scenarios' links. Raises DocumentError where a scenario has none."""
    if not isinstance(prices, Mapping):
        raise refuse("link_prices", None, "must be an object of scenario to {usd_per_gb, usd_per_month}")
    links = {each.name: each.parsed.links for each in given.scenarios}
    for name in prices:
        if not links.get(name):
            known = ", ".join(name for name, own in links.items() if own) or "none has one"
            raise refuse(f"link_prices.{name}", None, f"must name a scenario that has a link: {known}")
    return {name: {f"links.{links[name][0].name}.price": _link_price(links[name][0], prices[name])} for name in prices}


def _link_price(link: LinkTable, given: Any) -> Any:
    """The link's price with what is given of it; None where nothing is left of it."""
    if not isinstance(given, Mapping):  # refused later
        return given
    held = link.price.model_dump() if link.price else {}
    return {field: usd for field, usd in {**held, **given}.items() if usd is not None} or None


def _power(document: dict[str, Any], given: Any) -> None:
    """Puts what is given of electricity in the place of what is held; its source goes with it."""
    held, origins = document.get("power"), document.get("provenance")
    if isinstance(given, Mapping):
        found = {**(held if isinstance(held, Mapping) else {}), **given}
        is_none = "usd_per_kwh" in found and found["usd_per_kwh"] is None
        if found.get("pue") is not None and "usd_per_kwh" not in found:
            raise refuse("power.usd_per_kwh", None, "is missing: a PUE costs nothing without the price of a kWh")
        given = None if is_none else {field: value for field, value in found.items() if value is not None}
    document["power"] = given
    if isinstance(origins, Mapping):
        document["provenance"] = {path: origin for path, origin in origins.items() if path.split(".")[0] != "power"}


def _reprice(document: dict[str, Any], prices: Any) -> None:
    """Puts prices in the place of those of the same chips; their sources go with them."""
    if not isinstance(prices, list):
        raise refuse("prices", None, "must be a list of {name, usd_per_gpu_hour}")
    named = {_chip(price) for price in prices}
    held, origins = document.get("prices", []), document.get("provenance", {})
    if isinstance(held, list):  # what is not is refused later
        document["prices"] = [*prices, *(price for price in held if _chip(price) not in named)]
    if isinstance(origins, Mapping):
        gone = {f"prices.{chip}" for chip in named}
        document["provenance"] = {path: origin for path, origin in origins.items() if path not in gone}


def _chip(price: Any) -> str | None:
    """The chip that a price is of, by its name or by that of its offer; None for what is no price, refused later."""
    if not isinstance(price, Mapping):
        return None
    if "offer" not in price:
        return str(price.get("name"))
    try:
        return str(store.STORED.entry("prices", str(price["offer"]))["hardware"])
    except NotInCatalogue:
        return None
