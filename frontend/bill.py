"""A bill of materials as the table of a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from frontend import figures
from planner.procurement.bill import Document, paid

ROLES = {"prfaas": ("PrfaaS", "prfaas"), "prefill": ("PD prefill", "pd_p"), "decode": ("PD decode", "pd_d")}
"""What a role is called, and the stage whose colour it has."""
SAID_BY = {"given": "given", "scenario": "the scenario's own price", "catalogue": "the catalogue's cheapest offer"}


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure with its mark: the kind of evidence under it, and source or formula."""

    text: str
    kind: str = ""
    source: str = ""


NOTHING = Cell(figures.NONE)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the table; `cells` are how many units, USD a unit, kW, USD an hour and USD a month."""

    item: str
    detail: str
    unit: str
    stage: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Bill:
    """What the page shows of a bill."""

    scenario: str
    lines: tuple[Line, ...]
    total: Line
    a_million: Cell
    rate: Cell
    missing: tuple[str, ...]
    notes: tuple[str, ...]


def table(bill: Document) -> Bill:
    """The bill as text; a figure that nobody states is a dash."""
    formulas, evidence, totals = bill["formulas"], bill["evidence"], bill["totals"]
    powered = [_power(bill["power"], formulas)] if bill["power"]["usd_per_kwh"] is not None else []
    return Bill(
        scenario=bill["scenario"],
        lines=(*map(_chips, bill["chips"]), *(line for link in bill["links"] for line in _link(link)), *powered),
        total=_total(bill),
        a_million=_cell(
            figures.price(totals["usd_per_million_tokens"]),
            evidence["usd_per_million_tokens"],
            formulas["usd_per_million_tokens"],
        ),
        rate=_cell(figures.rate(bill["rate_rps"]), evidence["rate_rps"], "the rate of this bill"),
        missing=tuple(missing["message"] for missing in bill["missing"]),
        notes=tuple(bill["notes"]),
    )


def _cell(text: str, kind: str, source: str) -> Cell:
    """No mark on what is not there."""
    return Cell(text) if text == figures.NONE else Cell(text, kind, source)


def _kilo(watts: float | None) -> str:
    """Kilowatts, from watts."""
    return figures.NONE if watts is None else figures.rounded(watts / 1000, 1)


def _paid(line: dict[str, Any], kind: str, formula: str) -> tuple[Cell, Cell]:
    """USD an hour and a month."""
    month = f"{formula}, times 8766 / 12 h a month"
    return (
        _cell(figures.usd(line["usd_per_h"]), kind, formula),
        _cell(figures.usd(line["usd_per_month"]), kind, month),
    )


def _chips(line: dict[str, Any]) -> Line:
    title, stage = ROLES[line["role"]]
    price, tdp = line["price"], line["tdp"]
    each = f"{line['instances']} × {line['gpus_per_instance']} {line['title'] or line['hardware']}"
    cells = (
        Cell(str(line["gpus"]), line["count_kind"], "instances · GPUs an instance"),
        Cell(figures.price(price["usd_per_gpu_hour"]), price["kind"], _source(line)) if price else NOTHING,
        Cell(_kilo(line["power_w"]), tdp["kind"], f"GPUs · {line['tdp_w']:g} W: {tdp['source']}") if tdp else NOTHING,
        *_paid(line, price["kind"] if price else "", "GPUs · USD/GPU-hour"),
    )
    return Line(title, each, "GPU-hour", stage, cells)


def _source(line: dict[str, Any]) -> str:
    """Where a price comes from, and what else the catalogue lists."""
    price, listed = line["price"], line["listed"]
    said = f"{SAID_BY[price['said_by']]}: {price['source']}"
    if not listed:
        return said
    cheapest, dearest = (figures.price(listed[end]["usd_per_gpu_hour"]) for end in ("cheapest", "dearest"))
    return f"{said}; listed of {listed['date'] or 'no date'}: {cheapest} to {dearest} USD/GPU-hour"


def _link(line: dict[str, Any]) -> tuple[Line, Line]:
    """By time and by volume; dashes where the link has no price, which a note says."""
    kind, source = (line["price"]["kind"], line["price"]["source"]) if line["is_priced"] else ("", "")
    sent = Cell(figures.tokens(line["gb_per_month"]), line["egress_kind"], "egress / 8 / 10⁹ · seconds a month")
    return (
        Line(
            "Link, by time",
            line["name"],
            "month",
            "link",
            (
                NOTHING,
                _cell(figures.usd(line["fee_usd_per_month"]), kind, source),
                NOTHING,
                *_paid_link(line, "time_usd_per_h", kind, "USD/month · 12 / 8766 h"),
            ),
        ),
        Line(
            "Link, by volume",
            f"{line['name']}, a month",
            "GB",
            "link",
            (
                sent,
                _cell(figures.price(line["usd_per_gb"]), kind, source),
                NOTHING,
                *_paid_link(line, "volume_usd_per_h", kind and line["egress_kind"], "egress · USD/GB"),
            ),
        ),
    )


def _paid_link(line: dict[str, Any], part: str, kind: str, formula: str) -> tuple[Cell, Cell]:
    return _paid(paid(line[part]), kind, formula) if line["is_priced"] else (NOTHING, NOTHING)


def _power(drawn: dict[str, Any], formulas: dict[str, str]) -> Line:
    each = Cell(figures.price(drawn["usd_per_kwh"]), "user", f"PUE {drawn['pue']:g}")
    usd = _paid(drawn, "user", formulas["power_usd_per_h"])
    return Line("Power", "of chips at TDP", "kWh", "", (NOTHING, each, NOTHING, *usd))


def _total(bill: Document) -> Line:
    totals, kinds, formulas = bill["totals"], bill["evidence"], bill["formulas"]
    cells = (
        Cell(str(totals["gpus"]), kinds["gpus"], "sum of GPUs"),
        NOTHING,
        _cell(_kilo(totals["power_w"]), kinds["power_w"], formulas["power_w"]),
        *_paid(totals, kinds["usd_per_h"], formulas["usd_per_h"]),
    )
    return Line("All", "", "", "", cells)
