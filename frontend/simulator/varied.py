"""What a study varies, as people read it: each quantity's unit."""

from __future__ import annotations

from typing import Any

from frontend.catalogue.units import GBPS, PERCENT, TOKENS, Unit, unit_of

type Document = dict[str, Any]

UNITS = {
    "load": PERCENT,
    "rate_rps": Unit("req/s"),
    "threshold_tokens": TOKENS,
    "bandwidth_bps": GBPS,
    "arrivals_cv": Unit("CV"),
    "policy": Unit(),
}


def unit(vary: str) -> Unit:
    """Of a quantity, or of the field at a path."""
    return UNITS[vary] if vary in UNITS else unit_of(vary)


def written(vary: str, value: Any) -> str:
    """A value in its unit: `85 %`, `100 Gbps`, `CV 2`, `all remote`."""
    if isinstance(value, str):
        return value.replace("_", " ")
    of = unit(vary)
    if vary == "arrivals_cv":
        return f"{of.text} {value:,.6g}"
    return f"{value / float(of.scale):,.6g} {of.text}".strip()


def name(result: Document, variant: Document) -> str:
    """What a variant of a study's result is called."""
    return str(variant["title"]) if variant["value"] is None else written(result["vary"], variant["value"])


def is_numeric(result: Document) -> bool:
    """Whether variants differ in a number."""
    return all(isinstance(variant["value"], int | float) for variant in result["variants"])


def base(result: Document) -> Document:
    """The variant that the others are held against."""
    found: Document = next(variant for variant in result["variants"] if variant["name"] == result["baseline"])
    return found
