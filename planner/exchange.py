"""The whole catalogue as one document, out and in: what is written is read back identically."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from planner import recorded, store
from planner.documents.errors import DocumentError, FieldError, refuse
from planner.importers.tables import quoted
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


@dataclass(frozen=True, slots=True)
class Taken:
    """Entries that were stored, and what the user should know of them."""

    put: list[store.Put]
    notes: tuple[str, ...] = ()


def read_whole(document: Any, *, by: int | None = None) -> Taken:
    """Stores all entries of a document, or none. Raises DocumentError with every mistake."""
    return take(entries(document), by=by)


def take(documents: Iterable[tuple[str, Any]], *, by: int | None = None) -> Taken:
    """Stores all entries, or none; traffic whose recorded requests are not here comes without `trace`, and is named.

    Raises DocumentError with every mistake.
    """
    found: list[tuple[str, Any]] = []
    without: list[str] = []
    documents = list(documents)  # what is no catalogue is refused here
    with transaction.atomic():
        for kind, document in documents:
            if kind == "traffic" and _lacks_its_trace(document):
                without.append(str(document.get("name")))
                document = {field: value for field, value in document.items() if field != "trace"}
            found.append((kind, document))
        put = store.store_all(found, by=by)
    return Taken(put, (_WITHOUT.format(quoted(without)),) if without else ())


_WITHOUT = (
    "the recorded requests of {} are not stored here: the figures computed from them are kept, `trace` is left out; "
    "import the request log itself to have the requests too"
)


def _lacks_its_trace(document: Any) -> bool:
    """Whether traffic names requests that are not stored here; what is no digest is refused later, as any mistake."""
    trace = document.get("trace") if isinstance(document, Mapping) else None
    return isinstance(trace, str) and bool(re.fullmatch("[0-9a-f]{64}", trace)) and not recorded.is_here(trace)


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
