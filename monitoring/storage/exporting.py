"""Samples out, as they came, or rollups as they are stored: one line each, or as columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet as files

from monitoring.models import Series
from monitoring.storage import histograms, query, tables
from monitoring.storage.query import Window

_TEXT, _WHOLE, _NUMBER, _NUMBERS = pa.string(), pa.int64(), pa.float64(), pa.list_(pa.float64())
_HEAD = [("source", _TEXT), ("signal", _TEXT), ("kind", _TEXT), ("labels", _TEXT), ("ts_ms", _WHOLE)]
_TAIL = [("bounds", _NUMBERS), ("counts", _NUMBERS)]
_SAMPLES = pa.schema([*_HEAD, ("value", _NUMBER), ("start_ms", _WHOLE), *_TAIL])
_ROLLUPS = pa.schema(
    [*_HEAD, *((name, _NUMBER) for name in ("min", "max", "sum", "count", "last")), ("span_ms", _WHOLE), *_TAIL]
)


def lines(series: Iterable[Series], asked: Window) -> Iterator[tuple[Any, ...]]:
    """Headings, then every sample or rollup; a counter's value is the cumulative one, lists are JSON."""
    yield tuple(_types(asked).names)
    for each in series:
        for row in _rows(each, asked):
            bounds, counts = row[-2:]
            yield *row[:-2], "" if bounds is None else json.dumps(bounds), "" if counts is None else json.dumps(counts)


def parquet(series: Iterable[Series], asked: Window) -> bytes:
    """The same as a Parquet file, with lists as lists."""
    types = _types(asked)
    rows = [row for each in series for row in _rows(each, asked)]
    columns = list(zip(*rows, strict=True)) or [()] * len(types)
    held = pa.table([pa.array(column, field.type) for column, field in zip(columns, types, strict=True)], schema=types)
    out = pa.BufferOutputStream()
    files.write_table(held, out)
    return bytes(out.getvalue().to_pybytes())


def _types(asked: Window) -> pa.Schema:
    return _ROLLUPS if asked.resolution_s else _SAMPLES


def _rows(series: Series, asked: Window) -> Iterator[tuple[Any, ...]]:
    labels = json.dumps(series.labels, sort_keys=True, ensure_ascii=False)
    head = (series.source.name, series.signal, series.kind, labels)
    if asked.resolution_s:
        for ts_ms, low, high, total, count, last, _, span_ms, counts in query.rollups(series, asked):
            yield *head, ts_ms, low, high, total, count, last, span_ms, series.bounds, _numbers(counts)
        return
    for ts_ms, value, began_ms, counts in tables.samples(series.pk, asked.start_ms, asked.end_ms):
        if ts_ms >= asked.start_ms:  # the one before the window comes along
            told = None if began_ms in (None, -1) else began_ms
            yield *head, ts_ms, value, told, series.bounds, _numbers(counts)


def _numbers(counts: Any) -> list[float] | None:
    return np.frombuffer(bytes(counts), histograms.DOUBLE).tolist() if counts else None
