"""Rows in and out of the two tables that grow, as fast as each database takes them."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from django.db import connection

from monitoring.storage.rollups import Array, Ints, Rows

COLUMNS = (
    "series_id", "resolution_s", "bucket_ms", "min", "max", "sum", "count", "last", "last_ms", "span_ms", "counts",
)  # fmt: skip
KEY = COLUMNS[:3]
_HEADER = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
_END = struct.pack(">h", -1)
# One row of COPY's binary form: five fields, each with its length; start_ms and counts are null (-1).
_SCALAR = np.dtype(
    [("fields", ">i2"), ("l1", ">i4"), ("series", ">i8"), ("l2", ">i4"), ("ts", ">i8"), ("l3", ">i4"), ("value", ">f8"),
     ("l4", ">i4"), ("start", ">i8"), ("l5", ">i4")]
)  # fmt: skip

type Row = tuple[Any, ...]


def insert_scalars(series: Ints, ts_ms: Ints, value: Array, start_ms: Ints) -> None:
    """New samples of gauges and counters; none of them may be there already."""
    if connection.vendor == "postgresql":
        rows = np.zeros(series.size, _SCALAR)
        rows["fields"], rows["l1"], rows["l2"], rows["l3"], rows["l4"], rows["l5"] = 5, 8, 8, 8, 8, -1
        rows["series"], rows["ts"], rows["value"], rows["start"] = series, ts_ms, value, start_ms
        # psycopg's own errors become Django's, as those of `execute` do: they tell a full disk from a wrong value.
        with connection.wrap_database_errors, connection.cursor() as cursor:
            copied = "COPY monitoring_sample (series_id, ts_ms, value, start_ms, counts) FROM STDIN (FORMAT BINARY)"
            with cursor.copy(copied) as copy:
                copy.write(_HEADER + rows.tobytes() + _END)
        return
    columns = series.tolist(), ts_ms.tolist(), value.tolist(), start_ms.tolist()
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO monitoring_sample (series_id, ts_ms, value, start_ms) VALUES (%s, %s, %s, %s)",
            list(zip(*columns, strict=True)),
        )


def insert_histograms(rows: Sequence[Row]) -> None:
    """New samples of histograms: series, time, total, start and counts."""
    marks = ", ".join(["%s"] * 5)
    with connection.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO monitoring_sample (series_id, ts_ms, value, start_ms, counts) VALUES ({marks})",  # noqa: S608
            rows,
        )


def existing(pairs: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
    """Of series and times those that are stored."""
    found: set[tuple[int, int]] = set()
    by_series: dict[int, list[int]] = {}
    for series, ts_ms in pairs:
        by_series.setdefault(series, []).append(ts_ms)
    with connection.cursor() as cursor:
        for series, times in by_series.items():
            marks = ", ".join(["%s"] * len(times))
            cursor.execute(
                f"SELECT ts_ms FROM monitoring_sample WHERE series_id = %s AND ts_ms IN ({marks})",  # noqa: S608
                [series, *times],
            )
            found |= {(series, ts_ms) for (ts_ms,) in cursor.fetchall()}
    return found


def samples(series: int, from_ms: int, to_ms: int) -> list[Row]:
    """Time, value, start and counts of a series' samples in [from, to), and of the one before them, in order."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT ts_ms, value, start_ms, counts FROM monitoring_sample WHERE series_id = %s AND ts_ms < %s "
            "ORDER BY ts_ms DESC LIMIT 1",
            [series, from_ms],
        )
        before = cursor.fetchall()
        cursor.execute(
            "SELECT ts_ms, value, start_ms, counts FROM monitoring_sample WHERE series_id = %s AND ts_ms >= %s "
            "AND ts_ms < %s ORDER BY ts_ms",
            [series, from_ms, to_ms],
        )
        return [*before, *cursor.fetchall()]


