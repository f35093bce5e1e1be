"""The front of cost, rate and TTFT, as people read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from frontend import figures
from frontend.optimiser.answer import GIVEN, Compared, compared, fleet, given

type Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """A point in the table: its place among the points, and its figures."""

    at: int
    rate: str
    usd_per_h: str
    seconds: str
    fleet: str


@dataclass(frozen=True, slots=True)
class Point:
    """A point that was chosen, beside what is deployed now."""

    at: int
    title: str
    fleet: str
    compared: Compared


@dataclass(frozen=True, slots=True)
class Front:
    """What the page shows of a result."""

    headline: str
    percentile: str
    rows: tuple[Row, ...]
    chart: Document


def front(result: Document) -> Front:
    """The page of a result."""
    points, percentile = result["points"], result["percentile"]
    return Front(
        headline=headline(result),
        percentile=f"P{percentile}",
        rows=tuple(
            Row(
                at,
                figures.rate(point["rate_rps"]),
                figures.usd(point["cost"]["usd_per_h"]),
                figures.seconds(_seconds(point, percentile)),
                fleet(point),
            )
            for at, point in enumerate(points)
        ),
        chart=chart(result),
    )


def headline(result: Document) -> str:
    """From the cheapest to the dearest; the refusal where there is nothing to buy."""
    points = result["points"]
    if not points:
        return str(result["refusal"])
    rates = {point["rate_rps"] for point in points}
    costs = [point["cost"]["usd_per_h"] for point in points]
    said = f"{len(points)} deployments" if len(points) > 1 else "One deployment"
    return (
        f"{said} that no other beats in cost, rate and P{result['percentile']} of TTFT: "
        f"{figures.rate(min(rates))} to {figures.rate(max(rates))} req/s for {figures.usd(min(costs))} to "
        f"{figures.usd(max(costs))} USD/h."
    )


def chart(result: Document) -> dict[str, Any]:
    """The numbers that are drawn: USD an hour over seconds, a curve for each rate."""
    percentile = result["percentile"]
    return {
        "percentile": percentile,
        "points": [
            {
                "at": at,
                "rate_rps": point["rate_rps"],
                "usd_per_h": point["cost"]["usd_per_h"],
                "seconds": _seconds(point, percentile),
                "fleet": fleet(point),
            }
            for at, point in enumerate(result["points"])
        ],
        "provenance": {"kind": result["provenance"], "source": "the weakest kind of figure that it rests on"},
    }


def point(result: Document, question: Document, said: str | None) -> Point | None:
    """The point whose place was said; None where there is none."""
    at = place(result, said)
    if at is None:
        return None
    found = result["points"][at]
    columns = {"this point": found, GIVEN: given(result, question)}
    return Point(at, title(result, at), fleet(found), compared(columns))


def place(result: Document, said: str | None) -> int | None:
    """Of a point, as an address has it."""
    points = result.get("points") or []
    is_there = said is not None and said.isascii() and said.isdecimal() and len(said) < 6 and int(said) < len(points)
    return int(said) if said is not None and is_there else None


def title(result: Document, at: int) -> str:
    """What a point is of: `2.500 req/s, 96.00 USD/h, P90 of TTFT 1.93 s`."""
    found, percentile = result["points"][at], result["percentile"]
    seconds = figures.seconds(_seconds(found, percentile))
    rate, usd = figures.rate(found["rate_rps"]), figures.usd(found["cost"]["usd_per_h"])
    return f"{rate} req/s, {usd} USD/h, P{percentile} of TTFT {seconds} s"


def _seconds(point: Document, percentile: int) -> float | None:
    seconds: float | None = point["ttft_loaded_s"][f"p{percentile}"]
    return seconds
