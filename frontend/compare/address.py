"""A comparison's view in its address: every change to it stands there, so that the address is a link to just this view.

`price.h200=2.5`, `link.NAME.usd_per_gb=0.02`, `set.NAME.routing.threshold_tokens=20000` and the like change what is
shown; nothing is stored by them. An empty price of a link or of electricity is none, an empty one of a chip its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.http import QueryDict

from planner.catalog import files
from planner.comparing.reading import Shown, read
from planner.documents.errors import refuse

UNSAVED = "-"
"""In the place of a name: the comparison is put together from the scenarios that the address names."""
CHOICES = ("baseline", "form", "scale")
LINK_PRICES = ("usd_per_gb", "usd_per_month")


def asked(name: str, query: QueryDict) -> dict[str, Any]:
    """What the address asks for, as `planner.comparing.reading.read` takes it. Raises DocumentError."""
    found: dict[str, Any] = {"comparison": {"scenarios": query.getlist("scenario")} if name == UNSAVED else name}
    found |= {field: query[field] for field in CHOICES if query.get(field)}
    if prices := [{"name": chip, "usd_per_gpu_hour": usd} for chip, usd in _numbers(query, "price.")]:
        found["prices"] = prices
    if power := _power(query):
        found["power"] = power
    if link_prices := _link_prices(query):
        found["link_prices"] = link_prices
    if changes := _changes(query):
        found["set"] = changes
    return found


def shown(name: str, query: QueryDict) -> Shown:
    """The comparison of an address. Raises DocumentError."""
    return read(asked(name, query))


def control(field: str) -> str:
    """What the address calls the field of a mistake; the field itself where the address has no name for it."""
    match field.split("."):
        case ["prices", chip, *_]:
            return f"price.{chip}"
        case ["power", figure]:
            return figure
        case [name, "links", _, "price", figure] if figure in LINK_PRICES:
            return f"link.{name}.{figure}"
    return field


def _numbers(query: QueryDict, prefix: str) -> Iterator[tuple[str, float]]:
    for key in query:
        if key.startswith(prefix) and _text(query, key) != "":
            yield key.removeprefix(prefix), number(key, _text(query, key))


def _number_or_none(query: QueryDict, key: str) -> float | None:
    """None where the field is there and empty: what it stands for has no price."""
    text = _text(query, key)
    return None if text == "" else number(key, text)


def _text(query: QueryDict, key: str) -> str:
    return str(query.get(key, ""))


def number(field: str, text: str) -> float:
    """What was typed, with a comma or without. Raises DocumentError."""
    try:
        return float(text.replace(",", ""))
    except ValueError as problem:
        raise refuse(field, text, "must be a number") from problem


def _power(query: QueryDict) -> dict[str, float | None]:
    return {field: _number_or_none(query, field) for field in ("usd_per_kwh", "pue") if field in query}


def _link_prices(query: QueryDict) -> dict[str, dict[str, float | None]]:
    found: dict[str, dict[str, float | None]] = {}
    for key in query:
        if key.startswith("link."):
            name, _, field = key.removeprefix("link.").partition(".")
            if field not in LINK_PRICES:
                raise refuse(key, query[key], f"must end with one of {', '.join(LINK_PRICES)}")
            found.setdefault(name, {})[field] = _number_or_none(query, key)
    return found


def _changes(query: QueryDict) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for key in query:
        if key.startswith("set."):
            name, _, path = key.removeprefix("set.").partition(".")
            found.setdefault(name, {})[path] = _value(key, _text(query, key))
    return found


def _value(field: str, text: str) -> Any:
    try:
        return files.parse_json(text)
    except files.Unreadable:
        return text
