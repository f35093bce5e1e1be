"""AIPerf's export of what the server's own metrics said during the run."""

from __future__ import annotations

from collections.abc import Sequence

from planner.importers.base import Mapped
from planner.importers.profiles.aiperf import concurrency_of, model_of
from planner.importers.profiles.nodes import Node
from planner.importers.profiles.rows import Results, Row, completed, few

TTFT = ("frontend_time_to_first_token_seconds", "time_to_first_token_seconds")
INPUT = ("frontend_input_sequence_tokens", "request_prompt_tokens", "input_sequence_tokens", "prompt_tokens_histogram")
OUTPUT = ("frontend_output_sequence_tokens", "request_generation_tokens", "output_sequence_tokens")
TPOT = ("frontend_inter_token_latency_seconds", "inter_token_latency_seconds", "time_per_output_token_seconds")
"""Ends of names, the one nearest to the client first."""


def is_export(node: Node) -> bool:
    """Whether it is such an export."""
    return node.has("metrics", "summary") and node.has("aiperf_version")


def read(exports: Sequence[Node]) -> Results:
    """The means of the histograms, which are differences over the run. Raises DocumentError."""
    rows = [_export(node) for node in exports]
    first = exports[0]
    return Results(
        format="AIPerf server metrics",
        rows=rows,
        mapping=(
            Mapped(_named(first, TTFT).path, "ttft_s", "sum over count of the histogram's growth during the run"),
            Mapped(_named(first, INPUT).path, "input_tokens", "as above"),
        ),
        notes=(*few(rows), "TTFT as the server saw it: shorter than the client's by the network and the client itself"),
        model=model_of(first.at("input_config")),
        facts={"metrics": len(first.at("metrics").value), "frontend_ttft_count": rows[0].requests},
    )


def _named(node: Node, ends: Sequence[str]) -> Node:
    """The first histogram with one of these names that has counted something; an empty Node where there is none."""
    metrics = node.at("metrics").tables()
    for end in ends:
        for name, metric in metrics.items():
            if name.endswith(end) and metric.at("type").value == "histogram" and _count(metric):
                return metric
    return Node(None, f"metrics.{ends[0]}", node.line)


def _count(metric: Node) -> float:
    return sum(series.at("stats", "count").maybe() or 0 for series in metric.at("series").items())


def _mean(metric: Node) -> float | None:
    count = _count(metric)
    return (
        sum(series.at("stats", "sum").maybe() or 0 for series in metric.at("series").items()) / count if count else None
    )


def _export(node: Node) -> Row:
    ttft = _named(node, TTFT)
    limit = concurrency_of(node.at("input_config"))
    requests = completed(Node(_count(ttft), ttft.path, node.line))
    return Row(
        place=node.place,
        input_tokens=Node(_mean(_named(node, INPUT)), _named(node, INPUT).path, node.line).positive(),
        ttft_s=Node(_mean(ttft), ttft.path, node.line).positive(),
        tpot_s=_mean(_named(node, TPOT)) or None,
        output_tokens=_mean(_named(node, OUTPUT)),
        concurrency=limit,
        requests=requests,
        alone=limit == 1,
    )
