"""The requests of recorded traces, each trace stored once, whoever uses it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from planner.catalog.traces import HERE
from planner.engine.simulation.prompts import NO_BLOCKS, RecordedPrompts
from planner.engine.traces import Chunk, decode, joined
from planner.importers.traces.collect import Collected, Order, collect
from planner.models import Trace, TraceChunk

SHIPPED = ("conversations.jsonl", "completions.csv")
"""Files of traces that the product ships with."""

type Chunks = Iterable[tuple[int, bytes]]
"""Requests in a chunk, and the chunk as `planner.engine.traces.encode` writes it."""


def keep(digest: str, rows: int, statistics: dict[str, Any], chunks: Chunks) -> None:
    """Stores the chunks, unless the same requests are stored already. Call it in a transaction."""
    trace, is_new = Trace.objects.get_or_create(digest=digest, defaults={"rows": rows, "statistics": statistics})
    if is_new:
        for index, (count, data) in enumerate(chunks):
            TraceChunk.objects.create(trace=trace, index=index, rows=count, data=data)


def is_here(digest: str) -> bool:
    """Whether the requests are stored, a shipped trace being stored by this. Call it in a transaction."""
    if Trace.objects.filter(digest=digest).exists():
        return True
    file = next((file for file in SHIPPED if shipped(file)[0].digest == digest), None)
    if file:
        keep_shipped(file)
    return file is not None


def keep_shipped(file: str) -> Collected:
    """Stores a shipped trace and gives what was read. Call it in a transaction."""
    collected, chunks = shipped(file)
    keep(collected.digest, sum(collected.rows), collected.imported.facts, chunks)
    return collected


@cache
def shipped(file: str) -> tuple[Collected, tuple[tuple[int, bytes], ...]]:
    """A shipped trace and its chunks, read once in the life of a process."""
    with tempfile.TemporaryDirectory() as directory:
        collected = collect(Order(HERE / file, {}, Path(directory)), _quietly)
        return collected, tuple(collected.chunks())


def _quietly(done: int, total: int, message: str) -> None: ...


@lru_cache(maxsize=2)
def columns(digest: str) -> Chunk | None:
    """All requests of a trace; None where it is not here."""
    parts = [bytes(data) for data in TraceChunk.objects.filter(trace=digest).values_list("data", flat=True)]
    if not parts:
        found = next((shipped(file) for file in SHIPPED if shipped(file)[0].digest == digest), None)
        parts = [data for _, data in found[1]] if found else []
    return joined([decode(part) for part in parts]) if parts else None


def prompts(digest: str, jitter_s: float | None) -> RecordedPrompts | None:
    """A trace to be replayed; None where it is not here. Without a jitter, the mean time between two requests.

    Raises ValueError on blocks of several sizes.
    """
    chunk = columns(digest)
    if chunk is None:
        return None
    blocks, arrival_s = chunk.blocks, chunk.arrival_ns / 1e9
    if blocks is not None and blocks.sizes is not None:
        raise ValueError("a trace whose blocks have several sizes cannot be replayed with a prefix cache")
    gap_s = float(arrival_s[-1] - arrival_s[0]) / arrival_s.size
    return RecordedPrompts(
        arrival_s=arrival_s,
        tokens=chunk.input_tokens,
        output=chunk.output_tokens,
        names=blocks.ids if blocks else NO_BLOCKS,
        offsets=blocks.offsets if blocks else np.zeros(arrival_s.size + 1, dtype=np.int64),
        block_tokens=blocks.block_tokens if blocks else 1,
        jitter_s=gap_s if jitter_s is None else jitter_s,
    )
