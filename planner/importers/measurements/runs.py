"""From a benchmark's rows to runs as the catalogue stores them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from math import floor, log2
from statistics import fmean
from typing import Any

import numpy as np

from planner.importers.profiles.points import CELLS_AN_OCTAVE
from planner.importers.profiles.rows import Row, given

MOST_RUNS = 2_000
LEAST_REQUESTS = {50: 2, 90: 10, 99: 100}
"""Fewer requests than this have no such percentile: it would be the slowest of them."""
type Run = dict[str, Any]


def runs_of(rows: Sequence[Row]) -> list[Run]:
    """A run for every mean of the file; single requests are joined by length, load and cached length."""
    means = [_mean(row) for row in rows if not row.per_request]
    singles = sorted((row for row in rows if row.per_request), key=_cell)
    return [*means, *(_joined(list(group)) for _, group in groupby(singles, key=_cell))]


def _mean(row: Row) -> Run:
    return {
        "input_tokens": row.input_tokens,
        **_sent(row),
        **given(requests=row.requests, ttft_mean_s=row.ttft_s, tpot_s=row.tpot_s),
        **row.more,
    }


def _sent(row: Row) -> Run:
    """What went in, without what a file does not say, or says as none."""
    in_flight = 1.0 if row.alone else row.concurrency
    return given(
        cached_tokens=row.cached_tokens,
        output_tokens=row.output_tokens if (row.output_tokens or 0) >= 1 else None,
        concurrency=in_flight if (in_flight or 0) >= 1 else None,
        rate_rps=row.requested_rate_rps,
    )


def _cell(row: Row) -> tuple[float, ...]:
    """Lengths within a quarter of a doubling, cached ones too, at one load."""
    sizes = (row.input_tokens, max(row.cached_tokens or 0.0, 1.0))
    cells = (floor(CELLS_AN_OCTAVE * log2(size)) for size in sizes)
    return (*cells, row.concurrency or 0.0, row.requested_rate_rps or 0.0)


def _joined(rows: Sequence[Row]) -> Run:
    """The mean and the percentiles of single requests."""
    times = [row.ttft_s for row in rows]
    cached = _mean_of(row.cached_tokens for row in rows)
    ranks = [rank for rank, least in LEAST_REQUESTS.items() if len(times) >= least]
    return {
        "input_tokens": fmean(row.input_tokens for row in rows),
        **_sent(rows[0]),
        **given(cached_tokens=cached, output_tokens=_mean_of(row.output_tokens for row in rows)),
        "requests": len(rows),
        "ttft_mean_s": fmean(times),
        **{f"ttft_p{rank}_s": float(np.quantile(times, rank / 100)) for rank in ranks},
        **given(tpot_s=_mean_of(row.tpot_s for row in rows)),
    }


def _mean_of(values: Iterable[float | None]) -> float | None:
    there = [value for value in values if value]
    return fmean(there) if there else None
