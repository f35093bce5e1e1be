"""From what is asked for to a comparison as it is shown: stored or put together, changed in places, rescaled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner import comparison, store
from planner.comparing.equal import rescaled
from planner.comparison import Asked
from planner.documents.errors import refuse

CHANGES = ("baseline", "form", "scale", "power")
FIELDS = ("comparison", "set", "prices", "link_prices", *CHANGES)
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
    `baseline`, `form` and `scale`.
    """
    if not isinstance(data, Mapping) or "comparison" not in data:
        raise refuse("comparison", None, "is missing: the name of a stored comparison, or a document of one")
    document = dict(_document(data["comparison"]))
    document |= {field: data[field] for field in CHANGES if data.get(field) is not None}
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
    return {name: {f"links.{links[name][0].name}.price": price} for name, price in prices.items()}


def _reprice(document: dict[str, Any], prices: Any) -> None:
    """Puts prices in the place of those of the same chips; their sources go with them."""
    if not isinstance(prices, list):
        raise refuse("prices", None, "must be a list of {name, usd_per_gpu_hour}")
    named = {str(price.get("name")) for price in prices if isinstance(price, Mapping)}
    document["prices"] = [*prices, *(held for held in document.get("prices", []) if held["name"] not in named)]
    document["provenance"] = {
        path: origin
        for path, origin in (document.get("provenance") or {}).items()
        if path not in {f"prices.{name}" for name in named}
    }
