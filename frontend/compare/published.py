"""The case study's comparison against what the paper prints of it, and why the two differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from frontend import comparison, figures
from planner import catalog, scenario
from planner.comparing.equal import rescaled
from planner.comparing.reading import Shown
from planner.comparing.table import table
from planner.scenario import SHIPPED, Scenario

PUBLISHED_AT = "case-study-prfaas-pd"
HOMOGENEOUS = "case-study-homogeneous"


@dataclass(frozen=True, slots=True)
class EqualCost:
    """The gain for the same money: ours in the form that is shown, and the one that is printed."""

    ours: str
    published: str
    difference: str
    ratio: str
    """Between the prices of the two chips."""
    homogeneous: str
    """What the other one's deployment is for the money."""


@dataclass(frozen=True, slots=True)
class Published:
    """Table 6 beside ours, and the gain at equal cost."""

    table: comparison.Comparison
    equal_cost: EqualCost | None
    source: str


def of(shown: Shown) -> Published | None:
    """What is printed of the scenarios; None unless they are the case study's, unchanged."""
    given = shown.given
    if set(given.names) != set(SHIPPED) or not all(map(_is_shipped, given.scenarios)):
        return None
    return Published(comparison.comparison(given.comparison.form), _equal_cost(shown), catalog.published()["source"])


def _is_shipped(given: Scenario) -> bool:
    """Whether all that a result rests on is as published; prices are nobody's but the reader's."""
    return _plain(given.raw) == _plain(scenario.load(given.name).raw)


def _plain(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key not in ("prices", "provenance", "title")}


def _equal_cost(shown: Shown) -> EqualCost | None:
    """PrfaaS-PD over the best homogeneous deployment for its money, at the prices that are shown."""
    given = shown.given
    usd = {price.name: price.usd_per_gpu_hour for each in given.scenarios for price in each.parsed.prices}
    if "h200" not in usd or not usd.get("h20"):
        return None
    asked = given.rebased(PUBLISHED_AT, "cost")
    again, reasons = rescaled(asked)
    found = table(Shown(asked, again, reasons))
    values = dict(zip(given.names, found["metrics"][0]["values"], strict=True))
    other = next(each for each in found["scenarios"] if each["name"] == HOMOGENEOUS)
    gain, printed = values[PUBLISHED_AT]["value"] / values[HOMOGENEOUS]["value"], catalog.published()["equal_cost_gain"]
    counts = other["instances"]
    return EqualCost(
        ours=figures.ratio(gain),
        published=f"{printed:.2f}",
        difference=figures.difference(gain, printed),
        ratio=f"{usd['h200'] / usd['h20']:.3g}",
        homogeneous=f"{counts['prefill']:g} + {counts['decode']:g} instances, "
        f"{figures.rate(values[HOMOGENEOUS]['value'])} req/s",
    )
