"""Request logs: rows a second and peak memory beside csv.DictReader and json.loads, and bytes a request when stored."""

import csv
import json
import tempfile
import time
from pathlib import Path

import numpy as np

from planner.engine.traces import encode
from planner.importers import traces
from tests.shared_data import SHARED

ROWS = 300_000
REAL = {
    "Mooncake": SHARED / "traces" / "mooncake_conversation_trace.jsonl.gz",
    "Azure": SHARED / "traces" / "AzureLLMInferenceTrace_2023_conv.csv.gz",
}


def synthetic(folder):
    """A table and JSON lines with the same requests."""
    rng = np.random.default_rng(1)
    seconds = np.cumsum(rng.exponential(0.03, ROWS))
    inputs, outputs = rng.integers(1, 30_000, ROWS).tolist(), rng.integers(1, 900, ROWS).tolist()
    stamps = np.datetime64("2024-05-10", "us") + (seconds * 1e6).astype("timedelta64[us]")
    table, objects = folder / "table.csv", folder / "objects.jsonl"
    rows = zip(np.char.replace(np.datetime_as_string(stamps), "T", " ").tolist(), inputs, outputs, strict=True)
    table.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n" + "".join(f"{a}+00:00,{b},{c}\n" for a, b, c in rows))
    with objects.open("w") as file:
        for millisecond, a, b in zip((seconds * 1e3).astype(int).tolist(), inputs, outputs, strict=True):
            file.write(json.dumps({"timestamp": millisecond, "input_length": a, "output_length": b}) + "\n")
    return table, objects


def plain_table(path):
    with path.open() as file:
        return [
            (row["TIMESTAMP"], int(row["ContextTokens"]), int(row["GeneratedTokens"])) for row in csv.DictReader(file)
        ]


def plain_objects(path):
    with path.open() as file:
        rows = [json.loads(line) for line in file]
    return [(row["timestamp"], row["input_length"], row["output_length"]) for row in rows]


def seconds_of(run, *args):
    began = time.perf_counter()
    run(*args)
    return time.perf_counter() - began


def lines():
    """Rows a second with all statistics, and of the plain way without any; bytes a request of real traces."""
    with tempfile.TemporaryDirectory() as folder:
        table, objects = synthetic(Path(folder))
        for title, path, plain in (("table", table, plain_table), ("JSON lines", objects, plain_objects)):
            ours = min(seconds_of(traces.inspect, path, {}) for _ in range(3))
            theirs = min(seconds_of(plain, path) for _ in range(3))
            yield (
                f"{f'request log, {title}, {ROWS:,} rows':<48} {ours * 1e3:10.2f} {theirs * 1e3:12,.1f} "
                f"{theirs / ours:8,.1f}×  {ROWS / ours:,.0f} rows/s with statistics; the loop only reads"
            )
    for title, path in REAL.items():
        if path.exists():
            chunks = list(traces.open_trace(path, {}).chunks())
            rows, size = sum(chunk.rows for chunk in chunks), sum(len(encode(chunk)) for chunk in chunks)
            yield f"{f'{title} stored':<48} {size / rows:10.2f} bytes a request"
