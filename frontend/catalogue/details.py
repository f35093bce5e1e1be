"""Every field of an entry as its page shows it: by part, with unit, mark and source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.urls import NoReverseMatch, reverse

from frontend.catalogue import kinds
from frontend.catalogue.origins import Origin, figures, origin_of
from frontend.catalogue.units import PLAIN, Unit, unit_of, written
from frontend.entries import page_of
from planner.entries import KINDS
from planner.models import Entry

APART = ("name", "title", "notes", "provenance")
"""Fields that stand elsewhere on the page."""
type Document = Mapping[str, Any]


MOST_DIGITS, SHOWN_DIGITS = 9, 6
"""A number of more significant digits is shown with fewer."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field, written."""

    path: str
    label: str
    text: str
    unit: str = ""
    origin: Origin | None = None
    address: str = ""
    is_number: bool = False
    exact: str = ""
    """Of a number: every digit of it."""


@dataclass(frozen=True, slots=True)
class Section:
    """The fields of one part of a document."""

    label: str
    fields: list[Field]


@dataclass(frozen=True, slots=True)
class Source:
    """Where figures come from, and which."""

    origin: Origin
    figures: list[str]


def sections(kind: str, document: Document) -> list[Section]:
    """The entry's own fields, and those of each of its parts."""
    own = [each for key, value in document.items() if key not in APART for each in _plain(kind, document, key, value)]
    parts = [
        Section(kinds.label(key), list(_fields(document, key, value)))
        for key, value in document.items()
        if key not in APART and isinstance(value, Mapping)
    ]
    return [each for each in (Section("", own), *parts) if each.fields]


def _plain(kind: str, document: Document, key: str, value: Any) -> Iterator[Field]:
    if isinstance(value, Mapping) or value is None or value == "":
        return
    target = KINDS[kind].references.get(key)
    if target:
        yield Field(key, kinds.label(key), str(value), address=reverse("catalogue-entry", args=[target, value]))
    else:
        yield _field(document, key, value)


def _fields(document: Document, path: str, value: Any) -> Iterator[Field]:
    """The fields under a part; parts in it go by the path below the first one."""
    for key, inner in value.items():
        below = f"{path}.{key}"
        if isinstance(inner, Mapping):
            yield from _fields(document, below, inner)
        elif inner is not None:
            yield _field(document, below, inner)


def _field(document: Document, path: str, value: Any) -> Field:
    label, unit = kinds.label(path), unit_of(path)
    if isinstance(value, bool):
        return Field(path, label, "yes" if value else "no")
    if isinstance(value, int | float):
        exact = written(value, unit)
        text = _grouped(_readable(exact))
        return Field(path, label, text, unit.text, origin_of(document, path), is_number=True, exact=exact)
    if isinstance(value, list):
        return Field(path, label, summary(value, unit), unit.text, origin_of(document, path))
    return Field(path, label, value.replace("_", " ") if path.count(".") or path == "kind" else str(value))


def summary(value: list[Any], unit: Unit = PLAIN) -> str:
    """A list in a few words: its numbers where they are few, or else how many there are."""
    if not value:
        return "none"
    if len(value) <= 6 and not any(isinstance(item, Mapping | list) for item in value):
        return ", ".join(
            _grouped(written(item, unit)) if isinstance(item, int | float) else str(item) for item in value
        )
    return f"{len(value):,} entries" if isinstance(value[0], Mapping) else f"{len(value):,} values"


def _readable(exact: str) -> str:
    """At most eight significant digits: the rest is in the document, and in the title."""
    number = Decimal(exact)
    return exact if len(number.as_tuple().digits) <= MOST_DIGITS else f"{number:.{SHOWN_DIGITS}g}"


def _grouped(text: str) -> str:
    """Thousands apart, as far as the number is written out."""
    whole, point, rest = text.partition(".")
    digits = whole.lstrip("-")
    return text if not digits.isdigit() or len(digits) < 5 else f"{int(whole):,}{point}{rest}"


def sources(document: Document) -> list[Source]:
    """Each source once with the figures that it is for, in the document's order; those without one last."""
    found: dict[Origin, list[str]] = {}
    entries = document.get("provenance") or {}
    covering = {path: _covering(path, entries) for path, _ in figures(document)}
    for path, entry in entries.items():
        if path in covering.values():
            found.setdefault(Origin(entry["kind"], entry.get("source") or ""), []).append(path)
    bare = [path for path, entry in covering.items() if not entry]
    return [Source(origin, paths) for origin, paths in found.items()] + (
        [Source(Origin("user", "no source given"), bare)] if bare else []
    )


def _covering(path: str, entries: Mapping[str, Any]) -> str:
    parts = path.split(".")
    around = (".".join(parts[:size]) for size in range(len(parts), 0, -1))
    return next((each for each in around if each in entries), "")


@dataclass(frozen=True, slots=True)
class User:
    """An entry that names this one."""

    kind: str
    title: str
    address: str


def users(entries: list[Entry]) -> list[User]:
    """What uses an entry, with where it is shown."""
    return [User(entry.kind, entry.title or entry.name, _address(entry)) for entry in entries]


def _address(entry: Entry) -> str:
    try:
        return page_of(entry)
    except NoReverseMatch:
        return ""
