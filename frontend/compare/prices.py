"""The prices of a comparison as fields that can be typed over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planner.comparison import Asked
from planner.scenario.document import UNSTATED


@dataclass(frozen=True, slots=True)
class PriceField:
    """A price by the name that the address has for it; `value` is empty where nobody says it."""

    name: str
    label: str
    unit: str
    value: str
    kind: str
    source: str


def fields(asked: Asked) -> list[PriceField]:
    """Of every chip, of electricity, and of every link."""
    return [*_chips(asked), *_power(asked), *_links(asked)]


def _chips(asked: Asked) -> Iterator[PriceField]:
    seen: dict[str, PriceField] = {}
    for each in asked.scenarios:
        known = {price.name: price.usd_per_gpu_hour for price in each.parsed.prices}
        for cluster in each.parsed.clusters:
            chip = cluster.hardware.name
            usd, origin = known.get(chip), each.provenance(f"prices.{chip}")
            seen.setdefault(chip, _field(f"price.{chip}", f"GPU-hour of {chip}", "USD", usd, origin))
    yield from seen.values()


def _power(asked: Asked) -> Iterator[PriceField]:
    power = asked.comparison.power
    origin = asked.provenance("power")
    yield _field("usd_per_kwh", "kWh, where GPUs are owned", "USD", power.usd_per_kwh if power else None, origin)
    yield _field("pue", "PUE of the building", "W/W", power.pue if power else None, origin)


def _links(asked: Asked) -> Iterator[PriceField]:
    for title, each in zip(asked.titles, asked.scenarios, strict=True):
        for link in each.parsed.links:
            origin = each.provenance(f"links.{link.name}.price")
            place, price = f"link.{each.name}", link.price
            by_volume, by_time = (price.usd_per_gb, price.usd_per_month) if price else (None, None)
            yield _field(f"{place}.usd_per_gb", f"Link of {title}, a GB", "USD", by_volume, origin)
            yield _field(f"{place}.usd_per_month", f"Link of {title}, a month", "USD", by_time, origin)


def _field(name: str, label: str, unit: str, value: float | None, origin: dict[str, str]) -> PriceField:
    stated = {"kind": "", "source": ""} if value is None else {**UNSTATED, **origin}
    return PriceField(name, label, unit, "" if value is None else f"{value:.15g}", stated["kind"], stated["source"])
