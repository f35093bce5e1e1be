"""The table of measurements that ships with NVIDIA's AIConfigurator: many models on many systems in one file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from planner.documents.errors import refuse
from planner.importers.base import Choices, Mapped
from planner.importers.profiles.groups import ambiguous, chosen
from planner.importers.profiles.rows import Results, Row, bounded
from planner.importers.tables import Record, checked_header, records

NEEDED = ("system", "model_path", "backend", "isl", "batch_size", "tp_size", "silicon_ttft_ms")
GROUPS = {
    "model": "model_path",
    "system": "system",
    "backend": "backend",
    "backend_version": "backend_version",
    "tp": "tp_size",
    "ep": "moe_ep_size",
    "quant": "gemm_quant_mode",
}
"""By which choice the rows of one thing are found, and in which column."""


def is_table(header: Sequence[str]) -> bool:
    """Whether the first row of a CSV is the header of this table."""
    return set(NEEDED) <= set(header)


def read(header: tuple[int, list[str]], below: Iterable[tuple[int, list[str]]], choices: Choices) -> Results:
    """The rows that the choices leave. Raises DocumentError on a cell that cannot be or a choice that none meets."""
    line, names = header
    every = bounded(_row(record) for record in records(checked_header(line, names), below))
    if not every:
        raise refuse(f"line {line}", None, "is the only line: there are no measurements below the header")
    rows = chosen(every, choices)
    first = rows[0].group
    ours = not ambiguous(rows)
    gpus = _gpus(first) if ours else None
    return Results(
        format="AIConfigurator silicon measurements",
        rows=rows,
        mapping=(
            Mapped("isl", "input_tokens"),
            Mapped("silicon_ttft_ms", "ttft_s", "milliseconds"),
            Mapped("silicon_tpot_ms", "tpot_s", "milliseconds"),
            Mapped("batch_size", "concurrency"),
            *(Mapped(column, choice) for choice, column in GROUPS.items() if column in names),
        ),
        notes=_notes(rows),
        model=first["model"] if ours else None,
        system=first["system"] if ours else None,
        engine=" ".join(filter(None, (first["backend"], first["backend_version"]))) if ours else "",
        gpus=gpus,
        precision=f"{first['quant']} weights" if ours and first["quant"] else "",
        facts={"rows": len(every), "groups": len({tuple(row.group.items()) for row in every})},
    )


def _gpus(group: Mapping[str, str]) -> int | None:
    """GPUs of one instance, where expert parallelism does not take more of them than the tensors do."""
    tp, ep = int(group["tp"] or 1), int(group["ep"] or 1)
    return tp if ep <= tp else None


def _notes(rows: Sequence[Row]) -> tuple[str, ...]:
    crowded = sorted({row.concurrency for row in rows if row.concurrency and row.concurrency > 1})
    if not crowded:
        return ()
    sizes = ", ".join(f"{size:g}" for size in crowded)
    return (
        f"TTFT at batch {sizes} has the waiting for the other requests of the batch in it: it is no single prefill",
    )


def _row(record: Record) -> Row:
    def positive(column: str) -> float:
        value = record.number(column)
        if value is None or value <= 0:
            raise refuse(record.place(column), record.cells[column] or None, "must be greater than 0")
        return value

    tpot_ms = record.number("silicon_tpot_ms", 0.0) if "silicon_tpot_ms" in record.cells else None
    batch = positive("batch_size")
    for column in ("tp_size", "moe_ep_size"):
        text = record.cells.get(column, "")
        if text and not (text.isascii() and text.isdigit() and len(text) <= 6 and 0 < int(text) <= 100_000):
            raise refuse(record.place(column), text, "must be a whole number from 1 to 100000")
    return Row(
        place=f"line {record.line}",
        input_tokens=positive("isl"),
        ttft_s=positive("silicon_ttft_ms") / 1e3,
        tpot_s=tpot_ms / 1e3 if tpot_ms else None,
        output_tokens=record.number("osl", 0.0) if "osl" in record.cells else None,
        concurrency=batch,
        alone=batch == 1,
        group={choice: record.cells.get(column, "") for choice, column in GROUPS.items()},
    )
