"""The requests of recorded traces, each trace stored once, whoever uses it."""

from __future__ import annotations

from pathlib import Path

from planner.importers.traces.collect import Collected, place
from planner.models import Trace, TraceChunk


def keep(spool: Path, collected: Collected) -> Trace:
    """Stores the chunks that a spool holds, unless the same requests are stored already. Call it in a transaction."""
    trace, is_new = Trace.objects.get_or_create(
        digest=collected.digest,
        defaults={"rows": sum(collected.rows), "statistics": collected.imported.facts},
    )
    if is_new:
        for index, rows in enumerate(collected.rows):
            TraceChunk.objects.create(trace=trace, index=index, rows=rows, data=place(spool, index).read_bytes())
    return trace
