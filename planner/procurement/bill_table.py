"""A bill as a table: a line of headings, one for each item, and the totals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planner.procurement.bill import paid

HEADINGS = (
    "item", "name", "hardware", "title", "instances", "gpus_per_instance", "quantity", "unit", "usd_per_unit",
    "usd_per_h", "usd_per_month", "power_w", "kind", "source", "date",
)  # fmt: skip
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""With these a spreadsheet begins what it computes."""

type Line = dict[str, Any]


def lines(bill: dict[str, Any]) -> Iterator[list[Any]]:
    """Lines of cells in SI units and USD; empty where something is not known or has no meaning."""
    yield list(HEADINGS)
    for line in (*_chips(bill), *_links(bill), *_power(bill), *_totals(bill), *_remarks(bill)):
        yield [_cell(line.get(heading)) for heading in HEADINGS]


def _cell(value: Any) -> Any:
    """A value as it is written: never a formula, whatever somebody has called an entry."""
    if value is None:
        return ""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _chips(bill: dict[str, Any]) -> Iterator[Line]:
    for line in bill["chips"]:
        price = line["price"] or {"usd_per_gpu_hour": None}
        told = {"item": line["role"], "name": line["cluster"], "quantity": line["gpus"], "unit": "GPU"}
        yield {**line, **told, **price, "usd_per_unit": price["usd_per_gpu_hour"]}


def _links(bill: dict[str, Any]) -> Iterator[Line]:
    for line in bill["links"]:
        named = {"name": line["name"], **(line["price"] if line["is_priced"] else {})}
        months = {"quantity": 1, "unit": "month", "usd_per_unit": line["fee_usd_per_month"]}
        volume = {"quantity": line["gb_per_month"], "unit": "GB/month", "usd_per_unit": line["usd_per_gb"]}
        yield {"item": "link_time", **named, **months, **paid(line["time_usd_per_h"])}
        yield {"item": "link_volume", **named, **volume, **paid(line["volume_usd_per_h"])}


def _power(bill: dict[str, Any]) -> Iterator[Line]:
    drawn = bill["power"]
    if drawn["usd_per_kwh"] is not None:
        told = {"item": "power", "unit": "W", "quantity": drawn["paid_w"], "kind": "user"}
        yield {**drawn, **told, "source": f"{drawn['usd_per_kwh']:g} USD/kWh, PUE {drawn['pue']:g}"}


def _totals(bill: dict[str, Any]) -> Iterator[Line]:
    totals, kinds = bill["totals"], bill["evidence"]
    yield {**totals, "item": "total", "quantity": totals["gpus"], "unit": "GPU", "kind": kinds["usd_per_h"]}
    a_million = {"quantity": 1e6, "unit": "token", "usd_per_unit": totals["usd_per_million_tokens"]}
    yield {"item": "per_million_tokens", **a_million, "kind": kinds["usd_per_million_tokens"]}
    for item in ("rate_rps", "lambda_max_rps"):
        yield {"item": item, "quantity": bill[item], "unit": "req/s", "kind": kinds[item]}


def _remarks(bill: dict[str, Any]) -> Iterator[Line]:
    for missing in bill["missing"]:
        yield {"item": "missing", "hardware": missing["hardware"], "source": missing["message"]}
    for note in bill["notes"]:
        yield {"item": "note", "source": note}
