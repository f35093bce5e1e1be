"""Writes the shipped traces again, byte by byte: python -m planner.catalog.traces.generate.

`conversations.jsonl` is in Mooncake's format: sessions that share a system prompt and grow turn by turn, so that a
prefix cache has something to find. `completions.csv` is in Azure's: independent requests, log-normal lengths, Poisson.
Neither was recorded anywhere; the parameters below are chosen, not measured.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import count

import numpy as np

from planner.catalog.traces import HERE

BLOCK_TOKENS = 512
START = datetime(2026, 1, 5, 9, tzinfo=UTC)


def conversations(sessions: int = 120, seed: int = 1) -> str:
    """JSONL: timestamp in ms, input_length, output_length, hash_ids of 512-token blocks, session_id."""
    random = np.random.default_rng(seed)
    fresh = count(1)
    system = [next(fresh) for _ in range(2)]
    rows: list[tuple[int, dict[str, object]]] = []
    for session in range(sessions):
        at_s = float(random.uniform(0, 1800))
        blocks = list(system)
        for _ in range(int(random.geometric(0.3))):
            blocks += [next(fresh) for _ in range(int(random.geometric(0.25)))]
            length = len(blocks) * BLOCK_TOKENS - int(random.integers(0, BLOCK_TOKENS))
            row = {
                "timestamp": int(1000 * at_s),
                "input_length": length,
                "output_length": int(random.integers(32, 900)),
                "hash_ids": list(blocks),
                "session_id": f"s{session:03d}",
            }
            rows.append((int(1000 * at_s), row))
            at_s += float(random.exponential(45)) + 5
    rows.sort(key=lambda pair: pair[0])
    return "".join(json.dumps(row) + "\n" for _, row in rows)


def completions(requests: int = 1500, rate_rps: float = 2.5, seed: int = 2) -> str:
    """CSV: TIMESTAMP, ContextTokens, GeneratedTokens."""
    random = np.random.default_rng(seed)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["TIMESTAMP", "ContextTokens", "GeneratedTokens"])
    at_s = np.cumsum(random.exponential(1 / rate_rps, requests))
    inputs = np.clip(np.exp(random.normal(7.6, 1.1, requests)), 16, 65536).astype(int)
    outputs = np.clip(np.exp(random.normal(4.8, 0.9, requests)), 1, 2048).astype(int)
    for at, read, wrote in zip(at_s, inputs, outputs, strict=True):
        moment = START + timedelta(seconds=float(at))
        writer.writerow([f"{moment:%Y-%m-%d %H:%M:%S.%f}", read, wrote])
    return text.getvalue()


TRACES: Mapping[str, Callable[[], str]] = {"conversations.jsonl": conversations, "completions.csv": completions}

if __name__ == "__main__":
    for name, make in TRACES.items():
        (HERE / name).write_text(make(), encoding="utf-8")
