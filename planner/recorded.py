"""The requests of recorded traces, each trace stored once, whoever uses it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from planner.catalog.traces import HERE
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
