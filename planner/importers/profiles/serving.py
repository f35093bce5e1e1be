"""Results of vLLM's and SGLang's serving benchmarks, and of SGLang's one-batch benchmark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.importers.base import Mapped
from planner.importers.profiles.nodes import Node
from planner.importers.profiles.rows import Results, Row, bounded, completed, few, given, none_left, ttft_percentiles

SERVING = ("mean_ttft_ms", "completed")
ONE_BATCH = ("batch_size", "input_len")


def is_serving(node: Node) -> bool:
    """Whether it is a result of `vllm bench serve` or `sglang.bench_serving`."""
    return node.has(*SERVING)


def is_one_batch(node: Node) -> bool:
    """Whether it is a result of `sglang.bench_one_batch` or its server variant."""
    return node.has(*ONE_BATCH) and (node.has("prefill_latency") or node.has("ttft"))


def read_serving(runs: Sequence[Node]) -> Results:
    """One run or several, a line each. Raises DocumentError."""
    rows = bounded(row for run in runs for row in _run(run))
    first = runs[0]
    notes = few(rows)
    singles = sum(row.per_request for row in rows)
    failed = sum(len(run.at("ttfts").value) for run in runs if _detailed(run)) - singles
    if failed:
        notes.append(f"{failed} requests that failed are left out")
    return Results(
        format="vLLM/SGLang serving benchmark",
        rows=rows,
        mapping=(
            Mapped("mean_ttft_ms, ttfts", "ttft_s", "TTFT as the client saw it: tokenising and the network are in it"),
            Mapped("total_input_tokens / completed, input_lens", "input_tokens"),
            Mapped("mean_tpot_ms", "tpot_s"),
            Mapped("total_output_tokens / completed, output_lens", "output_tokens"),
            Mapped("max_concurrency", "concurrency", "SGLang's measured mean where no limit was set"),
        ),
        notes=tuple(notes),
        model=first.at("model_id").text() or first.at("model").text(),
        engine=first.at("backend").text() or first.at("endpoint_type").text() or "",
        facts={"runs": len(runs)},
    )


def _run(run: Node) -> Iterator[Row]:
    count = completed(run.at("completed"), run.at("failed").maybe())
    limit = run.at("max_concurrency").maybe()
    seen = run.at("concurrency").maybe()
    concurrency, alone = seen if limit is None else limit, limit == 1
    if _detailed(run):
        yield from _requests(run, concurrency, alone)
        return
    rate = run.at("request_rate")
    yield Row(
        place=run.place,
        input_tokens=run.at("total_input_tokens").positive() / count,
        ttft_s=run.at("mean_ttft_ms").positive() / 1e3,
        tpot_s=(run.at("mean_tpot_ms").maybe() or 0) / 1e3 or None,
        output_tokens=run.at("total_output_tokens").number() / count,
        concurrency=concurrency,
        requests=count,
        requested_rate_rps=None if rate.value in ("inf", "Infinity", float("inf")) else rate.maybe(),
        output_tokens_per_s=run.at("output_throughput").maybe(),
        alone=alone,
        more=_more(run),
    )


def _more(run: Node) -> dict[str, float]:
    times = ttft_percentiles(lambda name: run.at(name).maybe(), ("median_ttft_ms", "p90_ttft_ms", "p99_ttft_ms"), 1e-3)
    return times | given(throughput_rps=run.at("request_throughput").maybe())


def _detailed(run: Node) -> bool:
    """Whether every request is there and not only their means."""
    lengths, times = run.at("input_lens").value, run.at("ttfts").value
    return isinstance(lengths, list) and isinstance(times, list) and 0 < len(lengths) == len(times)


def _requests(run: Node, concurrency: float | None, alone: bool) -> Iterator[Row]:
    """The requests of a detailed result that came through: a failed one has a TTFT of 0 and an error."""
    errors, outputs = run.at("errors").value, run.at("output_lens").value
    lengths, times = list(run.at("input_lens").items()), list(run.at("ttfts").items())
    tpot = (run.at("mean_tpot_ms").maybe() or 0) / 1e3 or None
    found = failed = 0
    for index, (length, ttft) in enumerate(zip(lengths, times, strict=True)):
        has_error = isinstance(errors, list) and index < len(errors) and bool(errors[index])
        if has_error or ttft.number() == 0:
            failed += 1
            continue
        found += 1
        counted = isinstance(outputs, list) and index < len(outputs)
        yield Row(
            place=length.place,
            input_tokens=length.positive(),
            ttft_s=ttft.positive(),
            tpot_s=tpot,
            output_tokens=Node(outputs[index], f"output_lens.{index}", run.line).number() if counted else None,
            concurrency=concurrency,
            requests=1,
            alone=alone,
            per_request=True,
        )
    if not found:
        raise none_left(run.place, failed)


def read_one_batch(runs: Sequence[Node]) -> Results:
    """Batches that were prefilled as one, a line each. Raises DocumentError."""
    rows = bounded(
        Row(
            place=run.place,
            input_tokens=run.at("input_len").positive(),
            ttft_s=(run.at("prefill_latency") if run.has("prefill_latency") else run.at("ttft")).positive(),
            tpot_s=run.at("median_decode_latency").maybe() or None,
            output_tokens=run.at("output_len").maybe(),
            concurrency=run.at("batch_size").positive(),
            alone=run.at("batch_size").positive() == 1,
        )
        for run in runs
    )
    return Results(
        format="SGLang one-batch benchmark",
        rows=rows,
        mapping=(
            Mapped("prefill_latency, ttft", "ttft_s", "seconds of one batch, all of its prompts together"),
            Mapped("input_len", "input_tokens"),
            Mapped("median_decode_latency", "tpot_s"),
            Mapped("batch_size", "concurrency"),
        ),
        engine="SGLang",
    )
