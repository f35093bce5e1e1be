"""Puts what the product ships with into the stored catalogue, and leaves alone what people have changed."""

from __future__ import annotations

from django.db import transaction

from planner import catalog, store
from planner.models import Entry, Revision


def seed() -> int:
    """Stores what is not there yet, and brings what nobody has changed up to date; the number of entries touched.

    An entry that was deleted stays deleted only until the next start: to be rid of it for good, archive it.
    """
    with transaction.atomic():
        return sum(_seed(kind, document) for kind in store.ALL_KINDS for document in _shipped(kind))


def _shipped(kind: str) -> list[dict[str, object]]:
    return catalog.documents(kind)


def _seed(kind: str, document: dict[str, object]) -> bool:
    there = Entry.objects.filter(kind=kind, name=document["name"]).first()
    if there is None:
        store.create(kind, document, origin=Entry.Origin.SHIPPED)
        return True
    if there.origin != Entry.Origin.SHIPPED or there.revisions.filter(change=Revision.Change.EDITED).exists():
        return False
    if store.checked(kind, document) == there.document:
        return False
    store.update(there, document, revision=there.revision, change=Revision.Change.IMPORTED)
    return True