def next_after(series: int, ts_ms: int) -> int | None:
    """The time of the first sample after one."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT MIN(ts_ms) FROM monitoring_sample WHERE series_id = %s AND ts_ms > %s", [series, ts_ms])
        (found,) = cursor.fetchone()
    return None if found is None else int(found)


def newest(series: Sequence[int]) -> list[Row]:
    """The last sample of each of the series: series, time, value, start and counts."""
    found: list[Row] = []
    with connection.cursor() as cursor:
        for one in series:
            cursor.execute(
                "SELECT series_id, ts_ms, value, start_ms, counts FROM monitoring_sample WHERE series_id = %s "
                "ORDER BY ts_ms DESC LIMIT 1",
                [one],
            )
            found += cursor.fetchall()
    return found


def last_value(series: int, before_ms: int) -> float:
    """The last value of a gauge before a time, also where only rollups of it are kept; NaN where there is none."""
    with connection.cursor() as cursor:
        for asked in (
            "SELECT value FROM monitoring_sample WHERE series_id = %s AND ts_ms < %s ORDER BY ts_ms DESC LIMIT 1",
            "SELECT last FROM monitoring_rollup WHERE series_id = %s AND bucket_ms < %s AND resolution_s = 600 "
            "ORDER BY bucket_ms DESC LIMIT 1",
        ):
            cursor.execute(asked, [series, before_ms])
            found = cursor.fetchone()
            if found and found[0] is not None:
                return float(found[0])
    return math.nan


def rollup(series: int, resolution_s: int, bucket_ms: int) -> Row | None:
    """One rollup: min, max, sum, count, last, its time, span and counts."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT min, max, sum, count, last, last_ms, span_ms, counts FROM monitoring_rollup "
            "WHERE series_id = %s AND resolution_s = %s AND bucket_ms = %s",
            [series, resolution_s, bucket_ms],
        )
        found: Row | None = cursor.fetchone()
    return found


def upsert(rows: Sequence[Row]) -> None:
    """Rollups in the place of what is there of the same series, resolution and bucket; the columns are COLUMNS."""
    if not rows:
        return
    marks = ", ".join(["%s"] * len(COLUMNS))
    changed = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS if name not in KEY)
    conflict = f"ON CONFLICT ({', '.join(KEY)}) DO UPDATE SET {changed}"
    with connection.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO monitoring_rollup ({', '.join(COLUMNS)}) VALUES ({marks}) {conflict}",  # noqa: S608
            rows,
        )


def upsert_columns(given: Sequence[tuple[int, Rows]]) -> None:
    """The same for rollups of gauges and counters by their resolution; no two of them may be of one place."""
    if connection.vendor != "postgresql":
        for resolution_s, rows in given:
            upsert(plain(rows, resolution_s))
        return
    resolution = np.repeat([resolution_s for resolution_s, _ in given], [rows.series.size for _, rows in given])
    names = ("series", "bucket_ms", *COLUMNS[3:-1])
    columns = {name: np.concatenate([getattr(rows, name) for _, rows in given]) for name in names}
    series, bucket_ms, *values = (_literal(column) for column in columns.values())
    changed = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS if name not in KEY)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO monitoring_rollup ({', '.join(COLUMNS[:-1])}) "  # noqa: S608
            "SELECT series, resolution_s, bucket_ms, NULLIF(low, 'NaN'), NULLIF(high, 'NaN'), total, count, "
            "NULLIF(last, 'NaN'), last_ms, span_ms FROM unnest(%s::bigint[], %s::int[], %s::bigint[], %s::float8[], "
            "%s::float8[], %s::float8[], %s::float8[], %s::float8[], %s::bigint[], %s::bigint[]) AS "
            "given (series, resolution_s, bucket_ms, low, high, total, count, last, last_ms, span_ms) "
            f"ON CONFLICT ({', '.join(KEY)}) DO UPDATE SET {changed}",
            [series, _literal(resolution), bucket_ms, *values],
        )


def _literal(values: Array | Ints) -> str:
    """An array as PostgreSQL reads it."""
    return "{" + ",".join(map(repr, values.tolist())) + "}"


def plain(rows: Rows, resolution_s: int) -> list[Row]:
    """Rollups as the database takes them: null for what is not there."""
    columns = (
        rows.series.tolist(), [resolution_s] * rows.series.size, rows.bucket_ms.tolist(), _nulls(rows.min),
        _nulls(rows.max), rows.sum.tolist(), rows.count.tolist(), _nulls(rows.last), rows.last_ms.tolist(),
        rows.span_ms.tolist(), [None] * rows.series.size,
    )  # fmt: skip
    return list(zip(*columns, strict=True))


def _nulls(values: Array) -> list[float | None]:
    return [value if value == value else None for value in values.tolist()]
