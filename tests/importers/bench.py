"""Small benchmark results in the shapes that the tools write."""

import json

from planner.documents.errors import DocumentError

SERVING = {
    "date": "20261101-101010",
    "backend": "vllm",
    "model_id": "meta-llama/Llama-3.1-8B-Instruct",
    "num_prompts": 50,
    "request_rate": "inf",
    "max_concurrency": 1,
    "duration": 30.0,
    "completed": 50,
    "total_input_tokens": 51200,
    "total_output_tokens": 6400,
    "request_throughput": 1.6,
    "output_throughput": 213.0,
    "mean_ttft_ms": 80.0,
    "median_ttft_ms": 79.0,
    "mean_tpot_ms": 7.5,
}
PLACE = {"hardware": "h200", "gpus_per_instance": "8"}
NAMED = PLACE | {"model": "kimi"}


def write(tmp_path, text, name="file"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def tried(call, *given):
    """The DocumentError of a call and None, or None and what it gave; any other error goes through."""
    try:
        return None, call(*given)
    except DocumentError as problem:
        return problem, None


def jsonl(*documents):
    return "".join(json.dumps(document) + "\n" for document in documents)


def serving(tokens, ttft_ms, **changed):
    return SERVING | {"total_input_tokens": tokens * 50, "mean_ttft_ms": ttft_ms} | changed


def record(start, end, ttft, tokens, phase="profiling", **changed):
    """A request as AIPerf records it; times in seconds."""
    span = {"request_start_ns": int(start * 1e9), "request_end_ns": int(end * 1e9), "benchmark_phase": phase}
    metrics = {
        "time_to_first_token": {"value": ttft * 1e3, "unit": "ms"},
        "input_sequence_length": {"value": tokens, "unit": "tokens"},
        "output_sequence_length": {"value": 10, "unit": "tokens"},
        "inter_token_latency": {"value": 6.0, "unit": "ms"},
    }
    return {"metadata": span, "metrics": metrics | changed.pop("metrics", {})} | changed
