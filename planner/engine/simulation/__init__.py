"""Discrete-event simulation of a deployment, request by request.

`run` computes a replication and is compiled by Numba: it is imported where that is wanted, and not from here.
"""

from planner.engine.simulation.options import (
    CacheRouting,
    Caching,
    Choice,
    Decoding,
    Order,
    Path,
    Prefill,
    Transport,
)
from planner.engine.simulation.replication import Replication
from planner.engine.simulation.report import Estimate, Goodput, Report, Series, Times, Waits, goodput, report
from planner.engine.simulation.settings import Experiment, Track

__all__ = [
    "CacheRouting",
    "Caching",
    "Choice",
    "Decoding",
    "Estimate",
    "Experiment",
    "Goodput",
    "Order",
    "Path",
    "Prefill",
    "Replication",
    "Report",
    "Series",
    "Times",
    "Track",
    "Transport",
    "Waits",
    "goodput",
    "report",
]
