"""Pages in Prometheus' text exposition format, as `/metrics` shows them, to readings.

Ordinary lines are cut by hand, ten times as fast as the reference parser; what is not ordinary (names in quotes, blanks
in odd places, exemplars) goes to that parser, `prometheus_client`. What a line says of its series is remembered from
page to page, since a target repeats it every few seconds.

Format: https://prometheus.io/docs/instrumenting/exposition_formats/ (text 0.0.4, and OpenMetrics as far as it agrees).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from monitoring.readings import Histogram, Kind, Malformed, Point, Reading, Rejected

MOST_KNOWN = 50_000
"""Series that are remembered; beyond them all are forgotten, so that no source can fill the memory."""

LONGEST_LINE = 16_384
"""Characters of a line that the reference parser is given: its time grows with their square."""
LATEST_S = 1e11
"""Seconds since 1970 (year 5138) that can be a time."""

SCALARS: dict[str, Kind] = {"counter": "counter", "gauge": "gauge", "info": "gauge", "stateset": "gauge"}
_LABEL = re.compile(r'\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)')
_NAME = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*")
_ESCAPED = re.compile(r'\\([\\n"])')


@dataclass(frozen=True, slots=True)
class _Series:
    """What stands before a line's value. `key` are the labels, in order, without a bucket's `le`."""

    name: str
    labels: dict[str, str]
    key: tuple[tuple[str, str], ...]
    le: float | None


@dataclass(slots=True)
class _Family:
    """What a name on the page is: a whole metric, or the part of one that a suffix tells."""

    name: str
    part: str
    kind: Kind | None


@dataclass(slots=True)
class _Buckets:
    """A histogram while its lines come in."""

    series: _Series
    line: int
    ts_ms: int
    cumulative: dict[float, float] = field(default_factory=dict)
    total: float | None = None
    count: float | None = None

    def has(self, part: str, le: float | None) -> bool:
        """Whether the part has been seen already: then the series stands on the page a second time."""
        if part == "_bucket":
            return le in self.cumulative
        return (self.total if part == "_sum" else self.count) is not None

    def take(self, part: str, le: float | None, value: float) -> None:
        """Take up the value of one part."""
        if le is not None:
            self.cumulative[le] = value
        elif part == "_sum":
            self.total = value
        else:
            self.count = value


@dataclass(frozen=True, slots=True)
class _Value:
    """What stands on a line, when it was measured, and the line's number."""

    value: float
    ts_ms: int
    line: int


def readings(text: str, ts_ms: int) -> tuple[list[Reading], list[Rejected]]:
    """The series of a page, in its order; lines without a time were measured at `ts_ms` (epoch milliseconds).

    A series that stands twice is two readings. A `Rejected` has the line's number, from 1. NaN says that there is no
    value (a stale series, a quantile of nothing), and is rejected as that. Raises Malformed for what is no such page.
    """
    page = _Page(ts_ms)
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("#"):
            page.comment(line)
        elif line and not line.isspace():
            page.sample(line, number)
    if page.rejected and not page.lines:
        raise Malformed(_what_it_is(text, page.rejected[0]))
    return page.result()


def _what_it_is(text: str, first: Rejected) -> str:
    """Why a page of which no line could be read is not one that we read."""
    start = text.lstrip()[:200]
    if start.startswith(("{", "[")):
        return "this is JSON; give the page that /metrics shows, in Prometheus' text format"
    if start.startswith("<"):
        return "this is an HTML page; give the text that /metrics shows"
    if start.startswith("role=") and "master={" in start:
        return "this is Mooncake's summary for people (/metrics/summary); give what /metrics shows beside it"
    return f"this is not Prometheus' text format; line {first.index}: {first.reason}"


