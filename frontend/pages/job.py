"""One job: progress while it runs, and its result or why there is none."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import get_script_prefix
from django.utils.timezone import now
from django.views.decorators.http import require_safe

from frontend import figures, outcome, side_by_side, words
from frontend.optimiser.again import Again, again
from frontend.optimiser.answer import answer
from frontend.optimiser.clusters import answer as clusters
from frontend.optimiser.front import front, point
from frontend.optimiser.problems import ALL
from frontend.optimiser.tie import tie
from frontend.replays.answer import answer as replayed
from frontend.replays.form import again as replay_again
from frontend.simulator.answer import answer as simulated
from frontend.simulator.form import again as simulate_again
from frontend.simulator.study import answer as studied
from planner.management.inspection import lines
from planner.models import Job
from planner.simulating.document import loaded
from planner.simulating.studies import document as studies

QUESTIONS = {problem.name for problem in ALL}
"""Kinds that a form of the optimiser asks."""
SIMULATED = (Job.Kind.SIMULATE, Job.Kind.STUDY)
"""Kinds that the simulator's form asks."""
FORMS = {*QUESTIONS, *SIMULATED, Job.Kind.REPLAY}
"""Kinds that a form asks, so that it can ask them again."""


MOST_SHOWN = 100_000
"""Characters of an input that the page shows."""


@require_safe
def job(request: HttpRequest, job_id: UUID) -> HttpResponse:
    found = get_object_or_404(Job, pk=job_id)
    input_text = json.dumps(found.input, indent=2, ensure_ascii=False)
    context = {
        "job": found,
        "elapsed": elapsed(found),
        "percent": 100 * found.done // found.total if found.total else 0,
        "input_text": input_text if len(input_text) <= MOST_SHOWN else "",
        "socket": f"{get_script_prefix()}ws/jobs/{found.pk}/",
        "unit": words.COUNTED.get(found.kind, "steps"),
        "is_question": found.kind in FORMS,
        "again": _again(found),
        "has_points": found.kind == Job.Kind.FRONT,
        "has_replications": found.kind == Job.Kind.SIMULATE,
        "has_variants": found.kind == Job.Kind.STUDY,
        **(RESULTS.get(found.kind, _plain)(found.input, found.result) if found.result else {}),
    }
    if found.kind == Job.Kind.FRONT and found.result:
        context["point"] = point(found.result, found.input["question"], request.GET.get("point"))
    return render(request, "job.html", context)


def _again(found: Job) -> Again | None:
    """The form that asks the same once more."""
    if found.kind in SIMULATED:
        address = simulate_again(found)
        return Again(address, "simulate", None) if address else None
    if found.kind == Job.Kind.REPLAY:
        return Again(replay_again(found.input["replay"]), "live-replay", None)
    return again(found) if found.kind in QUESTIONS else None


def elapsed(found: Job) -> str:
    """How long it has been computed, or was."""
    if found.started_at is None:
        return figures.NONE
    return figures.duration(((found.finished_at or now()) - found.started_at).total_seconds())


type Document = dict[str, Any]


def _optimum(asked: Document, result: Document) -> Document:
    return {
        "outcome": outcome.rows(result, asked["scenario"]),
        "gain": outcome.gain(result),
        "map": result.get("map"),
    }


def _imported(asked: Document, result: Document) -> Document:
    return {"imported": result, "facts": list(lines(result["facts"]))}


def _answer(asked: Document, result: Document) -> Document:
    return {"answer": answer(result, asked["question"])}


def _tie(asked: Document, result: Document) -> Document:
    return {"tie": tie(result, asked["question"])}


def _front(asked: Document, result: Document) -> Document:
    return {"front": front(result)}


def _fleet(asked: Document, result: Document) -> Document:
    return {"fleet": clusters.answer(result)}


def _simulated(asked: Document, result: Document) -> Document:
    return {"simulated": simulated(result, loaded(asked["simulation"]))}


def _studied(asked: Document, result: Document) -> Document:
    return {"studied": studied(result, studies.loaded(asked["study"]))}


def _replayed(asked: Document, result: Document) -> Document:
    return {"replayed": replayed(result, asked["replay"])}


def _side_by_side(asked: Document, result: Document) -> Document:
    return {"side_by_side": side_by_side.table(result, asked)}


def _plain(asked: Document, result: Document) -> Document:
    """A kind that is asked over REST only: its result can be taken away."""
    return {"plain": True}


RESULTS: dict[str, Callable[[Document, Document], Document]] = {
    Job.Kind.OPTIMIZE: _optimum,
    Job.Kind.IMPORT_TRACE: _imported,
    Job.Kind.EQUAL_COST: _answer,
    Job.Kind.LEAST_COST: _answer,
    Job.Kind.BREAK_EVEN: _tie,
    Job.Kind.FRONT: _front,
    Job.Kind.CLUSTERS: _fleet,
    Job.Kind.SIMULATE: _simulated,
    Job.Kind.STUDY: _studied,
    Job.Kind.SIDE_BY_SIDE: _side_by_side,
    Job.Kind.REPLAY: _replayed,
}
"""What the page of each kind shows of an input and its result."""
