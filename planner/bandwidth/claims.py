"""What large prefill clusters would push out, from published KV throughput (equation 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from planner import catalog
from planner.engine.throughput import egress_demand

FLEETS = ((512, 32768), (512, 131072), (10_000, 131072))
"""GPUs, and the length in tokens of every request: the sizes that the paper discusses (section 2.3)."""


@dataclass(frozen=True, slots=True)
class Demand:
    """One model's egress in bit/s, fleet by fleet, each with the Φ_kv in bit/s that it rests on."""

    title: str
    attention: str
    kv_rate_bps: tuple[float, ...]
    egress_bps: tuple[float, ...]


def demands(fleets: Sequence[tuple[int, int]] = FLEETS) -> list[Demand]:
    """Every model of the published table, the hungriest first."""
    table = catalog.published()["kv_throughput"]
    found = [_demand(table, model, fleets) for model in table["models"]]
    return sorted(found, key=lambda demand: -demand.egress_bps[0])


def _demand(table: dict[str, Any], model: dict[str, Any], fleets: Sequence[tuple[int, int]]) -> Demand:
    rates = tuple(model["bps"][table["tokens"].index(tokens)] for _, tokens in fleets)
    egress = tuple(
        float(egress_demand(gpus, table["gpus_per_instance"], rate))
        for (gpus, _), rate in zip(fleets, rates, strict=True)
    )
    return Demand(model["title"], model["attention"], rates, egress)
