"""Which control of a form a refused field of a document belongs to."""

from __future__ import annotations

from collections.abc import Mapping


def place(path: str, places: Mapping[str, str]) -> str | None:
    """The control of the longest known path that `path` is, or lies in; None where there is none."""
    around = [known for known in places if path == known or path.startswith(known + ".")]
    return places[max(around, key=len)] if around else None
