"""What was seen of a watch's requests over a window, from the rollups: lengths, prefill times, KVCache sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from django.db import connection

from monitoring.models import Series, Watch
from monitoring.storage.histograms import DOUBLE
from monitoring.storage.rollups import MS, Array
from planner.engine.advice import Histogram

LENGTHS, TIMES, BYTES = "uncached_tokens", "prefill_s", "kv_transfer_bytes"
RESOLUTION_S, COARSE_S = 10, 60
FINE_MS = 30 * 60_000
"""Longer windows are read from coarser rollups."""
ROUTER = "router"

type Bounds = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Telemetry:
    """By route, of the engines that prefilled; absent where nobody tells it."""

    start_ms: int
    end_ms: int
    lengths: dict[str, Histogram]
    """Uncached tokens; ..."""
    times: dict[str, Histogram]
    """... and seconds of prefill."""
    kv_bytes: float | None
    """That the remote engines sent."""
    series: int
    """How many it is made of."""


def seen(watch: Watch, start_ms: int, end_ms: int) -> Telemetry:
    """Three queries: which series there are, and what they count."""
    series = _series(watch)
    step_ms = (RESOLUTION_S if end_ms - start_ms <= FINE_MS else COARSE_S) * MS
    sums = _sums(list(series), start_ms // step_ms * step_ms, end_ms, step_ms // MS)
    return Telemetry(
        start_ms=start_ms,
        end_ms=end_ms,
        lengths=_histograms(LENGTHS, series, sums),
        times=_histograms(TIMES, series, sums),
        kv_bytes=_bytes(series, sums),
        series=len(sums),
    )


def _series(watch: Watch) -> dict[int, Series]:
    """Of engines: where they tell nothing, what a router says is of the same requests, but of no prefill."""
    found = [
        each for each in Series.objects.filter(signal__in=(LENGTHS, TIMES, BYTES)).order_by("pk") if _is_of(each, watch)
    ]
    told = {each.signal for each in found if each.labels.get("role") != ROUTER}
    return {each.pk: each for each in found if each.labels.get("role") != ROUTER or each.signal not in told}


def _is_of(series: Series, watch: Watch) -> bool:
    cluster, link = series.labels.get("cluster"), series.labels.get("link")
    of_cluster = not watch.clusters or cluster is None or cluster in watch.clusters
    return of_cluster and (not watch.links or link is None or link in watch.links)


@dataclass(slots=True)
class _Sum:
    """Of a series over the window."""

    total: float = 0.0
    counts: Array | None = None


def _sums(series: Sequence[int], start_ms: int, end_ms: int, resolution_s: int) -> dict[int, _Sum]:
    if not series:
        return {}
    marks = ", ".join(["%s"] * len(series))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT series_id, sum, counts FROM monitoring_rollup WHERE resolution_s = %s AND bucket_ms >= %s "  # noqa: S608
            f"AND bucket_ms < %s AND series_id IN ({marks})",
            [resolution_s, start_ms, end_ms, *series],
        )
        rows = cursor.fetchall()
    found: dict[int, _Sum] = {}
    for each, total, counts in rows:
        one = found.setdefault(each, _Sum())
        one.total += total
        if counts is not None:
            new = np.frombuffer(bytes(counts), DOUBLE)
            one.counts = new if one.counts is None else one.counts + new
    return found


def _histograms(signal: str, series: dict[int, Series], sums: dict[int, _Sum]) -> dict[str, Histogram]:
    """By route, all series as one: at the bounds that all of them have, which loses no request."""
    by_route: dict[str, list[tuple[Bounds, _Sum]]] = {}
    for pk, one in sums.items():
        each = series[pk]
        route = each.labels.get("route")
        if each.signal == signal and route and one.counts is not None and one.counts.sum() > 0:
            by_route.setdefault(route, []).append((tuple(each.bounds or ()), one))
    found = {route: _together(parts) for route, parts in by_route.items()}
    return {route: each for route, each in found.items() if each is not None}


def _together(parts: Sequence[tuple[Bounds, _Sum]]) -> Histogram | None:
    common = set(parts[0][0]).intersection(*(bounds for bounds, _ in parts[1:]))
    bounds = tuple(sorted(bound for bound in common if bound > 0))
    if len(bounds) < 2:
        return None
    counts = np.zeros(len(bounds) + 1)
    for own, one in parts:
        if one.counts is not None:
            at = np.searchsorted(bounds, [*own, np.inf], side="left")
            counts += np.bincount(at, one.counts, minlength=counts.size)
    told = [one.total for _, one in parts]
    return Histogram(bounds, tuple(counts.tolist()), sum(told) if all(each > 0 for each in told) else None)


def _bytes(series: dict[int, Series], sums: dict[int, _Sum]) -> float | None:
    """What crosses to the decoding cluster: what PD-P sends stays within it, and what decode reads was sent already."""
    sent = [one.total for pk, one in sums.items() if series[pk].signal == BYTES and _crosses(series[pk])]
    return sum(sent) if sent else None


def _crosses(series: Series) -> bool:
    role = series.labels.get("role")
    return role == "prfaas" or (role is None and ("link" in series.labels or series.labels.get("route") == "remote"))
