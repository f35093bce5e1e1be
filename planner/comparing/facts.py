"""What is known of one deployment of a comparison: what it carries, costs and draws, at its limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from planner import evaluation
from planner.comparing import costs
from planner.comparison import Asked
from planner.documents.fields import PROVENANCE_KINDS
from planner.engine.cost import Cost
from planner.engine.lengths import mean
from planner.engine.priced import Prices, cost
from planner.scenario import Scenario
from planner.scenario.build import deployment


@dataclass(frozen=True, slots=True)
class Facts:
    """A deployment at Λ_max. Costs are None where a price is not known, watts where the power of a chip is not."""

    scenario: Scenario
    result: dict[str, Any]
    """See `evaluation.result_document`."""
    chips: Cost | None
    power: Cost | None
    drawn_w: float | None
    gpus: float
    input_tokens: float
    output_tokens: float
    """Mean of a request, as users send and receive them."""
    price_kind: str
    """The weakest kind of evidence among the prices; empty where there are none."""
    power_kind: str
    """Of what the chips draw."""
    electricity_kind: str
    """Of what their power costs; empty where it is in the price of a GPU-hour."""

    @property
    def paid_kind(self) -> str:
        """The weakest evidence under all that is paid."""
        return weaker(self.price_kind, self.electricity_kind)

    @property
    def usd_per_h(self) -> float | None:
        """Chips, power and link."""
        if self.chips is None or self.power is None:
            return None
        return self.chips.usd_per_h + self.power.usd_per_h

    @property
    def lambda_max_rps(self) -> float:
        """What it carries."""
        return float(self.result["lambda_max_rps"])


def facts(asked: Asked, given: Scenario) -> Facts:
    """Everything that the table says of a deployment."""
    deployed, result = deployment(given), evaluation.evaluate(given, asked.comparison.form)
    traffic, egress_bps = given.parsed.traffic, float(result["egress_bps"])

    def sized(each: Prices | None) -> Cost | None:
        return None if each is None else cost(deployed, each, egress_bps)

    drawn = sized(costs.draws_w(asked, given))
    power_kind = _weakest(asked.provenance(f"draws.{each.hardware.name}")["kind"] for each in given.parsed.clusters)
    return Facts(
        scenario=given,
        result=result,
        chips=sized(costs.chip_prices(given)),
        power=sized(costs.power_prices(asked, given)),
        drawn_w=None if drawn is None else drawn.usd_per_h,
        gpus=cost(deployed, costs.gpus(given), 0.0).usd_per_h,
        input_tokens=mean(traffic.input_tokens.lengths()),
        output_tokens=traffic.mean_output_tokens(),
        price_kind=_weakest(given.provenance(path)["kind"] for path in _price_paths(given)),
        power_kind=power_kind,
        electricity_kind=weaker(power_kind, asked.provenance("power")["kind"]) if asked.comparison.power else "",
    )


def _price_paths(given: Scenario) -> Iterator[str]:
    for price in given.parsed.prices:
        yield f"prices.{price.name}"
    for link in given.parsed.links:
        if link.price is not None:
            yield f"links.{link.name}.price"


def _weakest(kinds: Iterator[str]) -> str:
    return max(kinds, key=PROVENANCE_KINDS.index, default="")


def weaker(*kinds: str) -> str:
    """The weakest of kinds of evidence; an empty one says nothing."""
    return _weakest(kind for kind in kinds if kind)
