"""Results of genai-perf and of AIPerf, its successor: summaries as JSON and CSV, requests as JSONL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from planner.documents.errors import refuse
from planner.importers.base import Mapped
from planner.importers.profiles.nodes import Node
from planner.importers.profiles.rows import (
    UNITS_S,
    Results,
    Row,
    bounded,
    completed,
    few,
    given,
    none_left,
    ttft_percentiles,
    with_unit,
)
from planner.importers.tables import number

CONCURRENCY = (
    ("loadgen", "concurrency"),
    ("perf_analyzer", "stimulus", "concurrency"),
    ("concurrency",),
)
"""Where the versions keep it under `input_config`."""
SUMMARY = (
    Mapped("time_to_first_token, avg", "ttft_s", "by the unit beside it"),
    Mapped("input_sequence_length, avg", "input_tokens"),
    Mapped("inter_token_latency, avg", "tpot_s"),
    Mapped("output_sequence_length, avg", "output_tokens"),
    Mapped("request_count", "requests"),
)


def is_summary(node: Node) -> bool:
    """Whether it is a summary as JSON."""
    return node.at("time_to_first_token").has("unit", "avg")


def is_raw(node: Node) -> bool:
    """Whether it is perf_analyzer's own export, which counts no tokens."""
    return node.has("experiments")


def is_record(node: Node) -> bool:
    """Whether it is one request."""
    return node.has("metadata", "metrics") and node.at("metadata").has("request_start_ns")


def read_summaries(summaries: Sequence[Node]) -> Results:
    """One summary or several. Raises DocumentError."""
    rows = [_summary(node) for node in summaries]
    first = summaries[0]
    return Results(
        format="AIPerf/genai-perf summary",
        rows=rows,
        mapping=(*SUMMARY, Mapped("input_config", "concurrency")),
        notes=tuple(few(rows)),
        model=model_of(first.at("input_config")),
    )


def model_of(config: Node) -> str | None:
    lists = (config.at("endpoint", "model_names"), config.at("model_names"), config.at("model"))
    first = next((item for node in lists for item in node.items()), Node(None))
    named = next(config.at("models", "items").items(), Node(None))
    return first.text() or named.at("name").text()


def concurrency_of(config: Node) -> float | None:
    phases = [phase for phase in config.at("phases").items() if phase.at("name").value == "profiling"]
    found = [config.at(*keys).maybe() for keys in CONCURRENCY] + [phase.at("concurrency").maybe() for phase in phases]
    return next((value for value in found if value), None)


def _summary(node: Node) -> Row:
    def average(name: str) -> float | None:
        return node.at(name, "avg").maybe()

    limit = concurrency_of(node.at("input_config"))
    tpot = node.at("inter_token_latency")
    count = node.at("request_count", "avg")
    ttft = node.at("time_to_first_token")
    unit_s = UNITS_S.get(ttft.at("unit").text() or "", 0.0)
    more = ttft_percentiles(lambda name: ttft.at(name).maybe(), ("p50", "p90", "p99"), unit_s)
    return Row(
        place=node.place,
        input_tokens=node.at("input_sequence_length", "avg").positive(),
        ttft_s=with_unit(ttft, ttft.at("avg")),
        tpot_s=with_unit(tpot, tpot.at("avg")) if tpot.at("avg").maybe() else None,
        output_tokens=average("output_sequence_length"),
        concurrency=limit or average("effective_concurrency"),
        requests=None if count.value is None else completed(count, node.at("error_request_count", "avg").maybe()),
        output_tokens_per_s=average("output_token_throughput"),
        alone=limit == 1,
        more=more | given(throughput_rps=average("request_throughput")),
    )


# -- CSV: tables one below the other, blank lines between them


def is_table(rows: Sequence[tuple[int, list[str]]]) -> bool:
    """Whether the first row of a CSV is the header of their first table."""
    return bool(rows) and rows[0][1][:2] == ["Metric", "avg"]


def read_table(rows: Sequence[tuple[int, list[str]]]) -> Results:
    """The averages of the first table and the values of the second. Raises DocumentError."""
    metrics = dict(_metrics(rows))
    row = _from_metrics(metrics)
    return Results(
        format="AIPerf/genai-perf CSV",
        rows=[row],
        mapping=(*SUMMARY, Mapped("Effective Concurrency", "concurrency", "the mean that was seen")),
        notes=tuple(few([row])),
        facts={"tables": sum(1 for _, cells in rows if _is_header(cells)), "first_block_header": ",".join(rows[0][1])},
    )


type Cell = tuple[str, float, str]
"""Where it stands, the number, and its unit."""


def _is_header(cells: Sequence[str]) -> bool:
    return "Metric" in cells


def _metrics(rows: Sequence[tuple[int, list[str]]]) -> Iterator[tuple[str, Cell]]:
    """Metric by metric, with the unit that stands in its name; tables of machines, not of metrics, are left out."""
    wanted = False
    for line, cells in rows:
        if _is_header(cells):
            wanted = cells[:2] in (["Metric", "avg"], ["Metric", "Value"])
        elif wanted and len(cells) >= 2:
            name, unit = _name_and_unit(cells[0])
            # genai-perf writes thousands separators into its CSV, inside quotes
            value = number(re.sub(r"(?<=\d),(?=\d{3})", "", cells[1]), f"line {line}, {cells[0]}")
            if value is not None:
                yield name, (f"line {line}, {cells[0]}", value, unit)


