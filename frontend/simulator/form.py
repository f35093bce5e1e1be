"""What is simulated as a form: what was typed, what is wrong with it, and the job that simulates it."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from django.utils.http import urlencode

from frontend.optimiser.fields import Question
from frontend.optimiser.form import QuestionForm, Typed, asking
from frontend.optimiser.given import Given
from frontend.optimiser.problems import Problem
from frontend.simulator.parts import BrownOut, Counting, Load, Order, Policy, Promise, Transfer
from planner.api import simulations
from planner.api.documents import scenario_of
from planner.documents.errors import DocumentError
from planner.models import Job
from planner.scenario.build import cluster_of_role

TITLE = "Simulate"
ANSWERS = (
    "Request by request: what queues, bursts and the link do to TTFT at a load, with confidence intervals, beside what "
    "the steady-state formulas say."
)


def given_of(name: str) -> Given:
    """What a simulation of a stored scenario starts from. Raises DocumentError."""
    return Given(scenario_of(name, {}), ())


def problem(given: Given) -> Problem:
    """The parts that make sense for a scenario: without PrfaaS nothing is routed, and nothing crosses a link."""
    has_prfaas = cluster_of_role(given.scenario.parsed, "prfaas") is not None
    parts = (
        (Load, Promise, Policy, Order, Transfer, BrownOut, Counting) if has_prfaas else (Load, Promise, Order, Counting)
    )
    return Problem("simulate", TITLE, ANSWERS, parts, forms=("exact",))


class SimulationForm(QuestionForm):
    """Everything of a simulation but its scenario."""

    def question(self) -> Question:
        found: Question = {"scenario": self.given.scenario.name}
        for part in self.parts:
            found |= part.read(self.cleaned_data)
        return found

    def ask(self, by: int | None) -> Job:
        return simulations.submit(self.question(), by)


def address(typed: Typed) -> str:
    """The form with what was typed in it."""
    return f"{reverse('simulate')}?{urlencode(typed, doseq=True)}"


def again(job: Job) -> str | None:
    """The form with what a job simulates in it; None where its scenario is no longer there by name."""
    question: dict[str, Any] = job.input["simulation"]
    try:
        given = given_of(question["scenario"]["name"])
    except DocumentError:
        return None
    return address(asking(problem(given), given, question))
