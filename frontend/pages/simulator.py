"""Simulations: the form that starts one, and how far a running one is."""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from uuid import UUID

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from frontend.optimiser.form import OF, typed_in
from frontend.optimiser.problems import FIRST
from frontend.pages.optimiser import offered
from frontend.simulator.answer import headline
from frontend.simulator.charts import charts
from frontend.simulator.form import SimulationForm, address, given_of, problem
from frontend.simulator.unheard import approximation
from planner.documents.errors import DocumentError
from planner.models import Job
from planner.simulating import document, plain, result

KEPT = 20
"""Answers on running simulations that are not computed again while pages ask every second."""


@require_http_methods(["GET", "POST"])
def simulate(request: HttpRequest) -> HttpResponse:
    """The form; what is valid becomes a job."""
    typed = request.POST if request.method == "POST" else request.GET
    scenarios = offered()
    name = typed.get("scenario") or (FIRST if FIRST in scenarios else next(iter(scenarios), ""))
    if not name:
        return render(request, "optimiser/empty.html", {"asked": {"title": "Simulate"}})
    try:
        given = given_of(name)
    except DocumentError as refused:
        return render(request, "simulator/refused.html", {"name": name, "errors": refused.errors}, status=404)
    asked = problem(given)
    # What was typed about another scenario is shown for this one first.
    is_asked = request.method == "POST" and typed.get(OF) == given.scenario.name
    form = SimulationForm(asked, given, data=typed) if is_asked else SimulationForm(asked, given, typed=typed)
    if form.is_bound:
        if not request.user.is_authenticated:
            return redirect_to_login(address(typed_in(form)))
        if form.is_valid() and (job := form.submit(by=request.user.pk)):
            return redirect("job-page", job.pk)
    context = {"asked": asked, "form": form, "scenarios": {name: name} | scenarios}
    return render(request, "simulator/form.html", context)


@require_safe
def replications(request: HttpRequest, job_id: UUID) -> JsonResponse:
    """How many replications have ended, and what these say together."""
    job = get_object_or_404(Job, pk=job_id, kind=Job.Kind.SIMULATE)
    shards = job.shards.filter(state=Job.State.SUCCEEDED).order_by("shard").values_list("shard", flat=True)
    ended = tuple(shard for shard in shards if shard is not None)
    said: dict[str, Any] = {"headline": "", "chart": None}
    return JsonResponse(
        {"ended": len(ended), "parts": job.shards.count()} | (_so_far(job.pk, ended) if ended else said)
    )


@lru_cache(maxsize=KEPT)
def _so_far(job_id: UUID, shards: tuple[int, ...]) -> dict[str, Any]:
    """What some replications say together: the same for all who look."""
    job = Job.objects.get(pk=job_id)
    rows = job.shards.filter(shard__in=shards).order_by("shard").values_list("result", flat=True)
    asked = document.loaded(job.input["simulation"])
    found = result.document(asked, [plain.from_json(row) for row in rows if row])
    loaded = approximation(asked) if found["stable"] else None
    return {"headline": headline(found), "chart": charts(found, asked, loaded)}
