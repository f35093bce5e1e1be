"""A comparison as files: a line for every metric of every deployment, in the units of the result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

COLUMNS = (
    "comparison", "version", "form", "scale", "scenario", "is_baseline", "group", "metric", "unit", "value", "low",
    "high", "relative_to_baseline", "is_best", "provenance", "formula",
)  # fmt: skip
MARK = "\ufeff"
"""A spreadsheet takes a file without it for one of its own country's letters, and shows Λ as others."""


def lines(result: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """The table of a result document: headings, then a line each."""
    yield COLUMNS
    head = (result["comparison"], result["version"], result["form"], result["scale"])
    for row in result["metrics"]:
        for at, (each, value) in enumerate(zip(result["scenarios"], row["values"], strict=True)):
            yield (
                *head, each["name"], each["name"] == result["baseline"], row["group"], row["key"], row["unit"],
                value["value"], value["low"], value["high"], value["relative"], row["winner"] == at, value["kind"],
                row["formula"],
            )  # fmt: skip
