"""What others leave of a link over the day, and what TCP can carry across it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from planner.charts.origins import origin, weakest
from planner.engine.arrivals import DAY_S
from planner.engine.curves import Array
from planner.engine.throughput import BITS_PER_BYTE
from planner.entries.link import Constant, Diurnal, Link, Recorded

type Document = Mapping[str, Any]

WINDOWS_BYTES = (2**20, 4 * 2**20, 16 * 2**20, 64 * 2**20)
"""Receive windows: Linux grows one to 4 or 6 MiB unless it is told otherwise, tuned hosts use 64 MiB and more."""
MSS_BYTES = 1460.0
"""Of Ethernet frames of 1,500 bytes."""
MATHIS_C = math.sqrt(3 / 2)
MOST_POINTS = 1500
MOST_CONNECTIONS = 4096


def of_link(document: Document) -> dict[str, Any]:
    """Charts of a link entry."""
    link = Link.model_validate(document)
    return {"background": _background(document, link), "tcp": _tcp(document, link)}


def window_bound(window_bytes: float, rtt_s: float, connections: ArrayLike = 1.0) -> Array:
    """Bit/s that connections of a window can carry: a window a round trip each. Shape of `connections`."""
    rate: Array = np.asarray(connections, dtype=float) * BITS_PER_BYTE * window_bytes / rtt_s
    return rate


def mathis_bound(loss: float, rtt_s: float, connections: ArrayLike = 1.0, mss_bytes: float = MSS_BYTES) -> Array:
    """Bit/s that loss leaves of Reno-like connections, n · MSS/RTT · C/√p with C = √(3/2); shape of `connections`.

    Mathis, Semke, Mahdavi and Ott, The macroscopic behavior of the TCP congestion avoidance algorithm, ACM CCR 27(3)
    (1997) 67-82, eq. 3. Pessimistic: CUBIC and BBR take loss better than that. `loss` must be positive.
    """
    each = BITS_PER_BYTE * mss_bytes / rtt_s * MATHIS_C / math.sqrt(loss)
    rate: Array = np.asarray(connections, dtype=float) * each
    return rate


def _tcp(document: Document, link: Link) -> dict[str, Any] | None:
    """Bit/s against connections by window and by loss; None where the round-trip time is not known."""
    if not link.rtt_s:
        return None
    count = 2.0 ** np.arange(math.log2(MOST_CONNECTIONS) + 1)
    count = np.unique(np.append(count, link.connections)) if link.connections else count
    fields = ["rtt_s", *(["loss"] if link.loss else [])]
    return {
        "connections": count.tolist(),
        "windows": [
            {"window_bytes": window, "bps": window_bound(window, link.rtt_s, count).tolist()}
            for window in WINDOWS_BYTES
        ],
        "loss_bps": mathis_bound(link.loss, link.rtt_s, count).tolist() if link.loss else None,
        "loss": link.loss,
        "rtt_s": link.rtt_s,
        "mss_bytes": MSS_BYTES,
        "c": MATHIS_C,
        "bandwidth_bps": _finite(link.bandwidth_bps),
        "achieved_bps": link.achieved_bps,
        "chosen_connections": link.connections,
        "provenance": weakest(origin(document, field) for field in fields),
    }


def _background(document: Document, link: Link) -> dict[str, Any] | None:
    """Share of the bandwidth that others use over time; None where nobody says."""
    if link.background is None:
        return None
    seconds, share = _shares(link.background)
    return {
        "kind": link.background.kind,
        "seconds": seconds.tolist(),
        "share": share.tolist(),
        "bandwidth_bps": _finite(link.bandwidth_bps),
        "provenance": origin(document, "background"),
    }


def _shares(background: Constant | Diurnal | Recorded) -> tuple[Array, Array]:
    """Seconds, from midnight UTC or from the beginning of the record, and the share from each on."""
    if isinstance(background, Constant):
        return np.array([0.0, DAY_S]), np.full(2, background.share)
    if isinstance(background, Diurnal):
        at = np.linspace(0.0, DAY_S, 97)
        angle = 2 * np.pi * (at / DAY_S - background.peak_hour / 24)
        return at, np.clip(background.mean_share + background.amplitude * np.cos(angle), 0.0, 1.0)
    group = math.ceil(len(background.share) / MOST_POINTS)
    starts = np.arange(0, len(background.share), group)
    sizes = np.diff(np.append(starts, len(background.share)))
    sums: Array = np.add.reduceat(np.array(background.share, dtype=float), starts)
    return np.asarray(starts * background.interval_s, dtype=float), sums / sizes


def busiest_share(link: Link) -> float:
    """The largest share of the bandwidth that others are known to use."""
    return float(_shares(link.background)[1].max()) if link.background else 0.0


def _finite(bandwidth_bps: float) -> float | None:
    return bandwidth_bps if math.isfinite(bandwidth_bps) else None
