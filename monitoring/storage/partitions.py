"""Samples by day: on PostgreSQL a partition each, dropped whole; elsewhere there is one table."""

from __future__ import annotations

import numpy as np
from django.db import connection
from numpy.typing import NDArray

DAY_MS = 86_400_000


def ensure(ts_ms: NDArray[np.int64], there: set[int]) -> None:
    """Makes the partitions of the days of some samples; `there` are those that the caller knows of."""
    if connection.vendor != "postgresql" or not ts_ms.size:
        return
    first, last = int(ts_ms.min()) // DAY_MS, int(ts_ms.max()) // DAY_MS
    for day in range(first, last + 1):
        if day not in there:
            _make(day)
            there.add(day)


def name(day: int) -> str:
    """Of the partition of a day, counted from 1970."""
    return f"monitoring_sample_{day}"


def _make(day: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"CREATE TABLE IF NOT EXISTS {name(day)} PARTITION OF monitoring_sample "
            f"FOR VALUES FROM ({day * DAY_MS}) TO ({(day + 1) * DAY_MS})"
        )


def days() -> list[int]:
    """That have a partition, the oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT child.relname FROM pg_inherits JOIN pg_class child ON child.oid = inhrelid "
            "JOIN pg_class parent ON parent.oid = inhparent WHERE parent.relname = 'monitoring_sample'"
        )
        found = [str(each).removeprefix(name(0)[:-1]) for (each,) in cursor.fetchall()]
    return sorted(int(day) for day in found if day.isdigit())


def drop(day: int) -> None:
    """Removes all samples of a day at once."""
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {name(day)}")
