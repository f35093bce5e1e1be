"""What can be varied to find where two deployments tie: words, units and a range to start with."""

from __future__ import annotations

from dataclasses import dataclass

from frontend.catalogue.units import GBPS, PLAIN, Unit


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter in people's unit; `lowest` and `highest` are in it too."""

    title: str
    unit: Unit
    lowest: str
    highest: str
    help: str

    @property
    def scale(self) -> float:
        """People's unit, in the stored one."""
        return float(self.unit.scale)


TIMES = Unit("×")
PARAMETERS = {
    "price_ratio": Parameter(
        "Price ratio",
        TIMES,
        "1",
        "5",
        "A GPU-hour of the PrfaaS hardware over one of the PD hardware, which keeps its price.",
    ),
    "link_usd_per_gb": Parameter("Link price by volume", Unit("USD/GB"), "0", "0.02", "Of 10⁹ bytes that cross it."),
    "bandwidth_bps": Parameter("Link bandwidth", GBPS, "1", "200", "What the link carries."),
    "length_factor": Parameter(
        "Prompt length", TIMES, "0.2", "4", "Every prompt so many times as long, within the same bounds."
    ),
    "kv_factor": Parameter(
        "KVCache size", TIMES, "0.1", "20", "KVCache so many times as large, with more or fewer full-attention layers."
    ),
}
UNKNOWN = Parameter("", PLAIN, "", "", "")
