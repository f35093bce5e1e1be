"""Where a scenario ties with the best deployment without PrfaaS, as people read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from frontend.optimiser.parameters import PARAMETERS, UNKNOWN

type Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Tie:
    """What the page shows of a result."""

    headline: str
    chart: Document


def tie(result: Document, question: Document) -> Tie:
    """The page of a result."""
    name = result["parameter"]
    parameter = PARAMETERS.get(name, UNKNOWN)
    title = _title(question, parameter.title, name)
    said = headline(result, title)
    chart = {
        "title": title,
        "unit": parameter.unit.text,
        "scale": parameter.scale,
        "values": result["values"],
        "gain": result["gain"],
        "ties": [{"value": value, "text": _number(result, value)} for value in result["ties"]],
        "given": _given(question, name),
        "headline": said,
        "provenance": {"kind": result["provenance"], "source": "the weakest kind of figure that it rests on"},
    }
    return Tie(said, chart)


def headline(result: Document, title: str) -> str:
    """Where it ties, and on which side it carries more."""
    known = [gain for gain in result["gain"] if gain is not None]
    if not known:
        return "Without PrfaaS the same money buys nothing in this whole range."
    ties = [_number(result, value) for value in result["ties"]]
    more = "carries more than the best without PrfaaS for the same money"
    if not ties:
        held = more if known[0] > 1 else "carries no more than the best without PrfaaS for the same money"
        return f"In this whole range the scenario {held}: {min(known):.3f} to {max(known):.3f} times as much."
    if len(ties) > 1:
        return f"{title}: the scenario ties with the best without PrfaaS for the same money at {' and '.join(ties)}."
    first, second = ("Below", "above") if known[0] > 1 else ("Above", "below")
    return f"{title}: tie at {ties[0]}. {first}, the scenario {more}; {second}, less."


def _number(result: Document, value: float) -> str:
    """Four digits, in people's unit."""
    parameter = PARAMETERS.get(result["parameter"], UNKNOWN)
    unit = f" {parameter.unit.text}" if parameter.unit.text not in ("", "×") else ""
    return f"{value / parameter.scale:.4g}{unit}"


def _title(question: Document, title: str, name: str) -> str:
    hardware = _hardware(question)
    return f"{title} {':'.join(hardware)}" if name == "price_ratio" and len(hardware) == 2 else title


def _hardware(question: Document) -> list[str]:
    """Of PrfaaS, then of PD."""
    by_role = {cluster["role"]: cluster["hardware"]["name"] for cluster in question["scenario"]["clusters"]}
    return [by_role[role] for role in ("prfaas", "pd") if role in by_role]


def _given(question: Document, name: str) -> float | None:
    """What the parameter is in the scenario as it was given, at the prices that were given."""
    if name in ("length_factor", "kv_factor"):
        return 1.0
    if name == "price_ratio":
        prices = {price["name"]: price["usd_per_gpu_hour"] for price in question["prices"]}
        remote, local = (prices.get(hardware) for hardware in _hardware(question))
        return remote / local if remote is not None and local else None
    link: Document = next(iter(question["scenario"].get("links") or []), {})
    if name == "bandwidth_bps":
        achieved = link.get("achieved_bps")
        bps = link.get("bandwidth_bps") if achieved is None else achieved
        return bps if isinstance(bps, int | float) else None
    return (link.get("price") or {}).get("usd_per_gb") or 0.0
