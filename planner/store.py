"""The stored catalogue: every change to an entry goes through here, is checked first, and leaves a revision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import DatabaseError, IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from planner import catalog, comparison, facts, scenario
from planner.documents.errors import MOST_TOLD, DocumentError, FieldError, refuse
from planner.documents.order import ordered
from planner.documents.paths import MOST_KNOWN
from planner.documents.plain import printable
from planner.entries import KINDS, check
from planner.models import Deleted, Entry, Revision, Trace
from planner.scenario.schema import Document

SCENARIOS, COMPARISONS = "scenarios", "comparisons"
ALL_KINDS = (*KINDS, SCENARIOS, COMPARISONS)
"""In the order in which they may be stored: what is named comes before what names it."""
Change = Revision.Change
USER = Entry.Origin.USER


class Conflict(Exception):
    """Somebody else has changed the entry since it was read."""


class InUse(Exception):
    """Others name the entry, so that it can be archived but not deleted; `users` are they."""

    def __init__(self, users: list[Entry]) -> None:
        super().__init__(f"is used by {', '.join(f'{user.kind}/{user.name}' for user in users)}")
        self.users = users


# --- reading -----------------------------------------------------------------------------------------------------


def entries(kind: str, archived: bool | None = False) -> QuerySet[Entry]:
    """The entries of a kind; `archived` None: all of them."""
    found = Entry.objects.filter(kind=kind)
    return found if archived is None else found.filter(archived=archived)


def named(kind: str, name: str) -> Entry | None:
    """The entry of a name, archived or not."""
    # Databases do not agree on what a text may consist of: none is asked for what cannot be there.
    return Entry.objects.filter(kind=kind, name=name).first() if printable(name) else None


def kept(kind: str, name: str) -> Entry | None:
    """The same; None, too, where nothing was ever stored, as before the first start."""
    try:
        return named(kind, name)
    except DatabaseError:  # no table yet
        return None


def first_names(kind: str) -> tuple[str, ...]:
    """The first names of what is offered, to be told in the place of one that is not there."""
    return tuple(entries(kind).order_by("name").values_list("name", flat=True)[:MOST_KNOWN])


class Stored:
    """The stored catalogue as scenarios look names up in it."""

    def names(self, kind: str) -> tuple[str, ...]:
        """Names of what is offered, in order."""
        return tuple(entries(kind).order_by("name").values_list("name", flat=True))

    def entry(self, kind: str, name: str) -> dict[str, Any]:
        """A document by name, archived or not. Raises LookupError."""
        found = named(kind, name)
        if found is None:
            raise scenario.NotInCatalogue(kind, name, first_names(kind))
        return dict(found.document)

    def profiles(self, model: str) -> list[dict[str, Any]]:
        """Every profile of a model that is offered."""
        return [dict(found.document) for found in entries("profiles").filter(document__model=model).order_by("name")]

    def prices(self, hardware: str) -> list[dict[str, Any]]:
        """Every offer of a chip that is not archived."""
        return [
            dict(found.document) for found in entries("prices").filter(document__hardware=hardware).order_by("name")
        ]


STORED = Stored()


class StoredOrShipped:
    """What is stored, or what is shipped where nothing is stored yet, as before the first start."""

    def entry(self, kind: str, name: str) -> dict[str, Any]:
        """See `Stored`."""
        return self._chosen().entry(kind, name)

    def profiles(self, model: str) -> Sequence[dict[str, Any]]:
        """See `Stored`."""
        return self._chosen().profiles(model)

    def prices(self, hardware: str) -> Sequence[dict[str, Any]]:
        """See `Stored`."""
        return self._chosen().prices(hardware)

    def _chosen(self) -> scenario.Catalogue:
        try:
            return STORED if Entry.objects.exists() else catalog.SHIPPED
        except DatabaseError:  # no table yet
            return catalog.SHIPPED


def users(entry: Entry) -> list[Entry]:
    """The entries that name this one."""
    naming = Q(pk__in=[])
    for kind, known in KINDS.items():
        for field, target in known.references.items():
            if target == entry.kind:
                naming |= Q(kind=kind, **{f"document__{field}": entry.name})
    if entry.kind in ("models", "traffic"):
        field = entry.kind.rstrip("s")
        naming |= Q(kind=SCENARIOS) & Q(**{f"document__{field}__name": entry.name})
    return list(Entry.objects.filter(naming).order_by("kind", "name"))


def written(entry: Entry) -> dict[str, Any]:
    """The document in the schema's order, whichever order the database keeps."""
    if entry.kind == COMPARISONS:
        return comparison.in_order(entry.document)
    schema = Document if entry.kind == SCENARIOS else KINDS[entry.kind].schema
    return dict(ordered(entry.document, schema))


