"""A replication as plain values, as a part of a job keeps it, and back; not a bit is lost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from planner import evaluation
from planner.engine.simulation import Replication
from planner.engine.simulation.layout import BIN, SUMS

ARRAYS = ("mean_at", "growth_rps", "sent_bits", "resent_bits", "possible_bits", "histograms", "tpot")
TABLES = {"sums": SUMS, "series": BIN}
"""Structured arrays and what their records are."""


def as_json(replication: Replication) -> dict[str, Any]:
    """The replication without its requests, ready for JSON."""
    found: dict[str, Any] = {}
    for field in fields(Replication):
        value = getattr(replication, field.name)
        if field.name in TABLES:
            found[field.name] = {name: evaluation.numbers(value[name]) for name in value.dtype.names}
        elif field.name in ARRAYS:
            found[field.name] = value.tolist()
        elif field.name != "record":
            found[field.name] = value
    return found


def from_json(plain: Mapping[str, Any]) -> Replication:
    """The replication that `as_json` wrote down."""
    values = dict(plain)
    for name, dtype in TABLES.items():
        columns = values[name]
        table = np.zeros(np.shape(next(iter(columns.values()))), dtype=dtype)
        for column, numbers in columns.items():
            # A threshold beyond every length is infinite, which JSON does not know.
            table[column] = [math.inf if number is None else number for number in numbers]
        values[name] = table
    for name in ARRAYS:
        values[name] = np.array(values[name])
    return Replication(**values, record=np.zeros(0))