class _Page:
    """One page while it is read."""

    def __init__(self, ts_ms: int) -> None:
        self.ts_ms = ts_ms
        self.lines = 0
        self.rejected: list[Rejected] = []
        self.found: list[Reading | _Buckets] = []
        self.families: dict[str, _Family] = {}
        self.open: dict[tuple[str, tuple[tuple[str, str], ...]], _Buckets] = {}
        self.created: dict[tuple[str, tuple[tuple[str, str], ...]], int] = {}

    def comment(self, line: str) -> None:
        """Take up what `# TYPE` says of the lines that follow; other comments say nothing."""
        words = line.split(None, 3)
        if len(words) == 4 and words[1] == "TYPE":
            self.declare(words[2].strip('"'), words[3].strip())

    def declare(self, name: str, declared: str) -> None:
        """Remember which names on the lines belong to the metric."""
        known = self.families.get(name)
        if known is not None and known.part == "_created":
            return  # prometheus_client declares the times at which counters began as gauges of their own
        for suffix, kind in _parts(declared):
            self.families[name + suffix] = _Family(name, suffix, kind)
        if declared in ("counter", "histogram", "summary"):
            self.families[name.removesuffix("_total") + "_created"] = _Family(name, "_created", None)

    def sample(self, line: str, number: int) -> None:
        """Take up one line with a value."""
        try:
            series, value, ts_ms = _cut(line)
        except (ValueError, IndexError) as problem:
            self.rejected.append(Rejected(number, f"{str(problem)[:200] or 'cannot be read'}: {line[:80]}"))
            return
        self.lines += 1
        at = self.ts_ms if ts_ms is None else ts_ms
        family = self.families.get(series.name)
        if family is not None and family.kind is None:
            self.part(series, family, _Value(value, at, number))
        elif math.isfinite(value):
            kind = "untyped" if family is None else family.kind
            self.found.append(Reading(series.name, series.labels, kind, (Point(at, value),)))  # type: ignore[arg-type]
        else:
            self.rejected.append(Rejected(number, f"{series.name} has no value: {value}"))

    def part(self, series: _Series, family: _Family, value: _Value) -> None:
        """Take up a line that is part of a metric: a bucket, a sum, a count, the time when it began."""
        key = (family.name, series.key)
        if family.part == "_created":
            if 0 < value.value < LATEST_S:
                self.created[key] = round(value.value * 1000)
        elif family.part == "_bucket" and series.le is None:
            self.rejected.append(Rejected(value.line, f"{series.name} is a bucket without a bound (le)"))
        else:
            buckets = self.open.get(key)
            if buckets is None or buckets.has(family.part, series.le):
                buckets = self.open[key] = _Buckets(series, value.line, value.ts_ms)
                self.found.append(buckets)
            buckets.take(family.part, series.le, value.value)

    def result(self) -> tuple[list[Reading], list[Rejected]]:
        """The readings of the whole page."""
        taken = []
        for item in self.found:
            reading = self.folded(item) if isinstance(item, _Buckets) else item
            if reading is not None:
                taken.append(self.begun(reading) if self.created else reading)
        return taken, self.rejected

    def folded(self, buckets: _Buckets) -> Reading | None:
        """The histogram of its lines, with the observations of each bucket alone."""
        name = self.families[buckets.series.name].name
        try:
            histogram = _histogram(buckets)
        except ValueError as problem:
            self.rejected.append(Rejected(buckets.line, f"{name}: {problem}"))
            return None
        labels = dict(buckets.series.key)
        return Reading(name, labels, "histogram", (Point(buckets.ts_ms, histogram),))

    def begun(self, reading: Reading) -> Reading:
        """The reading with the time when it began, where the page tells it."""
        family = self.families.get(reading.name)
        name = reading.name if family is None else family.name
        start_ms = self.created.get((name, tuple(sorted(reading.labels.items()))))
        if start_ms is None:
            return reading
        points = tuple(Point(point.ts_ms, point.value, start_ms) for point in reading.points)
        return Reading(reading.name, reading.labels, reading.kind, points)


