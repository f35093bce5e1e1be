"""What is simulated as a form: what was typed, what is wrong with it, and the job that simulates it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from django.http import QueryDict
from django.urls import reverse
from django.utils.http import urlencode

from frontend.optimiser.fields import Question
from frontend.optimiser.form import Drawn, QuestionForm, Typed, asking
from frontend.optimiser.given import Given
from frontend.optimiser.problems import Problem
from frontend.simulator import spoken, varied
from frontend.simulator.parts.link import BrownOut, Paths, Tcp, Transfer, Weather
from frontend.simulator.parts.load import Counting, Load, Promise
from frontend.simulator.parts.prompts import Caches, Prompts
from frontend.simulator.parts.routing import Order, Policy, Prefill
from frontend.simulator.parts.serving import Decode, Faults, Roles
from frontend.simulator.study_parts import Study, can_be_asked
from planner.api import simulations, studies
from planner.api.documents import scenario_of
from planner.documents.errors import DocumentError, FieldError
from planner.models import Job
from planner.scenario.build import cluster_of_role
from planner.simulating.schema import Run
from planner.simulating.studies.quantities import QUANTITIES

TITLE = "Simulate"
ANSWERS = (
    "Request by request: what queues, bursts and the link do to TTFT at a load, with confidence intervals, beside what "
    "the steady-state formulas say."
)
LINK = (Transfer, BrownOut, Weather, Tcp, Paths)
"""Parts that mean something only where something crosses a link."""
CONDITIONS = (Faults, Roles, Prompts, Caches)


@dataclass(frozen=True, slots=True)
class Folded:
    """A part as the page shows it; `is_open` unless nothing of it is used."""

    drawn: Drawn
    is_optional: bool
    is_open: bool


def given_of(name: str) -> Given:
    """What a simulation of a stored scenario starts from. Raises DocumentError."""
    return Given(scenario_of(name, {}), ())


def problem(given: Given) -> Problem:
    """The parts that make sense for a scenario: without PrfaaS nothing is routed, and nothing crosses a link."""
    has_prfaas = cluster_of_role(given.scenario.parsed, "prfaas") is not None
    routing, link = ((Policy,), LINK) if has_prfaas else ((), ())
    parts = (Load, Promise, *routing, Order, Prefill, Decode, *link, *CONDITIONS, Counting, Study)
    return Problem("simulate", TITLE, ANSWERS, parts, forms=("exact",))


class SimulationForm(QuestionForm):
    """Everything of a simulation but its scenario."""

    def folded(self) -> list[Folded]:
        """Every part with its rows, and whether it is shown at once."""
        return [
            Folded(
                drawn,
                is_optional,
                not is_optional or any(self._is_used(cell.name) for row in drawn.rows for cell in row.cells),
            )
            for drawn in self.drawn()
            for is_optional in [getattr(drawn.part, "is_optional", False)]
        ]

    def _is_used(self, name: str) -> bool:
        """Whether something else stands in a field than at first, or something is wrong with it."""
        return name in self.errors or str(self[name].value() or "") != str(self.fields[name].initial or "")

    def question(self) -> Question:
        found: Question = {"scenario": self.given.scenario.name}
        for part in self.parts:
            found |= part.read(self.cleaned_data)
        return found

    def ask(self, by: int | None) -> Job:
        study = Study(self.given).study(self.cleaned_data)
        if study is None:
            return simulations.submit(self.question(), by)
        try:
            return studies.submit(study | {"simulation": self.question()}, by)
        except DocumentError as problem:
            told = _at_an_end([_of_simulation(error) for error in problem.told], study.get("range") or {})
            raise DocumentError(told, problem.more if len(told) == len(problem.told) else 0) from problem

    def say(self, error: FieldError, field: str | None) -> str:
        told = replace(error, message=spoken.said(error))
        varied_by = self.cleaned_data.get("study") or ""
        found = super().say(told, field)
        is_one = error.field == "values" and varied_by in QUANTITIES and error.value is not None
        return f"{varied.written(varied_by, error.value)} {found}" if is_one else found


def _at_an_end(told: list[FieldError], within: Question) -> list[FieldError]:
    """Values of a range that cannot be are told once, beside the end that is to be moved."""
    wrong = [error for error in told if error.field == "values" and isinstance(error.value, int | float)]
    if not (wrong and within):
        return told
    end = "highest" if min(float(error.value) for error in wrong) > within["lowest"] else "lowest"
    moved = replace(wrong[-1], field=f"range.{end}", value=within[end])
    return [*(error for error in told if error not in wrong), moved]


def _of_simulation(error: FieldError) -> FieldError:
    """A mistake of a study's simulation as one of the simulation, whose fields these are."""
    return replace(error, field=error.field and error.field.removeprefix("simulation."))


def address(typed: Typed) -> str:
    """The form with what was typed in it."""
    return f"{reverse('simulate')}?{urlencode(typed, doseq=True)}"


def again(job: Job) -> str | None:
    """The form with what a job simulates in it; None where its scenario is no longer there by name, or the form cannot
    ask for all of it."""
    study: dict[str, Any] = job.input.get("study") or {}
    question: dict[str, Any] = study.get("simulation") or job.input["simulation"]
    try:
        given = given_of(question["scenario"]["name"])
    except DocumentError:
        return None
    if study and not can_be_asked(study, given):
        return None
    found = asking(problem(given), given, question | {"study": study})
    return address(found) if _asks(found, given, question) else None


def _asks(found: Typed, given: Given, question: Question) -> bool:
    """Whether the form would ask for the same simulation, if that were typed."""
    data = QueryDict(mutable=True)
    for name, value in found.items():
        data.setlist(name, value if isinstance(value, list) else [value])
    form = SimulationForm(problem(given), given, data=data)
    return form.is_valid() and _run(form.question()) == _run(question)


def _run(question: Question) -> Run:
    """Everything but the scenario, as its fields are."""
    return Run.model_validate(question | {"scenario": {}})
