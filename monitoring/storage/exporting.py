"""Samples out, as they came: one line each, or as columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet as files

from monitoring.models import Series
from monitoring.storage import histograms, tables

COLUMNS = ("source", "signal", "kind", "labels", "ts_ms", "value", "start_ms", "bounds", "counts")
_TYPES = pa.schema(
    [
        ("source", pa.string()),
        ("signal", pa.string()),
        ("kind", pa.string()),
        ("labels", pa.string()),
        ("ts_ms", pa.int64()),
        ("value", pa.float64()),
        ("start_ms", pa.int64()),
        ("bounds", pa.list_(pa.float64())),
        ("counts", pa.list_(pa.float64())),
    ]
)


def lines(series: Iterable[Series], start_ms: int, end_ms: int) -> Iterator[tuple[Any, ...]]:
    """Headings, then every sample; a counter's value is the cumulative one, lists are JSON."""
    yield COLUMNS
    for each in series:
        for row in _rows(each, start_ms, end_ms):
            bounds, counts = row[-2:]
            yield *row[:-2], "" if bounds is None else json.dumps(bounds), "" if counts is None else json.dumps(counts)


def parquet(series: Iterable[Series], start_ms: int, end_ms: int) -> bytes:
    """The same as a Parquet file, with lists as lists."""
    rows = [row for each in series for row in _rows(each, start_ms, end_ms)]
    columns = list(zip(*rows, strict=True)) or [()] * len(COLUMNS)
    held = pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, _TYPES, strict=True)], schema=_TYPES
    )
    out = pa.BufferOutputStream()
    files.write_table(held, out)
    return bytes(out.getvalue().to_pybytes())


def _rows(series: Series, start_ms: int, end_ms: int) -> Iterator[tuple[Any, ...]]:
    labels = json.dumps(series.labels, sort_keys=True, ensure_ascii=False)
    head = (series.source.name, series.signal, series.kind, labels)
    for ts_ms, value, began_ms, counts in tables.samples(series.pk, start_ms, end_ms):
        if ts_ms >= start_ms:  # the one before the window comes along
            told = None if began_ms in (None, -1) else began_ms
            numbers = None if counts is None else np.frombuffer(bytes(counts), histograms.DOUBLE).tolist()
            yield *head, ts_ms, value, told, series.bounds, numbers
