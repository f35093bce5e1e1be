"""The bill of materials of a scenario: its chips, link and power, what each costs, and on what evidence.

A figure that nobody states is null and named under `missing`, and so is every total that it would enter: no sum passes
over what is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from planner import __version__, evaluation
from planner.catalog import NotInCatalogue
from planner.documents.fields import PROVENANCE_KINDS
from planner.documents.provenance import nearest
from planner.engine.cost import BITS_PER_BYTE, HOURS_PER_MONTH, SECONDS_PER_HOUR, per_million, volume_usd_per_h
from planner.engine.lengths import mean
from planner.procurement import bill_prices
from planner.procurement.bill_prices import Given
from planner.procurement.build import BYTES_PER_GB, rate
from planner.scenario import Scenario
from planner.scenario.document import UNSTATED
from planner.scenario.references import Catalogue
from planner.scenario.schema import Cluster, LinkTable

type Document = dict[str, Any]

FORMULAS = {
    "usd_per_h": "Σ GPUs · USD/GPU-hour + USD/month of the link / (8766 / 12 h) + egress · USD/GB + power · USD/kWh",
    "usd_per_month": "USD/h · 8766 / 12 h",
    "usd_per_million_tokens": "USD/h / (rate · 3600 s/h · mean tokens in and out of a request) · 10⁶",
    "power_w": "Σ GPUs · TDP",
    "power_usd_per_h": "power · PUE / 1000 · USD/kWh",
    "egress_bps": "egress at Λ_max · rate / Λ_max",
}
"""How the figures of a bill are computed."""
RATES = {
    "lambda_max": "which is Λ_max",
    "traffic": "the traffic's rate or Λ_max, whichever is less",
    "given": "the rate asked about or Λ_max, whichever is less",
}
"""Where the rate of a bill comes from."""


@dataclass(frozen=True, slots=True)
class Power:
    """What electricity costs, and the watts that the building takes for each watt of a chip."""

    usd_per_kwh: float
    pue: float = 1.0


@dataclass(frozen=True, slots=True)
class Rate:
    """The requests a second at which a bill is made out, who says so, and the egress in bit/s that they cause."""

    rate_rps: float
    said_by: str
    kind: str
    egress_bps: float
    egress_kind: str


def bill(
    scenario: Scenario,
    catalogue: Catalogue,
    *,
    prices: Given | None = None,
    power: Power | None = None,
    form: str = "exact",
    rate_rps: float | None = None,
) -> Document:
    """The bill of a scenario, SI units and USD.

    `prices` go before the scenario's own, these before the catalogue's cheapest offer; `power` is costed where given.
    It is made out at `rate_rps`, or else at the rate of the scenario's traffic, or at Λ_max, and never above Λ_max.
    """
    result = evaluation.evaluate(scenario, form)
    served = _rate(scenario, result, rate_rps)
    chips = [
        _chips(scenario, cluster, role, count, prices or {}, catalogue)
        for cluster in scenario.parsed.clusters
        for role, count in roles(cluster)
    ]
    links = [_link(scenario, link, served) for link in scenario.parsed.links]
    drawn = _power(chips, power)
    return {
        "scenario": scenario.name,
        "title": scenario.parsed.title,
        "form": form,
        "rate_rps": served.rate_rps,
        "rate_said_by": served.said_by,
        "lambda_max_rps": result["lambda_max_rps"],
        "chips": chips,
        "links": links,
        "power": drawn,
        "totals": _totals(scenario, chips, links, drawn, served.rate_rps),
        "evidence": _evidence(scenario, chips, links, drawn, served)
        | {"rate_rps": served.kind, "lambda_max_rps": result["evidence"]["lambda_max_rps"]},
        "missing": list(_missing(chips, power)),
        "notes": list(_notes(scenario, served, links, drawn)),
        "formulas": FORMULAS,
        "version": __version__,
    }


def roles(cluster: Cluster) -> list[tuple[str, int]]:
    """The roles that instances of a cluster have, and how many have each; none is left out."""
    if cluster.role == "prfaas":
        counts = [("prfaas", cluster.instances)]
    else:
        counts = [("prefill", cluster.prefill_instances or 0), ("decode", cluster.decode_instances or 0)]
    return [(role, count) for role, count in counts if count]


def paid(usd_per_h: float | None) -> Document:
    """USD an hour, and the same a month; null where it is not known."""
    return {"usd_per_h": usd_per_h, "usd_per_month": None if usd_per_h is None else usd_per_h * HOURS_PER_MONTH}


def _rate(scenario: Scenario, result: Document, asked_rps: float | None) -> Rate:
    lambda_max, offered = result["lambda_max_rps"], scenario.parsed.traffic.rate_rps
    wanted, said_by, kind = lambda_max, "lambda_max", result["evidence"]["lambda_max_rps"]
    if asked_rps is not None:
        wanted, said_by, kind = asked_rps, "given", "user"
    elif offered is not None:
        wanted, said_by, kind = offered, "traffic", scenario.provenance("traffic.rate_rps")["kind"]
    rate_rps = min(wanted, lambda_max)
    share = rate_rps / lambda_max if lambda_max > 0 else 0.0
    return Rate(rate_rps, said_by, kind, result["egress_bps"] * share, result["evidence"]["egress_bps"])


# --- lines -------------------------------------------------------------------------------------------------------


def _chips(
    scenario: Scenario, cluster: Cluster, role: str, instances: int, prices: Given, catalogue: Catalogue
) -> Document:
    hardware, gpus = cluster.hardware.name, instances * cluster.gpus_per_instance
    price = bill_prices.of_chip(hardware, prices, scenario, catalogue)
    usd_per_h = None if price is None else gpus * price.usd_per_gpu_hour
    return {
        "cluster": cluster.name,
        "role": role,
        "hardware": hardware,
        "title": cluster.hardware.title,
        "instances": instances,
        "gpus_per_instance": cluster.gpus_per_instance,
        "gpus": gpus,
        "count_kind": scenario.provenance(f"clusters.{cluster.name}.{_counted(role)}")["kind"],
        "price": None if price is None else asdict(price),
        "listed": bill_prices.listed(hardware, catalogue),
        **_tdp(hardware, gpus, catalogue),
        **paid(usd_per_h),
    }


def _counted(role: str) -> str:
    return "instances" if role == "prfaas" else f"{role}_instances"


def _tdp(hardware: str, gpus: int, catalogue: Catalogue) -> Document:
    """Watts of a chip as the catalogue has them, and of all; null where it does not say."""
    try:
        entry: Mapping[str, Any] = catalogue.entry("hardware", hardware)
    except NotInCatalogue:
        entry = {}
    tdp_w = entry.get("tdp_w")
    if tdp_w is None:
        return {"tdp_w": None, "tdp": None, "power_w": None}
    origin = nearest(entry, "tdp_w") or UNSTATED
    return {
        "tdp_w": tdp_w,
        "tdp": {"kind": origin["kind"], "source": origin.get("source", "")},
        "power_w": tdp_w * gpus,
    }


def _link(scenario: Scenario, link: LinkTable, served: Rate) -> Document:
    price = rate(link.price)
    by_volume = float(volume_usd_per_h(price, served.egress_bps))
    bytes_per_month = served.egress_bps / BITS_PER_BYTE * SECONDS_PER_HOUR * HOURS_PER_MONTH
    return {
        "name": link.name,
        "from": link.from_,
        "to": link.to,
        "bandwidth_bps": evaluation.number(link.bandwidth_bps),
        "is_priced": link.price is not None,
        "price": scenario.provenance(f"links.{link.name}.price"),
        "fee_usd_per_month": link.price.usd_per_month if link.price else None,
        "usd_per_gb": link.price.usd_per_gb if link.price else None,
        "egress_bps": served.egress_bps,
        "egress_kind": served.egress_kind,
        "gb_per_month": bytes_per_month / BYTES_PER_GB,
        "time_usd_per_h": price.usd_per_h,
        "volume_usd_per_h": by_volume,
        **paid(price.usd_per_h + by_volume),
    }


def _power(chips: Sequence[Document], power: Power | None) -> Document:
    """Of the chips whose price does not have it already, at TDP."""
    power_w = _sum(line["power_w"] for line in chips)
    if power is None:
        return {"power_w": power_w, "paid_w": None, "usd_per_kwh": None, "pue": None, **paid(None)}
    paid_w = _sum(line["power_w"] for line in chips if not _has_power(line))
    usd_per_h = None if paid_w is None else paid_w * power.pue / 1000 * power.usd_per_kwh
    return {"power_w": power_w, "paid_w": paid_w, **asdict(power), **paid(usd_per_h)}


def _has_power(line: Document) -> bool:
    return bool(line["price"] and line["price"]["has_power"])


def _sum(values: Iterable[float | None]) -> float | None:
    """None where any of them is not known."""
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total


# --- totals and what they rest on --------------------------------------------------------------------------------


def _totals(
    scenario: Scenario, chips: Sequence[Document], links: Sequence[Document], drawn: Document, rate_rps: float
) -> Document:
    powered = [] if drawn["usd_per_kwh"] is None else [drawn]
    usd_per_h = _sum(line["usd_per_h"] for line in (*chips, *links, *powered))
    traffic = scenario.parsed.traffic
    tokens = mean(traffic.input_tokens.lengths()) + traffic.mean_output_tokens()
    a_million = None if usd_per_h is None else evaluation.number(per_million(usd_per_h, rate_rps * tokens))
    return {
        "gpus": sum(line["gpus"] for line in chips),
        "power_w": drawn["power_w"],
        **paid(usd_per_h),
        "usd_per_million_tokens": a_million,
    }


def _evidence(
    scenario: Scenario, chips: Sequence[Document], links: Sequence[Document], drawn: Document, served: Rate
) -> Document:
    """The weakest kind under each total; null for one that is not known."""
    counts = [line["count_kind"] for line in chips]
    powers = [line["tdp"]["kind"] for line in chips if line["tdp"]]
    usd = [*counts, *(line["price"]["kind"] for line in chips if line["price"])]
    usd += [line["price"]["kind"] for line in links if line["is_priced"]]
    usd += [line["egress_kind"] for line in links if line["volume_usd_per_h"]]
    if drawn["usd_per_kwh"] is not None:
        usd += [*powers, "user"]
    tokens = [scenario.provenance(f"traffic.{side}_tokens")["kind"] for side in ("input", "output")]
    return {
        "gpus": _weakest(counts),
        "power_w": _weakest([*counts, *powers]),
        "usd_per_h": _weakest(usd),
        "usd_per_million_tokens": _weakest([*usd, *tokens, served.kind]),
    }


def _weakest(kinds: Iterable[str]) -> str:
    return max(kinds, key=PROVENANCE_KINDS.index, default=PROVENANCE_KINDS[0])


def _missing(chips: Sequence[Document], power: Power | None) -> Iterator[Document]:
    """What totals are null for, each said once, with the remedy."""
    for hardware in dict.fromkeys(line["hardware"] for line in chips if line["price"] is None):
        said = (
            f"Nobody says what {hardware} costs: no total is given. Give its price "
            f"(price={hardware}=USD a GPU-hour), put one into the scenario, or store an offer under Prices."
        )
        yield {"hardware": hardware, "what": "usd_per_gpu_hour", "message": said}
    for hardware, has_power in {line["hardware"]: _has_power(line) for line in chips if line["tdp_w"] is None}.items():
        costed = ", so that its power cannot be costed and no total is given" if power and not has_power else ""
        said = f"The catalogue has no tdp_w of {hardware}: the power of all is not known{costed}."
        yield {"hardware": hardware, "what": "tdp_w", "message": said}


def _notes(scenario: Scenario, served: Rate, links: Sequence[Document], drawn: Document) -> Iterator[str]:
    yield f"Egress and USD per million tokens are at {served.rate_rps:.4g} req/s, {RATES[served.said_by]}."
    for line in links:
        if not line["is_priced"]:
            yield f"No price is given for link {line['name']}: it counts as free, by the month and by the byte."
    if drawn["usd_per_kwh"] is None:
        yield "Power is taken to be in the price of a GPU-hour; give usd_per_kwh to have it costed."
    elif drawn["paid_w"] != drawn["power_w"]:
        yield "Power of chips that are bought is in their price already, and is not costed again."
