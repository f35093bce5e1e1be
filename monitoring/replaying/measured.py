"""What a recording measured, in the figures that a simulation of it has: to see how far the one is from the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from monitoring.recording import Buckets, Recording, summed

PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
ALL = "all"


def measured(recording: Recording) -> dict[str, Any]:
    """Means over the intervals that were measured, and percentiles; None where nothing was."""
    rates = {route: _mean(values) for route, values in recording.requests_rps.items()}
    total = _mean(recording.rates_rps)
    link, waiting = recording.link, summed(list(recording.queued_requests.values()))
    advised = recording.recommended_threshold_tokens
    return {
        "interval_s": recording.interval_s,
        "intervals": recording.intervals,
        "not_measured": sum(value is None for value in recording.rates_rps),
        "requests": None if total is None else round(total * recording.duration_s),
        "rate_rps": total,
        "offload_fraction": (rates.get("remote") or 0.0) / total if total else None,
        "egress_bps": _mean(link.egress_bps) if link else None,
        "link": link.name if link else None,
        "capacity_bps": _spread(link.capacity_bps) if link else None,
        "resent_fraction": _mean(link.resent_fraction) if link else None,
        "threshold_tokens": _spread(recording.threshold_tokens),
        "recommended_threshold_tokens": _spread(advised),
        "recommended_share": len(_known(advised)) / len(advised) if advised else None,
        "instances": {role: _spread(values) for role, values in recording.instances.items()},
        "waiting": _spread(waiting),
        "ttft_s": by_route(recording.ttft_s),
        "uncached_tokens": by_route(recording.uncached_tokens),
    }


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _mean(values: Sequence[float | None]) -> float | None:
    known = _known(values)
    return float(np.mean(known)) if known else None


def _spread(values: Sequence[float | None]) -> dict[str, float] | None:
    known = _known(values)
    if not known:
        return None
    middle, mean = float(np.median(known)), float(np.mean(known))
    return {"least": min(known), "median": middle, "mean": mean, "most": max(known)}


def by_route(histograms: Mapping[Any, Buckets]) -> dict[str, dict[str, Any]]:
    """Percentiles of each route, and of all where their buckets are the same: each with the bucket that it lies in."""
    found: dict[str, dict[str, Any]] = {str(route): _percentiles(buckets) for route, buckets in histograms.items()}
    if len({tuple(each.bounds) for each in histograms.values()}) == 1:
        counts = np.sum([each.counts for each in histograms.values()], axis=0)
        bounds = next(iter(histograms.values())).bounds
        found[ALL] = _percentiles(Buckets(bounds=bounds, counts=counts.tolist()))
    return found


def _percentiles(buckets: Buckets) -> dict[str, Any]:
    return {"count": sum(buckets.counts)} | {name: percentile(buckets, share) for name, share in PERCENTILES.items()}


def percentile(buckets: Buckets, share: float) -> dict[str, float | None] | None:
    """The value below which a share lies, evenly within its bucket, and that bucket's bounds.

    Beyond the last bound there is no value, and no upper end. None of no observation.
    """
    counts, bounds = np.array(buckets.counts), buckets.bounds
    if not counts.sum() > 0:
        return None
    reached = np.cumsum(counts)
    at = int(np.searchsorted(reached, share * counts.sum()))
    low = bounds[at - 1] if at else 0.0
    if at >= len(bounds):
        return {"value": None, "low": low, "high": None}
    inside = (share * counts.sum() - (reached[at - 1] if at else 0.0)) / counts[at]
    return {"value": float(low + (bounds[at] - low) * inside), "low": low, "high": bounds[at]}
