"""The requests of recorded traces, each trace stored once, whoever uses it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from planner.models import Trace, TraceChunk

type Chunks = Iterable[tuple[int, bytes]]
"""Requests in a chunk, and the chunk as `planner.engine.traces.encode` writes it."""


def keep(digest: str, rows: int, statistics: dict[str, Any], chunks: Chunks) -> None:
    """Stores the chunks, unless the same requests are stored already. Call it in a transaction."""
    trace, is_new = Trace.objects.get_or_create(digest=digest, defaults={"rows": rows, "statistics": statistics})
    if is_new:
        for index, (count, data) in enumerate(chunks):
            TraceChunk.objects.create(trace=trace, index=index, rows=count, data=data)
