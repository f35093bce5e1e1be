"""Results of GuideLLM: JSON reports of both versions, and the CSV with several rows of header."""

from __future__ import annotations

import re
from collections.abc import Sequence

from planner.documents.errors import refuse
from planner.importers.base import Mapped
from planner.importers.profiles.nodes import Node
from planner.importers.profiles.rows import Results, Row, few, given, none_left, ttft_percentiles
from planner.importers.tables import number

MAPPING = (
    Mapped("time_to_first_token_ms, successful, mean", "ttft_s"),
    Mapped("prompt_token_count, successful, mean", "input_tokens"),
    Mapped("inter_token_latency_ms, successful, mean", "tpot_s", "time_per_output_token_ms has the prefill in it"),
    Mapped("output_token_count, successful, mean", "output_tokens"),
    Mapped("strategy", "concurrency", "where requests came at a rate, the mean that was in flight"),
)
TTFT, INPUT, OUTPUT = "time to first token", "input tokens", "output tokens"


def is_report(node: Node) -> bool:
    """Whether it is a report."""
    first = next(node.at("benchmarks").items(), Node(None))
    return first.at("metrics").has("time_to_first_token_ms")


def read_report(node: Node) -> Results:
    """The benchmarks of a report; of each metric the part of the successful requests. Raises DocumentError."""
    benchmarks = list(node.at("benchmarks").items())
    counts = [_successful(each) for each in benchmarks]
    rows = [_benchmark(each, int(count)) for each, count in zip(benchmarks, counts, strict=True) if count]
    if not rows:
        raise none_left("benchmarks", sum(int(each.at(*TOTALS, "total").maybe() or 0) for each in benchmarks))
    notes = few(rows)
    if len(rows) < len(benchmarks):
        notes.append(f"{len(benchmarks) - len(rows)} benchmarks without a request that came through are left out")
    first = benchmarks[0]
    return Results(
        format="GuideLLM report",
        rows=rows,
        mapping=MAPPING,
        notes=tuple(notes),
        model=first.at("config", "backend", "model").text() or first.at("args", "backend", "model").text(),
        facts={"benchmarks": len(benchmarks), "version": node.at("metadata", "version").maybe()},
    )


TOTALS = ("metrics", "request_totals")


def _successful(benchmark: Node) -> float:
    """Requests that came through; older versions count them elsewhere."""
    for keys in (TOTALS, ("request_totals",), ("run_stats", "requests_made")):
        count = benchmark.at(*keys, "successful").maybe()
        if count is not None:
            return count
    return benchmark.at("metrics", "time_to_first_token_ms", "successful", "count").number()


def _benchmark(benchmark: Node, requests: int) -> Row:
    def mean(metric: str) -> Node:
        return benchmark.at("metrics", metric, "successful", "mean")

    strategy = benchmark.at("config", "strategy")
    if strategy.value is None:
        strategy = benchmark.at("args", "strategy")
    kind = strategy.at("type_").text()
    limit = 1.0 if kind == "synchronous" else strategy.at("streams").maybe() if kind == "concurrent" else None
    tpot_ms = mean("inter_token_latency_ms").maybe()
    return Row(
        place=benchmark.place,
        input_tokens=mean("prompt_token_count").positive(),
        ttft_s=mean("time_to_first_token_ms").positive() / 1e3,
        tpot_s=tpot_ms / 1e3 if tpot_ms else None,
        output_tokens=mean("output_token_count").maybe(),
        concurrency=mean("request_concurrency").maybe() if limit is None else limit,
        requests=requests,
        requested_rate_rps=strategy.at("rate").maybe() if kind in ("constant", "poisson") else None,
        output_tokens_per_s=mean("output_tokens_per_second").maybe(),
        alone=limit == 1,
        more=_percentiles(benchmark) | given(throughput_rps=mean("requests_per_second").maybe()),
    )


def _percentiles(benchmark: Node) -> dict[str, float]:
    ranks = benchmark.at("metrics", "time_to_first_token_ms", "successful", "percentiles")
    return ttft_percentiles(lambda name: ranks.at(name).maybe(), ("p50", "p90", "p99"), 1e-3)


def is_table(rows: Sequence[tuple[int, list[str]]]) -> bool:
    """Whether the first rows of a CSV are GuideLLM's header."""
    return any(
        "time to first token" in cell.lower().replace("_", " ") for _, cells in rows[:1] for cell in cells
    ) and any("successful" in cell.lower() for _, cells in rows[:2] for cell in cells)


def read_table(rows: Sequence[tuple[int, list[str]]]) -> Results:
    """The CSV: a column's name is what the rows of its header say together. Raises DocumentError."""
    at, header = _header(rows)
    found = [_line(header, line, cells) for line, cells in rows[at:] if cells]
    kept = [row for row in found if row is not None]
    if not kept:
        raise none_left(f"line {rows[-1][0]}", len(found))
    notes = few(kept)
    if len(kept) < len(found):
        notes.append(f"{len(found) - len(kept)} benchmarks without a request that came through are left out")
    return Results("GuideLLM CSV", kept, MAPPING, tuple(notes), facts={"benchmarks": len(found)})


def _header(rows: Sequence[tuple[int, list[str]]]) -> tuple[int, list[str]]:
    """How many rows the header has, and the name of each column in small letters."""
    width = len(rows[0][1])
    size = next((at for at, (_, cells) in enumerate(rows) if any(_is_number(cell) for cell in cells)), len(rows))
    for line, cells in rows:
        if cells and len(cells) != width:
            raise refuse(f"line {line}", None, f"has {len(cells)} cells where the header has {width}")
    parts = [cells or [""] * width for _, cells in rows[:size]]
    return size, [" ".join(column).lower().replace("_", " ") for column in zip(*parts, strict=True)]


def _is_number(text: str) -> bool:
    return bool(re.fullmatch(r"\d+(\.\d+)?([eE][-+]?\d+)?", text, re.ASCII))


def _line(header: Sequence[str], line: int, cells: Sequence[str]) -> Row | None:
    """One benchmark; None where no request came through."""

    def cell(*words: str) -> float | None:
        for at, name in enumerate(header):
            if all(word in name for word in words) and "mean ci" not in name and "std" not in name:
                return number(cells[at], f"line {line}, {header[at]}", 0.0)
        return None

    requests = cell("request counts", "successful")
    ttft_ms, tokens = (
        cell(TTFT, "successful", "mean"),
        cell("token metrics", INPUT, "mean") or cell("prompt token", "mean"),
    )
    if requests == 0:
        return None
    if not ttft_ms or not tokens:
        raise refuse(f"line {line}", None, "has no mean time to first token, or no mean of input tokens")
    strategy = next((text for name, text in zip(header, cells, strict=True) if "strategy" in name), "")
    asked = re.fullmatch(r"concurrent@(\d{1,9})", strategy, re.ASCII)
    limit = 1.0 if strategy == "synchronous" else float(asked.group(1)) if asked else None
    tpot_ms = cell("inter token latency", "successful", "mean")
    return Row(
        place=f"line {line}",
        input_tokens=tokens,
        ttft_s=ttft_ms / 1e3,
        tpot_s=tpot_ms / 1e3 if tpot_ms else None,
        output_tokens=cell("token metrics", OUTPUT, "mean"),
        concurrency=cell("concurrency", "successful", "mean") if limit is None else limit,
        requests=None if requests is None else int(requests),
        output_tokens_per_s=cell("token throughput", "output tokens/sec", "mean"),
        alone=limit == 1,
    )