def scenario_of(entry: Entry) -> scenario.Scenario:
    """The scenario that a stored document is."""
    return scenario.parse(entry.document, catalogue=STORED)


def comparison_of(entry: Entry) -> comparison.Asked:
    """The comparison that a stored document is."""
    return comparison.parse(entry.document, STORED)


# --- changing ----------------------------------------------------------------------------------------------------


def checked(kind: str, document: Any) -> dict[str, Any]:
    """The document as it would be stored: valid, complete, in the schema's order. Raises DocumentError."""
    if kind == SCENARIOS:
        found = scenario.parse(scenario.table(document), catalogue=STORED)
        return dict(ordered(found.document(), Document))
    if kind == COMPARISONS:
        return comparison.in_order(comparison.parse(scenario.table(document), STORED).document())
    entry = check(kind, document)
    _require_references(kind, document)
    return dict(ordered(document, type(entry)))


def _require_references(kind: str, document: Mapping[str, Any]) -> None:
    found = []
    for field, target in KINDS[kind].references.items():
        if not Entry.objects.filter(kind=target, name=document[field]).exists():
            names = ", ".join(first_names(target)) or "nothing yet"
            found.append(FieldError(field, document[field], f"is not among the stored {target}; known: {names}"))
    trace = document.get("trace") if kind == "traffic" else None
    if trace is not None and not Trace.objects.filter(digest=trace).exists():
        found.append(FieldError("trace", trace, "is no stored trace; import the trace, or leave the field out"))
    if found:
        raise DocumentError(found)


def create(
    kind: str, document: Any, *, by: int | None = None, change: str = Change.CREATED, origin: str = USER
) -> Entry:
    """Stores a new entry. Raises DocumentError, also where the name is taken."""
    accepted = checked(kind, document)
    try:
        with transaction.atomic():
            entry = Entry.objects.create(
                kind=kind,
                name=accepted["name"],
                title=accepted.get("title", ""),
                document=accepted,
                facts=facts.of(kind, accepted),
                origin=origin,
            )
            _note(entry, change, by)
    except IntegrityError as problem:
        raise refuse("name", accepted["name"], f"is taken among {kind}; choose another") from problem
    return entry


def update(entry: Entry, document: Any, *, revision: int, by: int | None = None, change: str = Change.EDITED) -> Entry:
    """Stores a new document in the place of `revision`. Raises DocumentError, and Conflict if that is not the last."""
    accepted = checked(entry.kind, document)
    if accepted["name"] != entry.name:
        raise refuse("name", accepted["name"], f"cannot change, since others may name it; it is {entry.name}")
    values = {"title": accepted.get("title", ""), "document": accepted, "facts": facts.of(entry.kind, accepted)}
    return _changed(entry, revision, change, by, **values)


def archive(entry: Entry, *, revision: int, by: int | None = None) -> Entry:
    """Offers it no more; what uses it goes on. Raises Conflict."""
    return _offered(entry, revision, Change.ARCHIVED, by, archived=True)


def restore(entry: Entry, *, revision: int, by: int | None = None) -> Entry:
    """Offers it again. Raises Conflict."""
    return _offered(entry, revision, Change.RESTORED, by, archived=False)


