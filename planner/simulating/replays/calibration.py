"""How far the simulation of a window as it was is from what was measured in it: what it may be trusted with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

type Document = Mapping[str, Any]

PERCENTILES = ("p50", "p90", "p99")


def calibration(measured: Document, base: Document) -> list[dict[str, Any]]:
    """Of each quantity that both have: measured, simulated as it was, and the one's difference as a share of the other.

    A percentile was measured to within its bucket, `low` to `high`; `is_within` says whether the simulated one lies in
    it. Beyond the last bucket there is no value, and so no difference.
    """
    found = list(_percentiles((measured.get("ttft_s") or {}).get("all"), base["ttft_s"]))
    found += [
        _told(name, was, base[name]["mean"])
        for name in ("offload_fraction", "egress_bps")
        if (was := measured.get(name)) is not None
    ]
    if waiting := measured.get("waiting"):
        simulated = base["bands"]["waiting"]["mean"]
        found.append(_told("waiting", waiting["mean"], sum(simulated) / len(simulated)))
    return found


def _percentiles(told: Document | None, simulated: Document | None) -> Iterator[dict[str, Any]]:
    if not told or not simulated:
        return
    for name in PERCENTILES:
        if bucket := told.get(name):
            mean, low, high = simulated[name]["mean"], bucket["low"], bucket["high"]
            is_within = low <= mean and (high is None or mean <= high)
            yield _told(f"ttft_{name}_s", bucket["value"], mean, low, high, is_within)


def _told(
    name: str,
    was: float | None,
    simulated: float,
    low: float | None = None,
    high: float | None = None,
    is_within: bool | None = None,
) -> dict[str, Any]:
    return {
        "quantity": name,
        "measured": was,
        "low": low,
        "high": high,
        "simulated": simulated,
        "difference": simulated / was - 1 if was else None,
        "is_within": is_within,
    }