def _name_and_unit(text: str) -> tuple[str, str]:
    found = re.fullmatch(r"(.*?)\s*\(([^()]*)\)", text)
    return (found.group(1).lower(), found.group(2)) if found else (text.lower(), "")


def _from_metrics(metrics: Mapping[str, Cell]) -> Row:
    def value(name: str) -> float | None:
        return metrics[name][1] if name in metrics else None

    def positive(name: str) -> float:
        if name not in metrics:
            raise refuse("Metric", None, f"has no row {name!r}")
        place, found, _ = metrics[name]
        if found <= 0:
            raise refuse(place, found, "must be greater than 0")
        return found

    def time(name: str) -> float:
        place, _, unit = metrics.get(name, (name, 0.0, ""))
        seconds = positive(name)
        if unit not in UNITS_S:
            raise refuse(place, unit, f"must have one of the units {', '.join(UNITS_S)} in brackets")
        return seconds * UNITS_S[unit]

    count = value("request count")
    if count is not None:
        completed(Node(count, metrics["request count"][0]))
    return Row(
        place=metrics.get("time to first token", ("Metric", 0.0, ""))[0],
        input_tokens=positive("input sequence length"),
        ttft_s=time("time to first token"),
        tpot_s=time("inter token latency") if value("inter token latency") else None,
        output_tokens=value("output sequence length"),
        concurrency=value("effective concurrency"),
        requests=None if count is None else int(count),
        output_tokens_per_s=value("output token throughput"),
    )


# -- JSONL: one request a line


@dataclass(slots=True)
class _Seen:
    """What was met on the way through the records."""

    lines: int = 0
    warm_up: int = 0
    failed: int = 0


def read_records(records: Iterable[Node]) -> Results:
    """The requests of the measured phase that came through. Raises DocumentError."""
    seen = _Seen()
    spans: list[tuple[float, float]] = []
    rows = bounded(_measured(records, seen, spans))
    if not rows:
        raise none_left(f"line {seen.lines}", seen.failed)
    most, mean = in_flight(spans)
    notes = [f"{seen.warm_up} requests of the warm-up are left out"] if seen.warm_up else []
    notes += [f"{seen.failed} failed or cancelled requests are left out"] if seen.failed else []
    return Results(
        format="AIPerf records",
        rows=[replace(row, concurrency=float(most), alone=most == 1) for row in rows],
        mapping=(
            Mapped("metrics.time_to_first_token", "ttft_s", "by the unit beside it"),
            Mapped("metrics.input_sequence_length", "input_tokens"),
            Mapped("metrics.usage_prompt_cache_read_tokens", "cached_tokens"),
            Mapped("metrics.inter_token_latency", "tpot_s"),
            Mapped("metrics.output_sequence_length", "output_tokens"),
            Mapped("metadata.request_start_ns, request_end_ns", "concurrency", "the most requests in flight at once"),
        ),
        notes=tuple(notes),
        facts={"rows": len(rows), "mean_in_flight": mean},
    )


def _measured(records: Iterable[Node], seen: _Seen, spans: list[tuple[float, float]]) -> Iterator[Row]:
    for node in records:
        seen.lines = node.line or seen.lines
        if not is_record(node):
            raise node.wrong("is no record of a request: it needs metadata and metrics")
        metadata = node.at("metadata")
        start, end = metadata.at("request_start_ns").number(), metadata.at("request_end_ns").number()
        if end < start:
            raise metadata.at("request_end_ns").wrong("must not lie before request_start_ns", end)
        spans.append((start, end))
        if metadata.at("benchmark_phase").value not in (None, "profiling"):
            seen.warm_up += 1
        elif node.at("error").value or metadata.at("was_cancelled").value is True:
            seen.failed += 1
        else:
            yield _record(node)


def _record(node: Node) -> Row:
    metrics = node.at("metrics")
    tpot = metrics.at("inter_token_latency")
    return Row(
        place=node.place,
        input_tokens=metrics.at("input_sequence_length", "value").positive(),
        ttft_s=with_unit(metrics.at("time_to_first_token"), metrics.at("time_to_first_token", "value")),
        tpot_s=with_unit(tpot, tpot.at("value")) if tpot.at("value").maybe() else None,
        output_tokens=metrics.at("output_sequence_length", "value").maybe(),
        cached_tokens=metrics.at("usage_prompt_cache_read_tokens", "value").maybe(),
        requests=1,
        per_request=True,
    )


def in_flight(spans: Sequence[tuple[float, float]]) -> tuple[int, float]:
    """The most requests in flight at once, and their mean over the whole time, from starts and ends."""
    # An end before a start of the same instant: one after the other is not two at once.
    events = sorted([(end, -1) for _, end in spans] + [(start, 1) for start, _ in spans])
    now = most = 0
    for _, change in events:
        now += change
        most = max(most, now)
    whole = events[-1][0] - events[0][0]
    return max(most, 1), sum(end - start for start, end in spans) / whole if whole > 0 else float(len(spans))
