"""A question as a form: what was typed, what is wrong with it, and the job that answers it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import QueryDict
from django.urls import reverse
from django.utils.http import urlencode

from frontend import words
from frontend.catalogue.units import PLAIN, Unit, written
from frontend.optimiser.fields import Part, Question, Row, one_of
from frontend.optimiser.given import Given
from frontend.optimiser.problems import Problem
from frontend.places import place
from planner.api import procurement
from planner.documents.errors import DocumentError, FieldError
from planner.models import Job

OF = "of"
"""The field that says of which scenario the others were typed: what could be bought differs by scenario."""
type Typed = Mapping[str, str | list[str]]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A part as the page shows it."""

    part: Part
    rows: list[Row]
    errors: Sequence[str]

    @property
    def first(self) -> list[Row]:
        """Rows that are shown at once."""
        return [row for row in self.rows if not row.is_more]

    @property
    def more(self) -> list[Row]:
        """Rows that are shown on demand."""
        return [row for row in self.rows if row.is_more]

    @property
    def is_open(self) -> bool:
        """Whether one of these is chosen."""
        return any(row.check and row.check.data["selected"] for row in self.more)


class QuestionForm(forms.Form):
    """Everything of a question but its scenario."""

    def __init__(
        self, problem: Problem, given: Given, data: QueryDict | None = None, typed: QueryDict | None = None
    ) -> None:
        super().__init__(data, auto_id="%s")
        self.problem, self.given = problem, given
        self.parts = [part(given) for part in problem.parts]
        for part in self.parts:
            self.fields |= part.fields()
        self.fields["form"] = one_of({name: words.FORMS[name] for name in problem.forms}, "exact")
        self.fields["form"].label = "Form of the throughput model"
        self.initial = _kept(self.fields, typed, given.scenario.name) if typed else {}
        for part in self.parts:
            for row in part.rows(self):
                _describe(row)

    def drawn(self) -> list[Drawn]:
        """Every part with its rows."""
        return [
            Drawn(part, part.rows(self), [str(error) for error in self.errors.get(part.choice, [])])
            for part in self.parts
        ]

    def summary(self) -> list[tuple[str, str, str]]:
        """All that is wrong: where it stands, what that is called, and what is wrong with it."""
        legends = {part.choice: part.legend for part in self.parts}
        return [
            (_address(self.fields[name], name), _label(self.fields[name], legends.get(name, name)), str(error))
            for name in self.fields
            for error in self.errors.get(name, [])
        ]

    def clean(self) -> dict[str, Any]:
        """What no single field can know is told beside a field, too."""
        for part in self.parts:
            for field, said in list(part.mistakes(self.cleaned_data)):
                self._refuse(field, said)
        return self.cleaned_data

    def question(self) -> Question:
        """The question that was typed, once it is valid."""
        found: Question = {"problem": self.problem.name, "scenario": self.given.scenario.name}
        origins: dict[str, Any] = {}
        for part in self.parts:
            found |= part.read(self.cleaned_data)
            origins |= found.pop("provenance", {})
        return found | {"form": self.cleaned_data["form"], "provenance": origins}

    def submit(self, by: int | None) -> Job | None:
        """The job that answers it; None where it is refused, each mistake beside its field."""
        try:
            return self.ask(by)
        except DocumentError as problem:
            for error in problem.errors:
                self._tell(error)
            return None

    def ask(self, by: int | None) -> Job:
        """The job of a question that is valid as far as this form knows. Raises DocumentError."""
        job: Job = procurement.submit(self.question(), by)
        return job

    def _tell(self, error: FieldError) -> None:
        places = {"form": "form"}
        places |= {path: field for part in self.parts for path, field in part.places(self.cleaned_data).items()}
        field = place(error.field or "", places)
        self._refuse(field, self.say(error, field))

    def say(self, error: FieldError, field: str | None) -> str:
        """What is wrong, in the unit in which the field was typed."""
        if field is None:
            return str(error) if error.field else error.message
        return in_unit(error.message, getattr(self.fields[field], "unit", PLAIN))

    def _refuse(self, field: str | None, said: str) -> None:
        self.add_error(field, said)
        if field:
            self.fields[field].widget.attrs["aria-invalid"] = "true"


LIMIT = re.compile(r"(must be (?:greater than|at least|less than|at most)|must be above the lowest,) (\d[\d.e+-]*)")


def in_unit(message: str, unit: Unit) -> str:
    """A message whose limit is in the stored unit, with that in people's."""
    if unit.scale == 1:
        return message
    return LIMIT.sub(lambda found: f"{found[1]} {written(float(found[2]), unit)} {unit.text}", message)


def typed_in(form: QuestionForm) -> dict[str, str | list[str]]:
    """What was typed into a form that came back, as far as it is not what stands there anyway."""
    found: dict[str, str | list[str]] = {"scenario": form.given.scenario.name, OF: form.given.scenario.name}
    for name, field in form.fields.items():
        if isinstance(field, forms.MultipleChoiceField):
            found[name] = [str(each) for each in form[name].data or []]
        elif (text := str(form[name].data or "")) != str(field.initial or ""):
            found[name] = text
    return found


def asking(problem: Problem, given: Given, question: Question) -> dict[str, str | list[str]]:
    """What would have to be typed to ask a question again."""
    found: dict[str, str | list[str]] = {"scenario": given.scenario.name, OF: given.scenario.name}
    for part in problem.parts:
        found |= part(given).typed(question)
    return found | {"form": question.get("form", "exact")}


def address(problem: Problem, typed: Typed) -> str:
    """The form with what was typed in it."""
    return f"{reverse('optimiser-question', args=[problem.name])}?{urlencode(typed, doseq=True)}"


def _kept(fields: Mapping[str, forms.Field], typed: QueryDict, scenario: str) -> dict[str, Any]:
    """What of `typed` still can be chosen; boxes only if they were ticked for the same scenario."""
    found: dict[str, Any] = {}
    for name, field in fields.items():
        if isinstance(field, forms.MultipleChoiceField):
            if typed.get(OF) == scenario:
                found[name] = [each for each in typed.getlist(name) if field.valid_value(each)]
        elif name in typed and (not isinstance(field, forms.ChoiceField) or field.valid_value(typed[name])):
            found[name] = typed[name]
    return found


def _describe(row: Row) -> None:
    """Names each input by its row, and says where its mistakes and its help stand."""
    for cell in row.cells:
        field, label = cell.field, str(cell.label)
        described_by = f"{cell.name}-error {cell.name}-help" if field.help_text else f"{cell.name}-error"
        field.widget.attrs |= {"aria-describedby": described_by, "autocomplete": "off"}
        if row.title:
            field.widget.attrs["aria-label"] = f"{label}, {row.title}"
        if cell.form.is_bound and cell.name in cell.form.errors:
            field.widget.attrs["aria-invalid"] = "true"


def _address(field: forms.Field, name: str) -> str:
    """Where it can be mended: a choice begins with its first button."""
    return f"{name}_0" if isinstance(field.widget, forms.RadioSelect) else name


def _label(field: forms.Field, otherwise: str) -> str:
    return str(field.widget.attrs.get("aria-label") or field.label or otherwise)
