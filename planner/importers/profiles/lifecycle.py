"""Results of inference-perf: the lifecycle report of one stage, in seconds throughout."""

from __future__ import annotations

from collections.abc import Sequence

from planner.importers.base import Mapped
from planner.importers.profiles.nodes import Node
from planner.importers.profiles.rows import Results, Row, completed, few, given, per_token, ttft_percentiles


def is_report(node: Node) -> bool:
    """Whether it is a lifecycle report."""
    return node.at("successes").has("latency", "prompt_len")


def read(reports: Sequence[Node]) -> Results:
    """Reports of one stage or several. Raises DocumentError."""
    rows = [_stage(node) for node in reports]
    notes = few(rows)
    latency = reports[0].at("successes", "latency")
    theirs, ours = latency.at("time_per_output_token", "mean").maybe(), rows[0].tpot_s
    if theirs and ours and abs(theirs / ours - 1) > 0.1:
        notes.append(
            f"its time_per_output_token, {theirs * 1e3:.3g} ms, counts streamed pieces; by counted tokens it is "
            f"{ours * 1e3:.3g} ms, and that is taken"
        )
    notes.append("requests came at a rate: concurrency is rate × latency (Little's law)")
    return Results(
        format="inference-perf lifecycle report",
        rows=rows,
        mapping=(
            Mapped("successes.latency.time_to_first_token.mean", "ttft_s"),
            Mapped("successes.prompt_len.mean", "input_tokens"),
            Mapped(
                "successes.latency.request_latency.mean",
                "tpot_s",
                "(latency - TTFT) / (output tokens - 1); normalized_time_per_output_token has the prefill in it",
            ),
            Mapped("load_summary.requested_rate", "requested_rate_rps"),
        ),
        notes=tuple(notes),
        facts={"time_per_output_token_s": theirs, "failures": reports[0].at("failures", "count").maybe()},
    )


def _stage(node: Node) -> Row:
    successes = node.at("successes")
    requests = completed(successes.at("count"), node.at("failures", "count").maybe())
    latency_s = successes.at("latency", "request_latency", "mean").maybe()
    output = successes.at("output_len", "mean").maybe()
    rate = successes.at("throughput", "requests_per_sec").maybe()
    ttft = successes.at("latency", "time_to_first_token")
    ttft_s = ttft.at("mean").positive()
    times = ttft_percentiles(lambda name: ttft.at(name).maybe(), ("median", "p90", "p99"), 1.0)
    return Row(
        place=node.place,
        input_tokens=successes.at("prompt_len", "mean").positive(),
        ttft_s=ttft_s,
        tpot_s=per_token(latency_s, ttft_s, output),
        output_tokens=output,
        concurrency=rate * latency_s if rate and latency_s else None,
        requests=requests,
        requested_rate_rps=node.at("load_summary", "requested_rate").maybe(),
        output_tokens_per_s=successes.at("throughput", "output_tokens_per_sec").maybe(),
        more=times | given(throughput_rps=rate),
    )
