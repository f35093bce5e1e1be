"""Where a figure comes from: the entry at its path, or at the nearest part that holds it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def nearest(document: Mapping[str, Any], path: str) -> Mapping[str, Any] | None:
    """The provenance entry that speaks for a dotted path; None where nobody states it."""
    entries: Mapping[str, Any] = document.get("provenance") or {}
    parts = path.split(".")
    around = (entries.get(".".join(parts[:size])) for size in range(len(parts), 0, -1))
    return next((entry for entry in around if entry), None)
