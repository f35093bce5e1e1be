"""What is kept how long: samples for days, rollups the longer the coarser."""

from __future__ import annotations

from django.db import connection

from monitoring.storage import partitions

DAY_MS = partitions.DAY_MS
KEPT_DAYS = {0: 2, 10: 7, 60: 35, 600: 400}
"""By resolution in seconds; 0: the samples themselves."""
CHUNK = 5_000
"""Rows of one DELETE, so that no writer waits long."""


def expire(now_ms: int, kept_days: dict[int, int] | None = None) -> int:
    """Deletes one chunk of each kind of what is kept no longer; how many rows, or partitions. Call it until 0."""
    kept = kept_days or KEPT_DAYS
    removed = _samples(now_ms - kept[0] * DAY_MS)
    return removed + sum(_rollups(each, now_ms - days * DAY_MS) for each, days in kept.items() if each)


def _samples(before_ms: int) -> int:
    if connection.vendor == "postgresql":
        ended = [day for day in partitions.days() if (day + 1) * DAY_MS <= before_ms]
        for day in ended:
            partitions.drop(day)
        return len(ended)
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM monitoring_sample WHERE (series_id, ts_ms) IN "
            "(SELECT series_id, ts_ms FROM monitoring_sample WHERE ts_ms < %s LIMIT %s)",
            [before_ms, CHUNK],
        )
        return int(cursor.rowcount)


def _rollups(resolution_s: int, before_ms: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM monitoring_rollup WHERE (series_id, resolution_s, bucket_ms) IN "
            "(SELECT series_id, resolution_s, bucket_ms FROM monitoring_rollup "
            "WHERE resolution_s = %s AND bucket_ms < %s LIMIT %s)",
            [resolution_s, before_ms, CHUNK],
        )
        return int(cursor.rowcount)
