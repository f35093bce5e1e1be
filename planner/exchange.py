"""The whole catalogue as one document, out and in: what is written is read back identically."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from planner import store
from planner.documents.errors import DocumentError, FieldError, refuse
from planner.models import Entry

SCHEMA_VERSION = 1
MOST_ENTRIES = 10_000
"""Entries of a file, which are stored in one transaction."""


def whole(kinds: tuple[str, ...] = store.ALL_KINDS) -> dict[str, Any]:
    """Every entry that is offered or that an entry names, by kind, in the order of their names."""
    found = {kind: [store.written(entry) for entry in _exported(kind)] for kind in kinds}
    return {"schema_version": SCHEMA_VERSION, **{kind: entries for kind, entries in found.items() if entries}}


def _exported(kind: str) -> list[Entry]:
    """Without an archived entry that others name, they could not be read back."""
    every = store.entries(kind, archived=None).order_by("name")
    return [entry for entry in every if not entry.archived or store.users(entry)]


def read_whole(document: Any, *, by: int | None = None) -> list[store.Put]:
    """Stores all entries of a document, or none. Raises DocumentError with every mistake."""
    return store.store_all(list(entries(document)), by=by)


def entries(document: Any) -> Iterator[tuple[str, Any]]:
    """Kind and document of every entry. Raises DocumentError on what is no catalogue."""
    if not isinstance(document, Mapping):
        raise refuse(None, None, "must be a table of entries by kind")
    version = document.get("schema_version")
    if version != SCHEMA_VERSION or isinstance(version, bool):
        raise refuse("schema_version", version, f"is not known; this version reads {SCHEMA_VERSION}")
    count = sum(len(listed) for listed in document.values() if isinstance(listed, list))
    if count > MOST_ENTRIES:
        raise refuse(None, None, f"has {count:,} entries; takes at most {MOST_ENTRIES:,} a file, so divide it")
    found = []
    for kind, listed in document.items():
        if kind == "schema_version":
            continue
        if kind not in store.ALL_KINDS:
            found.append(FieldError(kind, None, f"is no kind of entry; allowed: {', '.join(store.ALL_KINDS)}"))
        elif not isinstance(listed, list):
            found.append(FieldError(kind, listed, "must be a list of entries"))
        else:
            yield from ((kind, entry) for entry in listed)
    if found:
        raise DocumentError(found)
