"""Puts what the product ships with into the stored catalogue, and leaves alone what people have changed."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from django.db import transaction

from planner import catalog, recorded, store
from planner.catalog.traces import HERE
from planner.importers.traces.collect import Order, collect
from planner.models import Entry, Revision

TRACES = {
    "synthetic-conversations": ("conversations.jsonl", "Synthetic conversations that share and grow prefixes"),
    "synthetic-completions": ("completions.csv", "Synthetic independent completions"),
}
"""Entries of the shipped traces: file and title."""


def seed() -> int:
    """Stores what is not there yet, and brings what nobody has changed up to date; the number of entries touched.

    An entry that was deleted comes back at the next start: to be rid of it for good, archive it.
    """
    with transaction.atomic():
        touched = sum(_seed_trace(name, *about) for name, about in TRACES.items())
        return touched + sum(_seed(kind, entry) for kind in store.ALL_KINDS for entry in catalog.documents(kind))


def _seed(kind: str, document: dict[str, Any]) -> bool:
    there = store.named(kind, document["name"])
    if there is None:
        store.create(kind, document, origin=Entry.Origin.SHIPPED)
        return True
    if there.origin != Entry.Origin.SHIPPED or there.revisions.filter(change=Revision.Change.EDITED).exists():
        return False
    if store.checked(kind, document) == there.document:
        return False
    store.update(there, document, revision=there.revision, change=Revision.Change.IMPORTED)
    return True


def _seed_trace(name: str, file: str, title: str) -> bool:
    """Once: a trace does not change, and is read in a moment."""
    if store.named("traffic", name):
        return False
    with tempfile.TemporaryDirectory() as directory:
        spool = Path(directory)
        collected = collect(Order(HERE / file, {}, spool), _quietly)
        trace = recorded.keep(spool, collected)
    origin = {"kind": "estimated", "source": f"Drawn by planner.catalog.traces.generate, {file}; recorded nowhere"}
    document = {**collected.imported.document, "name": name, "title": title, "trace": trace.digest}
    provenance = dict.fromkeys(document["provenance"], origin)
    store.create("traffic", {**document, "provenance": provenance}, origin=Entry.Origin.SHIPPED)
    return True


def _quietly(done: int, total: int, message: str) -> None: ...
