"""Comparisons as a table to keep: a measured figure a line, SI units."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from planner.accuracy.lines import Line
from planner.models import Entry

COLUMNS = (
    "run", "input_tokens", "output_tokens", "concurrency", "rate_rps", "quantity", "measured", "lower", "upper",
    "error", "place", "is_extrapolated", "evidence", "reason",
)  # fmt: skip
SUBJECT = ("measurement", "model", "hardware", "gpus_per_instance", "profile")


def rows(found: Iterable[tuple[Entry, str, Line]]) -> Iterator[list[Any]]:
    """Header and lines; of each the measurement and the name of the profile, empty where there is none."""
    yield [*SUBJECT, *COLUMNS]
    for entry, profile, line in found:
        document, told = entry.document, line.as_json()
        about = [entry.name, document["model"], document["hardware"], document.get("gpus_per_instance"), profile]
        yield [*about, *(told[column] for column in COLUMNS)]
