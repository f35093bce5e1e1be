"""A request log as an entry of the catalogue, with what there is to say about it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from planner.documents.errors import refuse
from planner.engine.traces import Chunk, Histogram, Statistics
from planner.entries.checking import check
from planner.importers.base import Choices, Imported
from planner.importers.tables import slug
from planner.importers.traces.reader import OnProgress, TraceReader

type OnChunk = Callable[[Chunk], None]
MOST_SAMPLES = 100_000
"""Different lengths in a document; a trace with more has neighbours put together."""
FEW = 100


class Read:
    """A trace that has been read to its end."""

    def __init__(
        self, path: Path, choices: Choices, on_progress: OnProgress | None = None, on_chunk: OnChunk | None = None
    ) -> None:
        """Raises DocumentError."""
        self.reader = TraceReader(path, choices)
        self.statistics = Statistics()
        for chunk in self.reader.chunks(on_progress):
            try:
                self.statistics.add(chunk)
            except ValueError as problem:
                raise refuse(path.name, None, f"is no request log: {problem}") from problem
            if on_chunk:
                on_chunk(chunk)

    @property
    def span_s(self) -> float | None:
        """From the first arrival to the last, as recorded; of a benchmark without times, what it took."""
        return self.reader.timeline.span_s if self.reader.clock.known else self.reader.clock.duration_s

    @property
    def lull_s(self) -> float | None:
        """The gap that makes a rate over the whole trace absurd."""
        return self.statistics.gaps.lull_s if self.reader.clock.known else None

    @property
    def rate_rps(self) -> float | None:
        """All requests over the time from the first to the last, as publishers count; None where it says nothing.

        The mean of `counts` leaves the last window out: it is the rate less a request, which only few requests show.
        """
        if not self.span_s or self.lull_s:
            return None
        return self.statistics.rows / self.span_s

    def notes(self) -> list[str]:
        """What the user should know."""
        found = list(self.reader.notes)
        statistics = self.statistics
        if self.lull_s:
            outside = statistics.gaps.span_s - self.lull_s
            active = f"; outside it {(statistics.rows - 1) / outside:.4g} req/s" if outside else ""
            lasting = str(timedelta(seconds=round(self.lull_s)))
            found.append(
                f"nothing arrives for {lasting} in the midst of the trace: no rate is given for all of it{active}"
            )
        if statistics.rows < FEW:
            found.append(f"only {statistics.rows} requests: too few to plan on{self._between()}")
        shortest, longest = (statistics.input_tokens.summary()[key] for key in ("min", "max"))
        if shortest == longest and statistics.rows > 1:
            found.append(f"all requests have {shortest:,} input tokens: percentiles say nothing")
        if statistics.hits.cache.full:
            share = statistics.hits.uncached.count
            found.append(f"prefix hits are counted over the first {share:,} requests: then there are too many blocks")
        return found

    def _between(self) -> str:
        """How far apart few requests lie: their rate counts one more of them than there are gaps."""
        if not self.reader.clock.known or not self.rate_rps or not self.span_s:
            return ""
        gaps = self.statistics.rows - 1
        return f"; the rate counts each of them, their gaps alone give {gaps / self.span_s:.4g} req/s"


def read(
    path: Path, choices: Choices, on_progress: OnProgress | None = None, on_chunk: OnChunk | None = None
) -> Imported:
    """The traffic that a request log is, each chunk handed to `on_chunk`. Raises DocumentError; nothing is stored."""
    trace = Read(path, choices, on_progress, on_chunk)
    document, notes = _document(trace)
    check("traffic", document)
    reader = trace.reader
    return Imported(
        "traffic", document, reader.mapping, reader.assumptions, tuple(trace.notes() + notes), _facts(trace)
    )


def inspect(path: Path, choices: Choices, on_progress: OnProgress | None = None) -> dict[str, Any]:
    """What `read` would say of the file, without its lengths one by one. Raises DocumentError."""
    trace = Read(path, choices, on_progress)
    reader = trace.reader
    return {
        **_facts(trace),
        "notes": trace.notes(),
        "assumptions": [
            {"field": each.field, "value": each.value, "text": each.text, "choices": list(each.choices)}
            for each in reader.assumptions
        ],
        "mapping": [{"theirs": each.theirs, "ours": each.ours, "how": each.how} for each in reader.mapping],
    }


# --- what there is to say ----------------------------------------------------------------------------------------


def _facts(trace: Read) -> dict[str, Any]:
    statistics, reader = trace.statistics, trace.reader
    hits = statistics.hits
    known = reader.clock.known
    rate = statistics.rate_over_time if known else None
    return {
        "format": reader.name,
        "rows": statistics.rows,
        "dropped_rows": reader.dropped_rows,
        "sessions": statistics.sessions,
        "input_tokens": statistics.input_tokens.summary(),
        "output_tokens": statistics.output_tokens.summary(),
        "rate_rps": trace.rate_rps,
        "span_s": trace.span_s,
        "first_arrival": _began(trace),
        "last_arrival_s": reader.timeline.last_s if known else None,
        "interarrival_cv": statistics.gaps.cv if known else None,
        "counts": {f"{each}_s": windows.summary() for each, windows in statistics.windows.items()} if known else {},
        "token_hit_ratio": hits.token_hit_ratio,
        "uncached_tokens": hits.uncached.summary() if hits.uncached.count else None,
        "hit_ratio_by_length": {key: values.tolist() for key, values in hits.by_length().items()} or None,
        "correlation_of_logs": statistics.correlation,
        "rate_over_time": {"interval_s": rate.interval_s, "rate_rps": rate.rate_rps.tolist()} if rate else None,
    }


def _began(trace: Read) -> str | None:
    origin = trace.reader.timeline.origin_ns
    if not trace.reader.clock.wall or origin is None:
        return None
    return datetime.fromtimestamp(origin / 1e9, UTC).isoformat()


# --- the entry ---------------------------------------------------------------------------------------------------


def _document(trace: Read) -> tuple[dict[str, Any], list[str]]:
    """The document, and notes on how it was made."""
    statistics = trace.statistics
    name = trace.reader.path.name.split(".")[0]
    document: dict[str, Any] = {
        "name": slug(name) or "trace",
        "title": f"{name} ({trace.reader.name})"[:2000],
        "input_tokens": {"distribution": "empirical", **_lengths(statistics.input_tokens)},
        "output_tokens": {"distribution": "empirical", **_lengths(statistics.output_tokens)},
        **_arrivals(trace),
        **_prefix(trace),
    }
    source = f"recorded: {trace.reader.path.name}, {statistics.rows:,} requests"[:2000]
    figures = [
        field for field in ("input_tokens", "output_tokens", "arrivals", "prefix", "rate_rps") if field in document
    ]
    document["provenance"] = {field: {"kind": "measured", "source": source} for field in figures}
    coarse = [
        f"{field}: neighbouring lengths were put together to {MOST_SAMPLES:,}"
        for field, histogram in (("input_tokens", statistics.input_tokens), ("output_tokens", statistics.output_tokens))
        if histogram.values[0].size > MOST_SAMPLES
    ]
    return document, coarse


def _lengths(histogram: Histogram) -> dict[str, list[float] | list[int]]:
    """Different lengths with their counts, as few as a document takes; the mean stays as it is."""
    values, counts = histogram.values
    if values.size <= MOST_SAMPLES:
        return {"samples": values.tolist(), "counts": counts.tolist()}
    starts = np.linspace(0, values.size, MOST_SAMPLES, endpoint=False).astype(np.int64)
    together = np.add.reduceat(counts, starts)
    means = np.add.reduceat(values * counts.astype(float), starts) / together
    return {"samples": means.tolist(), "counts": together.tolist()}


def _arrivals(trace: Read) -> dict[str, Any]:
    found: dict[str, Any] = {} if trace.rate_rps is None else {"rate_rps": trace.rate_rps}
    rate = trace.statistics.rate_over_time
    if trace.reader.clock.known and trace.rate_rps and rate and rate.rate_rps.size > 1:
        recorded = {"process": "recorded", "interval_s": rate.interval_s, "rate_rps": rate.rate_rps.tolist()}
        return {**found, "arrivals": recorded}
    return found


def _prefix(trace: Read) -> dict[str, Any]:
    hits = trace.statistics.hits
    if not hits.uncached.count:
        return {}
    recorded = {
        "reuse": "recorded",
        "block_tokens": hits.block_tokens,
        "token_hit_ratio": hits.token_hit_ratio,
        "uncached": _lengths(hits.uncached),
    }
    return {"prefix": recorded}