def _parts(declared: str) -> list[tuple[str, Kind | None]]:
    """The suffixes that a metric's lines have, and what each is; None: it is put together from them."""
    if declared == "histogram":
        return [("_bucket", None), ("_sum", None), ("_count", None)]
    if declared == "summary":
        return [("", "gauge"), ("_sum", "counter"), ("_count", "counter")]
    if declared == "counter":
        return [("", "counter"), ("_total", "counter")]
    return [("", SCALARS.get(declared, "untyped"))]


def _histogram(buckets: _Buckets) -> Histogram:
    """Counts of each bucket alone. Raises ValueError for what is no histogram."""
    bounds = sorted(buckets.cumulative)
    if bounds and bounds[-1] != math.inf and buckets.count is None:
        raise ValueError("has no +Inf bucket and no count")
    cumulative = [buckets.cumulative[bound] for bound in bounds]
    if not bounds or bounds[-1] != math.inf:
        if buckets.count is None:
            raise ValueError("has a sum, but neither buckets nor a count")
        cumulative.append(buckets.count)
    counts = tuple(high - low for low, high in zip([0.0, *cumulative], cumulative, strict=False))
    if not all(0 <= count < math.inf for count in counts):
        raise ValueError("has buckets that hold less than those below them")
    finite = tuple(bound for bound in bounds if bound != math.inf)
    return Histogram(finite, counts, math.nan if buckets.total is None else buckets.total)


_known: dict[str, _Series] = {}


def _cut(line: str) -> tuple[_Series, float, int | None]:
    """A line's series, value and time. Raises ValueError where it has none."""
    head, brace, rest = line.rpartition("} ")
    if not brace:
        head, _, rest = line.partition(" ")
    words = rest.split()
    if not 1 <= len(words) <= 2 or "_" in rest:
        return _by_reference(line)
    series = _known.get(head) or _learn(head)
    if series is None:
        return _by_reference(line)
    return series, float(words[0]), int(words[1]) if len(words) == 2 else None


def _learn(head: str) -> _Series | None:
    """The series of what stands before `} ` on an ordinary line, remembered; None if it is not ordinary."""
    name, _, inside = head.partition("{")
    labels = _labels(inside)
    if labels is None or not _NAME.fullmatch(name):
        return None
    if len(_known) >= MOST_KNOWN:
        _known.clear()
    return _known.setdefault(head, _series(name, labels))


def _series(name: str, labels: dict[str, str]) -> _Series:
    le = float(labels["le"]) if name.endswith("_bucket") and "le" in labels else None
    if le is not None and math.isnan(le):
        raise ValueError("has a bucket without a bound")
    return _Series(name, labels, tuple(sorted(pair for pair in labels.items() if le is None or pair[0] != "le")), le)


def _labels(inside: str) -> dict[str, str] | None:
    """Labels as they stand between the braces; None if they are not plain ones, or one stands there twice."""
    labels: dict[str, str] = {}
    place = 0
    while place < len(inside):
        found = _LABEL.match(inside, place)
        if found is None or found[1] in labels:
            return None
        labels[found[1]] = _ESCAPED.sub(_plain, found[2])
        place = found.end()
    return labels


def _plain(escaped: re.Match[str]) -> str:
    return "\n" if escaped[1] == "n" else escaped[1]


def _by_reference(line: str) -> tuple[_Series, float, int | None]:
    """A line as `prometheus_client` reads it, its exemplar left out."""
    if len(line) > LONGEST_LINE:
        raise ValueError(f"has {len(line):,} characters and is no ordinary line")
    whole = re.sub(r"(} \S+(?: \S+)?) # \{.*$", r"\1", line)
    metric: Any = next(iter(text_string_to_metric_families(whole)), None)
    if metric is None or len(metric.samples) != 1:
        raise ValueError("is no line of a metric")
    sample = metric.samples[0]
    ts_ms = None if sample.timestamp is None else round(float(sample.timestamp) * 1000)
    return _series(sample.name, dict(sample.labels)), float(sample.value), ts_ms
