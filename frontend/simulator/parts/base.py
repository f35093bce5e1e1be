"""Parts of a simulation's form whose fields each say one field of its document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

from django import forms

from frontend.optimiser.fields import Cleaned, Mistakes, NumberField, Part, Question, Row

type Document = Mapping[str, Any]


class WordField(forms.ChoiceField):
    """One of several words; `values` has what the document says for those that it says otherwise."""

    def __init__(self, titles: Mapping[str, str], values: Mapping[str, Any] | None = None, **more: Any) -> None:
        self.values = {word: word for word in titles} | dict(values or {})
        super().__init__(choices=list(titles.items()), required=False, initial=next(iter(titles)), **more)

    def clean(self, value: Any) -> Any:
        """What the document says; of nothing, the first. Raises ValidationError."""
        return self.values[super().clean(value) or str(self.initial)]

    def typed(self, value: Any) -> str:
        """The word for what the document says."""
        return next((word for word, said in self.values.items() if said == value), "")


def typed(field: forms.Field, value: Any) -> str:
    """What would be typed into a field for a value of the document; what stands there at first for none, and for a list
    or table, which no field holds."""
    if isinstance(field, WordField) and value is not None:
        return field.typed(value)
    if value is None or isinstance(value, list | dict):
        return str(field.initial or "")
    return field.typed(value) if isinstance(field, NumberField) else str(value)


def at(document: Any, path: str) -> Any:
    """The value at a dotted path; None where there is none."""
    for name in path.split("."):
        document = document.get(name) if isinstance(document, Mapping) else None
    return document


def put(document: dict[str, Any], path: str, value: Any) -> None:
    """Sets the value at a dotted path, with the tables that lead there."""
    *parents, last = path.split(".")
    for name in parents:
        document = document.setdefault(name, {})
    document[last] = value


@dataclass(frozen=True, slots=True)
class Entry:
    """A field of the form, made anew each time, and the path of the field of the document that it says."""

    path: str
    make: Callable[[], forms.Field]


@dataclass(frozen=True, slots=True)
class Line:
    """Fields that stand beside each other, by name."""

    names: tuple[str, ...]
    title: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Listed:
    """Rows of fields, each an item of a list of the document; those that are left empty are none."""

    path: str
    columns: Mapping[str, Callable[[int], forms.Field]]
    """The fields of an item, by their names in it; from the number of the row."""
    rows: int = 3

    def name(self, column: str, row: int) -> str:
        """The form's name of a field."""
        return f"{self.path.rpartition('.')[2]}_{column}_{row + 1}"

    def fields(self) -> dict[str, forms.Field]:
        """All of them."""
        return {self.name(column, row): make(row) for row in range(self.rows) for column, make in self.columns.items()}

    def lines(self, title: str) -> Iterator[Line]:
        """The rows."""
        for row in range(self.rows):
            yield Line(tuple(self.name(column, row) for column in self.columns), f"{title} {row + 1}")

    def read(self, cleaned: Cleaned) -> list[dict[str, Any]]:
        """The items of the rows in which something stands."""
        return [self._item(cleaned, row) for row in self._used(cleaned)]

    def typed(self, document: Document) -> dict[str, str]:
        """What would be typed for the items; those that there is no row for are left out."""
        items = at(document, self.path) or []
        rows = [*items[: self.rows], *[{}] * (self.rows - len(items))]
        return {
            self.name(column, row): typed(make(row), item.get(column))
            for row, item in enumerate(rows)
            for column, make in self.columns.items()
        }

    def places(self, cleaned: Cleaned) -> dict[str, str]:
        """The field of each path: items are counted without the rows that are empty."""
        first = next(iter(self.columns))
        found = {self.path: self.name(first, 0)}
        for index, row in enumerate(self._used(cleaned)):
            found[f"{self.path}.{index}"] = self.name(first, row)
            found |= {f"{self.path}.{index}.{column}": self.name(column, row) for column in self.columns}
        return found

    def _used(self, cleaned: Cleaned) -> list[int]:
        made = {column: make(0) for column, make in self.columns.items()}
        asked = [column for column, field in made.items() if not isinstance(field, WordField)]
        return [
            row for row in range(self.rows) if any(cleaned.get(self.name(column, row)) is not None for column in asked)
        ]

    def _item(self, cleaned: Cleaned, row: int) -> dict[str, Any]:
        found = {column: cleaned.get(self.name(column, row)) for column in self.columns}
        return {column: value for column, value in found.items() if value is not None}


class Fields(Part):
    """Fields that each say one of the document; what is as it is at first is not said."""

    is_optional = True
    """Whether it is folded up until it is used."""
    entries: ClassVar[Mapping[str, Entry]] = {}
    lists: ClassVar[tuple[Listed, ...]] = ()

    def lines(self) -> Iterator[Line]:
        """The fields as they stand below each other."""
        yield Line(tuple(self.entries))

    def fields(self) -> dict[str, forms.Field]:
        found = {name: entry.make() for name, entry in self.entries.items()}
        for listed in self.lists:
            found |= listed.fields()
        return found

    def rows(self, form: forms.Form) -> list[Row]:
        return [
            Row(line.title, tuple(form[name] for name in line.names if name in form.fields), note=line.note)
            for line in self.lines()
        ]

    def read(self, cleaned: Cleaned) -> Question:
        found: Question = {}
        for name, entry in self.entries.items():
            if self.is_said(cleaned, name):
                put(found, entry.path, copy(cleaned[name]))
        for listed in self.lists:
            if items := listed.read(cleaned):
                put(found, listed.path, items)
        return found

    def typed(self, question: Question) -> dict[str, Any]:
        found = {name: typed(entry.make(), at(question, entry.path)) for name, entry in self.entries.items()}
        for listed in self.lists:
            found |= listed.typed(question)
        return found

    def places(self, cleaned: Cleaned) -> dict[str, str]:
        found = {entry.path: name for name, entry in self.entries.items()}
        for path, name in list(found.items()):
            found.setdefault(path.rpartition(".")[0] or path, name)
        for listed in self.lists:
            found |= listed.places(cleaned)
        return found

    def is_said(self, cleaned: Cleaned, name: str) -> bool:
        """Whether something else stands in a field than at first."""
        value, field = cleaned.get(name), self.entries[name].make()
        return value is not None and typed(field, value) != str(field.initial or "")


class Switched(Fields):
    """Fields that mean something only where the first one, `switch`, is not as it is at first."""

    switch = ""
    unswitched = ""
    """What is wrong where only others are typed."""

    def read(self, cleaned: Cleaned) -> Question:
        return super().read(cleaned) if self.is_said(cleaned, self.switch) else {}

    def mistakes(self, cleaned: Cleaned) -> Mistakes:
        if self.switch in cleaned and not self.is_said(cleaned, self.switch):
            yield from ((name, self.unswitched) for name in self.entries if self.is_said(cleaned, name))
