"""The whole catalogue as one document, out and in: what is written is read back identically."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from planner import store
from planner.documents.errors import DocumentError, FieldError, refuse
from planner.models import Entry

SCHEMA_VERSION = 1


def whole(kinds: tuple[str, ...] = store.ALL_KINDS) -> dict[str, Any]:
    """Every entry that is offered, by kind, in the order of their names."""
    found = {kind: [store.written(entry) for entry in store.entries(kind).order_by("name")] for kind in kinds}
    return {"schema_version": SCHEMA_VERSION, **{kind: entries for kind, entries in found.items() if entries}}


def read_whole(document: Any, *, by: int | None = None) -> list[Entry]:
    """Stores all entries of a document, or none. Raises DocumentError with every mistake."""
    return store.store_all(list(_entries(document)), by=by)


def _entries(document: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(document, Mapping):
        raise refuse(None, None, "must be a table of entries by kind")
    version = document.get("schema_version")
    if version != SCHEMA_VERSION or isinstance(version, bool):
        raise refuse("schema_version", version, f"is not known; this version reads {SCHEMA_VERSION}")
    found = []
    for kind, entries in document.items():
        if kind == "schema_version":
            continue
        if kind not in store.ALL_KINDS:
            found.append(FieldError(kind, None, f"is no kind of entry; allowed: {', '.join(store.ALL_KINDS)}"))
        elif not isinstance(entries, list):
            found.append(FieldError(kind, entries, "must be a list of entries"))
        else:
            yield from ((kind, entry) for entry in entries)
    if found:
        raise DocumentError(found)
