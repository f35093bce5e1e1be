"""Asking once more: the same question, or the same at the prices that the catalogue lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.http import urlencode

from frontend.optimiser.clusters.form import scenarios
from frontend.optimiser.clusters.rows import MOST_ROUTES
from frontend.optimiser.form import Typed, address, asking
from frontend.optimiser.given import Given, given
from frontend.optimiser.offers import Offer, listed
from frontend.optimiser.problems import CLUSTERS, PROBLEMS, Problem
from planner.api.documents import scenario_of
from planner.documents.errors import DocumentError
from planner.models import Job

type Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Listed:
    """A question at listed prices: its form's fields, and the offers by hardware."""

    fields: list[tuple[str, str]]
    offers: dict[str, Offer]


@dataclass(frozen=True, slots=True)
class Again:
    """The form with the question in it; `listed` where the question was asked at other prices."""

    address: str
    problem: str
    listed: Listed | None


def again(job: Job) -> Again | None:
    """None where no form can ask it: its scenario is no longer there by name."""
    if job.kind == Job.Kind.CLUSTERS:
        return _clusters(job)
    problem, question = PROBLEMS[job.kind], job.input["question"]
    try:
        start = given_of(question["scenario"]["name"], (question.get("baseline") or {}).get("name", ""))
    except DocumentError:
        return None
    typed = asking(problem, start, question)
    return Again(address(problem, typed), problem.name, _listed(problem, typed, question))


def _clusters(job: Job) -> Again | None:
    """None where the form has no room for the routes of a cluster, or a scenario is no longer there by name."""
    clusters = job.input["fleet"]["pd"]
    known = dict(scenarios())
    if any(len(pd.get("routes", [])) > MOST_ROUTES or pd["scenario"]["name"] not in known for pd in clusters):
        return None
    return Again(f"{reverse('optimiser-clusters')}?{urlencode({'job': str(job.pk)})}", CLUSTERS.name, None)


def given_of(scenario: str, baseline: str) -> Given:
    """What a question about a scenario of a name starts from. Raises DocumentError."""
    return given(scenario_of(scenario, {}), scenario_of(baseline, {}, "baseline") if baseline else None)


def _listed(problem: Problem, typed: Typed, question: Document) -> Listed | None:
    """None where a price is not listed, or all are those that were used, or the prices make no difference."""
    used = {price["name"]: price["usd_per_gpu_hour"] for price in question["prices"]}
    offers = {hardware: offer for hardware in used if (offer := listed(hardware))}
    same = all(used[hardware] == offer.usd_per_gpu_hour for hardware, offer in offers.items())
    if problem.name != "equal_cost" or same or len(offers) < len(used):
        return None
    at_offers = {f"offer_{hardware}": offer.name for hardware, offer in offers.items()}
    kept = {name: text for name, text in typed.items() if name not in {f"usd_{hardware}" for hardware in used}}
    return Listed(_pairs({**kept, **at_offers}), offers)


def _pairs(typed: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and texts of a form's fields, several of one name where several are chosen."""
    return [(name, each) for name, text in typed.items() for each in ([text] if isinstance(text, str) else text)]
