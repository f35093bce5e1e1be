"""Discrete-event simulation of a deployment, request by request.

`run` computes a replication and is compiled by Numba: it is imported where that is wanted, and not from here.
"""

from planner.engine.simulation.replication import Replication
from planner.engine.simulation.report import Estimate, Goodput, Report, Series, Times, Waits, goodput, report
from planner.engine.simulation.settings import (
    Capacity,
    Experiment,
    Order,
    Transport,
    brown_out,
    constant,
    recorded,
)

__all__ = [
    "Capacity",
    "Estimate",
    "Experiment",
    "Goodput",
    "Order",
    "Replication",
    "Report",
    "Series",
    "Times",
    "Transport",
    "Waits",
    "brown_out",
    "constant",
    "goodput",
    "recorded",
    "report",
]
