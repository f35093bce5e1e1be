"""Fields of a question as people type them, and the parts that a form is made of."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms.boundfield import BoundField, BoundWidget

from frontend.catalogue.units import PLAIN, Unit, read, written
from frontend.optimiser.given import Given
from planner.documents.paths import cut

type Cleaned = Mapping[str, Any]
type Question = dict[str, Any]
BY_HAND = {"kind": "user", "source": "set by hand"}
"""Where a figure comes from that was typed."""
type Mistakes = Iterator[tuple[str, str]]
"""Fields, and what is wrong with them."""


GROUPED = re.compile(r"-?\d{1,3}(,\d{3})+(\.\d+)?")
LONGEST_QUOTE = 40
"""Characters of what was typed that a refusal repeats."""


class Quoting:
    """A field whose refusal of what is no number repeats it."""

    def to_python(self, value: Any) -> Any:
        """The number, also as pages write it, in groups of three digits. Raises ValidationError."""
        if isinstance(value, str) and GROUPED.fullmatch(value.strip()):
            value = value.replace(",", "")
        try:
            return super().to_python(value)  # type: ignore[misc] # of the field that it is mixed into
        except ValidationError as refused:
            typed = cut(str(value).strip(), LONGEST_QUOTE)
            raise ValidationError(f"{refused.messages[0]} “{typed}” is none.", code="invalid") from refused


class NumberField(Quoting, forms.FloatField):
    """A number in people's unit; what comes of it is in the stored one. What was typed stays, whatever it is."""

    def __init__(self, unit: Unit = PLAIN, **more: Any) -> None:
        self.unit = unit
        super().__init__(required=False, widget=forms.TextInput(attrs={"inputmode": "decimal"}), **more)

    def clean(self, value: Any) -> float | None:
        """The stored number. Raises ValidationError."""
        typed = super().clean(value)
        return None if typed is None else read(repr(typed), self.unit)

    def typed(self, value: float | None) -> str:
        """A stored number as it would be typed."""
        return "" if value is None else written(value, self.unit)


class CountField(Quoting, forms.IntegerField):
    """A whole number of something."""

    def __init__(self, unit: str, **more: Any) -> None:
        self.unit = Unit(unit)
        super().__init__(required=False, widget=forms.TextInput(attrs={"inputmode": "numeric"}), **more)


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a part: what it is about, whether it is chosen, and its fields."""

    title: str
    cells: tuple[BoundField, ...] = ()
    check: BoundWidget | None = None
    note: str = ""
    problem: str = ""
    """What is wrong with it before anybody has typed anything."""
    is_more: bool = False
    """One of many, shown on demand."""


@dataclass(frozen=True)
class Part(ABC):
    """Fields that belong together, and the part of the question that they are."""

    given: Given
    legend = ""
    help = ""
    choice = ""
    """The field that says which rows are chosen."""
    more = ""
    """What the rows that are shown on demand are."""

    @abstractmethod
    def fields(self) -> dict[str, forms.Field]:
        """The fields by name, with what they hold at first."""

    @abstractmethod
    def rows(self, form: forms.Form) -> list[Row]:
        """The fields as the page shows them."""

    @abstractmethod
    def read(self, cleaned: Cleaned) -> Question:
        """Fields of the question."""

    @abstractmethod
    def typed(self, question: Question) -> dict[str, Any]:
        """What would have to be typed to ask `question`: text by field, lists where several are chosen."""

    def mistakes(self, cleaned: Cleaned) -> Mistakes:
        """What no single field can know."""
        yield from ()

    def places(self, cleaned: Cleaned) -> dict[str, str]:
        """The field that each path of the question comes from."""
        return {}


def checks(form: forms.Form, name: str) -> dict[str, BoundWidget]:
    """The single boxes or buttons of a choice, by value."""
    return {str(widget.data["value"]): widget for widget in form[name]}


def several(names: Mapping[str, str], chosen: list[str]) -> forms.MultipleChoiceField:
    """Boxes to tick: label by value."""
    return forms.MultipleChoiceField(
        choices=list(names.items()), initial=chosen, required=False, widget=forms.CheckboxSelectMultiple
    )


def one_of(names: Mapping[str, str], chosen: str) -> forms.ChoiceField:
    """Buttons of which one is pressed: label by value."""
    return forms.ChoiceField(choices=list(names.items()), initial=chosen, widget=forms.RadioSelect)