def _offered(entry: Entry, revision: int, change: str, by: int | None, *, archived: bool) -> Entry:
    """What is so already stays as it is, without a revision that changes nothing."""
    if entry.archived != archived:
        return _changed(entry, revision, change, by, archived=archived)
    _require_last(entry, revision)
    return entry


def _require_last(entry: Entry, revision: int) -> None:
    if revision != entry.revision:
        raise _late(entry, revision)


def _late(entry: Entry, revision: int) -> Conflict:
    return Conflict(f"{entry} was changed by somebody else since revision {revision}; reload and try again")


def delete(entry: Entry, *, revision: int | None = None) -> None:
    """Removes it with its history, for good: `planner.seeding` does not store it again unasked.

    Raises InUse, and Conflict where `revision` is given and is not the last.
    """
    if revision is not None:
        _require_last(entry, revision)
    using = users(entry)
    if using:
        raise InUse(using)
    with transaction.atomic():
        if entry.origin == Entry.Origin.SHIPPED:
            Deleted.objects.get_or_create(kind=entry.kind, name=entry.name)
        entry.delete()


def clone(entry: Entry, name: str, *, by: int | None = None) -> Entry:
    """The same document under another name. Raises DocumentError."""
    return create(entry.kind, {**entry.document, "name": name}, by=by)


@dataclass(frozen=True, slots=True)
class Put:
    """An entry that was put in its place, and whether it was `new`, `changed` or `equal`."""

    entry: Entry
    status: str


def store_all(documents: Iterable[tuple[str, Any]], *, by: int | None = None) -> list[Put]:
    """Stores many, all or none: new ones are created, changed ones edited, equal ones left alone.

    Raises DocumentError, the fields prefixed by the entry they stand in: its name, or where it has none its place
    among those of its kind, the first being 0.
    """
    stored = []
    ordered_by_kind = sorted(documents, key=lambda pair: ALL_KINDS.index(pair[0]))
    mistakes = list(_named_twice(ordered_by_kind))
    more = 0
    before: Counter[str] = Counter()
    with transaction.atomic():
        for kind, document in ordered_by_kind:
            try:
                stored.append(_put(kind, document, by))
            except DocumentError as problem:
                place = f"{kind}.{_name(document) or before[kind]}"
                room = max(MOST_TOLD - len(mistakes), 0)
                more += problem.more + len(problem.told[room:])
                mistakes += [
                    FieldError(f"{place}.{error.field or ''}".rstrip("."), error.value, error.message)
                    for error in problem.told[:room]
                ]
            before[kind] += 1
        if mistakes:
            raise DocumentError(mistakes, more)
    return stored


def _named_twice(documents: list[tuple[str, Any]]) -> Iterator[FieldError]:
    """Of two entries of one name only one could stay."""
    places = Counter((kind, name) for kind, document in documents if (name := _name(document)))
    for (kind, name), count in places.items():
        if count > 1:
            yield FieldError(f"{kind}.{name}", None, f"stands {count} times; give each its own name")


def _name(document: Any) -> str:
    """The name that a document has, empty where it has none."""
    name = document.get("name") if isinstance(document, Mapping) else None
    return name if isinstance(name, str) else ""


def _put(kind: str, document: Any, by: int | None) -> Put:
    name = _name(document)
    there = named(kind, name) if name else None
    if there is None:
        return Put(create(kind, document, by=by, change=Change.IMPORTED), "new")
    if checked(kind, document) == there.document:
        return Put(there, "equal")
    return Put(update(there, document, revision=there.revision, by=by, change=Change.IMPORTED), "changed")


def _changed(entry: Entry, revision: int, change: str, by: int | None, **values: Any) -> Entry:
    with transaction.atomic():
        rows = Entry.objects.filter(pk=entry.pk, revision=revision)
        if not rows.update(**values, revision=revision + 1, updated_at=Now()):
            raise _late(entry, revision)
        entry.refresh_from_db()
        _note(entry, change, by)
    return entry


def _note(entry: Entry, change: str, by: int | None) -> None:
    Revision.objects.create(entry=entry, number=entry.revision, change=change, document=entry.document, by_id=by)
