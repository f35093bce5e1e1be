"""Results of llmperf: one summary, summaries by concurrency, a repository's own digest of them, single responses."""

from __future__ import annotations

from collections.abc import Sequence

from planner.importers.base import Mapped
from planner.importers.profiles.nodes import Node
from planner.importers.profiles.rows import (
    Results,
    Row,
    bounded,
    completed,
    few,
    given,
    none_left,
    per_token,
    ttft_percentiles,
)

TTFT = "results_ttft_s_mean"
DIGEST_TTFT = "first-time-to-token_mean_in_ms"
MAPPING = (
    Mapped(TTFT, "ttft_s"),
    Mapped("results_number_input_tokens_mean", "input_tokens", "counted; mean_input_tokens is only what was asked for"),
    Mapped(
        "results_number_output_tokens_mean", "output_tokens", "counted; mean_output_tokens is only what was asked for"
    ),
    Mapped(
        "results_end_to_end_latency_s_mean",
        "tpot_s",
        "(latency - TTFT) / (output tokens - 1): their inter_token_latency has the prefill in it",
    ),
    Mapped("num_concurrent_requests", "concurrency"),
    Mapped("results_num_completed_requests", "requests"),
)


def is_summary(node: Node) -> bool:
    """Whether it is one summary."""
    return node.has(TTFT)


def _all_have(node: Node, key: str) -> bool:
    tables = node.tables()
    return bool(tables) and len(tables) == len(node.value) and all(table.has(key) for table in tables.values())


def is_by_concurrency(node: Node) -> bool:
    """Whether it is a table of summaries by concurrency."""
    return _all_have(node, TTFT)


def is_digest(node: Node) -> bool:
    """Whether it is a table of digests by concurrency, as the llmperf-bench repository writes them."""
    return _all_have(node, DIGEST_TTFT)


def is_response(node: Node) -> bool:
    """Whether it is a single response."""
    return node.has("ttft_s", "number_input_tokens")


def read_summaries(summaries: Sequence[Node]) -> Results:
    """One summary or several. Raises DocumentError."""
    rows = bounded(_summary(node) for node in summaries)
    notes = few(rows)
    for row in rows:
        if row.asked_input_tokens and abs(row.input_tokens / row.asked_input_tokens - 1) > 0.05:
            notes.append(f"{row.asked_input_tokens:g} input tokens were asked for, {row.input_tokens:.4g} were counted")
            break
    first = summaries[0]
    return Results(
        format="llmperf summary",
        rows=rows,
        mapping=MAPPING,
        notes=tuple(notes),
        model=first.at("model").text(),
        engine=first.at("framework").text() or "",
        facts={"concurrencies": len({row.concurrency for row in rows})},
    )


def _summary(node: Node) -> Row:
    ttft_s = node.at(TTFT).positive()
    output = node.at("results_number_output_tokens_mean").maybe()
    concurrency = node.at("num_concurrent_requests").maybe()
    return Row(
        place=node.place,
        input_tokens=node.at("results_number_input_tokens_mean").positive(),
        ttft_s=ttft_s,
        tpot_s=per_token(node.at("results_end_to_end_latency_s_mean").maybe(), ttft_s, output),
        output_tokens=output,
        concurrency=concurrency,
        requests=completed(node.at("results_num_completed_requests"), node.at("results_number_errors").maybe()),
        asked_input_tokens=node.at("mean_input_tokens").maybe(),
        asked_output_tokens=node.at("mean_output_tokens").maybe(),
        output_tokens_per_s=node.at("results_mean_output_throughput_token_per_s").maybe(),
        alone=concurrency == 1,
        more=_more(node),
    )


def _more(node: Node) -> dict[str, float]:
    names = [f"results_ttft_s_quantiles_p{rank}" for rank in (50, 90, 99)]
    a_minute = node.at("results_num_completed_requests_per_min").maybe()
    times = ttft_percentiles(lambda name: node.at(name).maybe(), names, 1.0)
    return times | given(throughput_rps=a_minute / 60 if a_minute else None)


def read_digests(node: Node) -> Results:
    """Digests by concurrency. Raises DocumentError."""
    tables = list(node.tables().values())
    rows = [
        Row(
            place=table.place,
            input_tokens=table.at("input_token_length").positive(),
            ttft_s=table.at(DIGEST_TTFT).positive() / 1e3,
            concurrency=table.at("concurrency").positive(),
            asked_input_tokens=table.at("input_token_length").positive(),
            asked_output_tokens=table.at("output_token_length").maybe(),
            output_tokens_per_s=table.at("throughput_token_per_s").maybe(),
            alone=table.at("concurrency").positive() == 1,
        )
        for table in tables
    ]
    return Results(
        format="llmperf-bench digest",
        rows=rows,
        mapping=(
            Mapped(DIGEST_TTFT, "ttft_s", "milliseconds"),
            Mapped("input_token_length", "input_tokens", "what was asked for"),
            Mapped("throughput_token_per_s", "output_tokens_per_s", "of all requests together"),
            Mapped("latency_ms_per_token", "nothing", "the prefill is in it: it is no time per output token"),
        ),
        notes=("lengths are what the benchmark asked for; llmperf's full results have what was counted, often less",),
        facts={"concurrencies": len(rows)},
    )


def read_responses(responses: Sequence[Node]) -> Results:
    """Single responses; those with an error code are left out. Raises DocumentError."""
    good = [node for node in responses if node.at("error_code").value in (None, "")]
    if not good:
        raise none_left(responses[0].place, len(responses))
    rows = bounded(
        Row(
            place=node.place,
            input_tokens=node.at("number_input_tokens").positive(),
            ttft_s=node.at("ttft_s").positive(),
            tpot_s=per_token(
                node.at("end_to_end_latency_s").maybe(),
                node.at("ttft_s").positive(),
                node.at("number_output_tokens").maybe(),
            ),
            output_tokens=node.at("number_output_tokens").maybe(),
            requests=1,
            per_request=True,
        )
        for node in good
    )
    left = len(responses) - len(good)
    return Results(
        format="llmperf individual responses",
        rows=rows,
        mapping=(Mapped("ttft_s", "ttft_s"), Mapped("number_input_tokens", "input_tokens"), MAPPING[3]),
        notes=(f"{left} failed requests are left out",) if left else (),
    )
