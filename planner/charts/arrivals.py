"""Arrival rate over time: as recorded, as the process expects it, and one sample of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from planner.charts.origins import origin
from planner.engine.arrivals import DAY_S, Mmpp2
from planner.entries.traffic import Arrivals, DiurnalArrivals, MmppArrivals, RecordedArrivals, Traffic

RATE_RPS = 1.0
"""Of a traffic that does not say how much of it there is."""
SEED = 1
SAMPLE_BINS = 120
SAMPLE_ARRIVALS = (1200, 60_000)
CYCLES = 6
FEWEST_A_CYCLE = 1e-2
"""Arrivals in a cycle of both states; with fewer, states change so often that no request sees one of them."""
MOST_POINTS = 1500


def arrivals(document: Mapping[str, Any], traffic: Traffic) -> dict[str, Any]:
    """The process at the traffic's rate, or at 1 req/s where it has none; times in seconds."""
    process, rate = traffic.arrivals, traffic.rate_rps or RATE_RPS
    engine = process.engine()
    return {
        "process": process.process,
        "rate_rps": traffic.rate_rps,
        "shown_rps": rate,
        "cv": engine.cv(rate),
        "expected": _expected(process, rate),
        "states": _states(engine, rate) if isinstance(engine, Mmpp2) else None,
        "sample": _sample(process, rate),
        "provenance": origin(document, "arrivals"),
    }


def _expected(process: Arrivals, rate: float) -> dict[str, Any] | None:
    """The rate that is known of every time; None where it is the same at all times."""
    if isinstance(process, DiurnalArrivals):
        at = np.linspace(0.0, DAY_S, 97)
        return {"seconds": at.tolist(), "rate_rps": process.engine().rate_at(at, rate).tolist(), "interval_s": None}
    if isinstance(process, RecordedArrivals):
        return _recorded(process, rate)
    return None


def _recorded(process: RecordedArrivals, rate: float) -> dict[str, Any]:
    """The record at the traffic's rate, neighbouring intervals put together where there are too many to be drawn."""
    group = math.ceil(len(process.rate_rps) / MOST_POINTS)
    engine = process.engine()
    starts = np.arange(0, len(process.rate_rps), group)
    sums = np.add.reduceat(engine.recorded_rps, starts)
    sizes = np.diff(np.append(starts, len(process.rate_rps)))
    return {
        "seconds": (starts * process.interval_s).tolist(),
        "rate_rps": (sums / sizes * (rate / engine.mean_rps)).tolist(),
        "interval_s": group * process.interval_s,
    }


def _states(engine: Mmpp2, rate: float) -> list[dict[str, float]]:
    """Both states: rate, mean stay, and share of all time."""
    whole = sum(engine.sojourns_s)
    return [
        {"rate_rps": each, "sojourn_s": stay, "time_share": stay / whole}
        for each, stay in zip(engine.rates(rate), engine.sojourns_s, strict=True)
    ]


def _sample(process: Arrivals, rate: float) -> dict[str, Any] | None:
    """One run of the process from a fixed seed, counted in equal intervals; None of one that is drawn as a profile."""
    if isinstance(process, DiurnalArrivals | RecordedArrivals):
        return None
    wanted = SAMPLE_ARRIVALS[0]
    if isinstance(process, MmppArrivals):
        cycle = rate * sum(process.sojourn_s)
        if cycle < FEWEST_A_CYCLE:
            return None
        wanted = int(np.clip(CYCLES * cycle, *SAMPLE_ARRIVALS))
    times = process.engine().sample(wanted, rate, np.random.default_rng(SEED))
    interval = float(times[-1]) / SAMPLE_BINS
    counts = np.histogram(times, SAMPLE_BINS, (0.0, float(times[-1])))[0]
    return {
        "arrivals": wanted,
        "interval_s": interval,
        "seconds": (np.arange(SAMPLE_BINS) * interval).tolist(),
        "rate_rps": (counts / interval).tolist(),
    }
