"""Puts what the product ships with into the stored catalogue, and leaves alone what people have changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db import IntegrityError, transaction

from planner import catalog, comparison, facts, recorded, scenario, store
from planner.documents.errors import refuse
from planner.documents.order import ordered
from planner.entries import KINDS, check
from planner.importers.traces.collect import Collected
from planner.models import Deleted, Entry, Revision
from planner.scenario.schema import Document

TRACES = {
    "synthetic-conversations": ("conversations.jsonl", "Synthetic conversations that share and grow prefixes"),
    "synthetic-completions": ("completions.csv", "Synthetic independent completions"),
}
"""Entries of the shipped traces: file and title."""
Change = Revision.Change
type Place = tuple[str, str]
"""Kind and name."""


@dataclass(frozen=True, slots=True)
class Shipped:
    """An entry as it would be stored."""

    kind: str
    document: dict[str, Any]
    facts: dict[str, Any]

    @property
    def place(self) -> Place:
        """By which it is found."""
        return self.kind, self.document["name"]

    @property
    def named(self) -> set[Place]:
        """Entries that it names."""
        references = KINDS[self.kind].references if self.kind in KINDS else {}
        return {(target, self.document[field]) for field, target in references.items()}


def seed(*, deleted: bool = False) -> int:
    """Stores what is not there yet, and brings what nobody has changed up to date; the number of entries touched.

    What somebody deleted stays away, and with it what names it; `deleted` brings it back.
    """
    try:
        with transaction.atomic():
            if deleted:
                Deleted.objects.all().delete()
            return _add_missing() + _bring_up_to_date()
    except IntegrityError:  # another process that has started at the same time does the same
        return 0


def bring_back(kind: str, name: str) -> Entry | None:
    """Stores a shipped entry again that somebody deleted; None where none of that name was.

    Raises DocumentError where it cannot be had again by itself.
    """
    was = Deleted.objects.filter(kind=kind, name=name)
    if store.named(kind, name) or not was.exists():
        return None
    with transaction.atomic():
        was.delete()
        seed()
        entry = store.named(kind, name)
        if entry is None:
            raise refuse("name", name, "cannot come back: it is shipped no more, or names what was deleted too")
    return entry


def _add_missing() -> int:
    there = set(Entry.objects.values_list("kind", "name"))
    away = there | set(Deleted.objects.values_list("kind", "name"))
    new = [each for each in (*_entries(), *_traffic(away)) if each.place not in away]
    known = there | {each.place for each in new}
    complete = [each for each in new if each.named <= known]
    _add(complete)
    return len(complete)


def _add(new: list[Shipped]) -> None:
    rows = [
        Entry(
            kind=each.kind,
            name=each.document["name"],
            title=each.document.get("title", ""),
            document=each.document,
            facts=each.facts,
            origin=Entry.Origin.SHIPPED,
        )
        for each in new
    ]
    stored = Entry.objects.bulk_create(rows)
    Revision.objects.bulk_create(
        Revision(entry=row, number=1, change=Change.CREATED, document=row.document) for row in stored
    )


def _bring_up_to_date() -> int:
    """What an earlier version has stored, where nobody has edited it since."""
    now = {each.place: each for each in _entries()}
    untouched = Entry.objects.filter(origin=Entry.Origin.SHIPPED).exclude(revisions__change=Change.EDITED)
    changed = [entry for entry in untouched if (entry.kind, entry.name) in now]
    changed = [entry for entry in changed if entry.document != now[entry.kind, entry.name].document]
    for entry in changed:
        store.update(entry, now[entry.kind, entry.name].document, revision=entry.revision, change=Change.IMPORTED)
    return len(changed)


@cache
def _entries() -> tuple[Shipped, ...]:
    """Everything that is shipped, checked: once in the life of a process."""
    return tuple(_checked(kind, document) for kind in store.ALL_KINDS for document in catalog.documents(kind))


def _checked(kind: str, document: dict[str, Any]) -> Shipped:
    if kind == store.SCENARIOS:
        found = scenario.parse(document)
        return Shipped(kind, ordered(found.document(), Document), {})
    if kind == store.COMPARISONS:
        asked = comparison.parse(document, catalog.SHIPPED)
        return Shipped(kind, comparison.in_order(asked.document()), {})
    return Shipped(kind, ordered(document, type(check(kind, document))), facts.of(kind, document))


# --- traces ------------------------------------------------------------------------------------------------------


def _traffic(away: set[Place]) -> Iterator[Shipped]:
    """Entries of the shipped traces, except those that stay away, their requests stored."""
    for name, (file, title) in TRACES.items():
        if ("traffic", name) not in away:
            collected = recorded.keep_shipped(file)
            yield _checked("traffic", _document(name, file, title, collected))


def _document(name: str, file: str, title: str, collected: Collected) -> dict[str, Any]:
    origin = {"kind": "estimated", "source": f"Drawn by planner.catalog.traces.generate, {file}; recorded nowhere"}
    found = collected.imported.document
    about = {"name": name, "title": title, "trace": collected.digest}
    return {**found, **about, "provenance": dict.fromkeys(found["provenance"], origin)}
