"""Answers of a server that speaks PromQL (Prometheus, Thanos, Mimir, VictoriaMetrics) to readings.

Format: https://prometheus.io/docs/prometheus/latest/querying/api/ (instant and range queries).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import msgspec

from monitoring.readings import Kind, Malformed, Point, Reading, Rejected
from monitoring.signals import SIGNALS
from monitoring.sources.exposition import LATEST_S
from monitoring.sources.fetching import SHOWN, Answer, Failed
from monitoring.sources.packed import MOST_POINTS
from monitoring.sources.remote_write import folded
from monitoring.sources.scrape import refusal

ACCEPT = "application/json"
INSTANT, RANGE = "/api/v1/query", "/api/v1/query_range"
COUNTERS = ("_total", "_bucket", "_sum", "_count")


@dataclass(frozen=True, slots=True)
class Query:
    """What to ask, and what the answer is.

    With a `signal`, each series of the answer times `scale` is that signal in its unit, with the labels that it has.
    Else the mappings decide by the metric's name: the one in the answer, or `name` where the expression leaves none.
    Series that end as counters do are counters; `kind` says otherwise.
    """

    query: str
    signal: str | None = None
    scale: float = 1.0
    name: str | None = None
    kind: Literal["counter", "gauge"] | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """Of a range query."""

    start_ms: int
    end_ms: int
    step_ms: int


class _Series(msgspec.Struct):
    metric: dict[str, str]
    value: tuple[float, str] | None = None
    values: list[tuple[float, str]] = []
    histogram: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    histograms: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _Data(msgspec.Struct):
    resultType: str
    result: msgspec.Raw


class _Answer(msgspec.Struct):
    status: str
    data: _Data | None = None
    error: str = ""


_answer = msgspec.json.Decoder(_Answer)
_vector = msgspec.json.Decoder(list[_Series])
_scalar = msgspec.json.Decoder(tuple[float, str])


def instant(query: Query, ts_ms: int) -> tuple[str, dict[str, str]]:
    """Path and parameters by which to ask for the values at a time."""
    return INSTANT, {"query": query.query, "time": _seconds(ts_ms)}


def over(query: Query, window: Window) -> tuple[str, dict[str, str]]:
    """Path and parameters by which to ask for the values over a window, both ends among them."""
    bounds = {"start": _seconds(window.start_ms), "end": _seconds(window.end_ms), "step": _seconds(window.step_ms)}
    return RANGE, {"query": query.query, **bounds}


def _seconds(ms: int) -> str:
    return f"{ms / 1000:.3f}"


def windows(since_ms: int, until_ms: int, step_ms: int, longest_ms: int) -> Iterator[Window]:
    """From `since_ms` to before `until_ms`, none longer than `longest_ms`, so that no answer is too large."""
    steps = max(longest_ms // step_ms - 1, 0)
    start_ms = since_ms
    while start_ms < until_ms:
        end_ms = min(start_ms + steps * step_ms, until_ms - 1)
        yield Window(start_ms, end_ms, step_ms)
        start_ms += (steps + 1) * step_ms


def readings(answer: Answer, query: Query) -> tuple[list[Reading], list[Rejected]]:
    """The series of an answer; the parts of a histogram as one. Raises Failed for what is none, or an error."""
    found: list[Reading] = []
    rejected: list[Rejected] = []
    points = 0
    for index, series in enumerate(_result(answer)):
        points += max(len(series.values), 1)
        if points > MOST_POINTS:
            raise Failed(f"answers more than {MOST_POINTS} values: ask for less")
        try:
            reading = _reading(series, query)
        except Malformed as problem:
            rejected.append(Rejected(index, str(problem)))
        else:
            if reading.points:
                found.append(reading)
    return (folded(found) if query.signal is None else found), rejected


def _result(answer: Answer) -> list[_Series]:
    try:
        told = _answer.decode(answer.text())
        if told.status == "success" and told.data is not None:
            return _series(told.data)
    except (msgspec.DecodeError, RecursionError) as problem:
        if answer.status == 200:
            raise Failed(f"does not answer as Prometheus' query API does: {str(problem)[:SHOWN]}") from None
        raise Failed(refusal(answer)) from None
    raise Failed(f"{refusal(answer)}: {told.error[:SHOWN]}")


def _series(data: _Data) -> list[_Series]:
    if data.resultType in ("vector", "matrix"):
        return _vector.decode(data.result)
    if data.resultType == "scalar":
        return [_Series({}, _scalar.decode(data.result))]
    raise Failed(f"answers a {data.resultType[:SHOWN]}: the query must give a vector or a scalar")


def _reading(series: _Series, query: Query) -> Reading:
    """Without points where nothing but NaN was recorded. Raises Malformed."""
    labels = dict(series.metric)
    name = query.signal or query.name or labels.get("__name__", "")
    labels.pop("__name__", None)
    if not name:
        raise Malformed("the series has no name: give one, or a signal")
    if series.histogram is not msgspec.UNSET or series.histograms is not msgspec.UNSET:
        raise Malformed(f"{name[:80]}: native histograms are not read here: ask for classic ones")
    told = series.values if series.value is None else [series.value]
    if not all(0 < ts_s < LATEST_S for ts_s, _ in told):
        raise Malformed(f"{name[:80]}: a value has no time")
    values = [(ts_s, _number(name, text) * query.scale) for ts_s, text in told]
    points = tuple([Point(round(ts_s * 1000), value) for ts_s, value in values if not math.isnan(value)])
    return Reading(name, labels, _kind(name, query), points)


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise Malformed(f"{name[:80]}: {text[:80]!r} is no number") from None
    if math.isinf(value):
        raise Malformed(f"{name[:80]}: a value is infinite")
    return value


def _kind(name: str, query: Query) -> Kind:
    if query.signal is not None:
        return SIGNALS[query.signal].kind
    return query.kind or ("counter" if name.endswith(COUNTERS) else "untyped")
