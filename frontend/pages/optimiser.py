"""What to buy and how to run it, at equal cost: the questions as forms, and the scenario that an answer is."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from frontend.optimiser import keeping
from frontend.optimiser.again import given_of
from frontend.optimiser.form import OF, QuestionForm, address, typed_in
from frontend.optimiser.given import Given
from frontend.optimiser.parts.target import OTHER
from frontend.optimiser.problems import ALL, FIRST, PROBLEMS, Problem
from planner import store
from planner.documents.errors import DocumentError
from planner.models import Job


@require_safe
def optimiser(request: HttpRequest) -> HttpResponse:
    """The problems to choose from."""
    context = {"problems": ALL, "scenario": request.GET.get("scenario", "")}
    return render(request, "optimiser/index.html", context)


@require_http_methods(["GET", "POST"])
def optimiser_question(request: HttpRequest, problem: str) -> HttpResponse:
    """The form of one problem; a valid question becomes a job."""
    asked = PROBLEMS.get(problem)
    if asked is None:
        raise Http404(f"The optimiser answers {', '.join(PROBLEMS)}.")
    typed = request.POST if request.method == "POST" else request.GET
    scenarios = offered()
    name = typed.get("scenario") or (FIRST if FIRST in scenarios else next(iter(scenarios), ""))
    if not name:
        return render(request, "optimiser/empty.html", {"asked": asked})
    try:
        start = given_of(name, typed.get("baseline", "") if typed.get("budget") == OTHER else "")
    except DocumentError as refused:
        return render(request, "optimiser/refused.html", {"name": name, "errors": refused.errors}, status=404)
    form = _form(request, asked, start, typed)
    if form.is_bound:
        if not request.user.is_authenticated:
            return redirect_to_login(address(asked, typed_in(form)))
        if form.is_valid() and (job := form.submit(by=request.user.pk)):
            return redirect("job-page", job.pk)
    context = {"asked": asked, "form": form, "problems": ALL, "scenarios": {name: name} | scenarios}
    return render(request, "optimiser/question.html", context)


def _form(request: HttpRequest, asked: Problem, start: Given, typed: QueryDict) -> QuestionForm:
    """What was asked; or only shown, where it was not, or what was typed was about another scenario."""
    is_asked = request.method == "POST" and typed.get(OF) == start.scenario.name
    return QuestionForm(asked, start, data=typed) if is_asked else QuestionForm(asked, start, typed=typed)


def offered() -> dict[str, str]:
    """Titles of all that are offered, by name."""
    known = store.entries(store.SCENARIOS).order_by("name").values_list("name", "title")
    return {name: f"{title} ({name})" if title else name for name, title in known}


@login_required
@require_http_methods(["GET", "POST"])
def keep_scenario(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Stores what a job found; asks for a name where the first one is taken."""
    job = get_object_or_404(Job, pk=job_id, state=Job.State.SUCCEEDED, kind__in=PROBLEMS)
    found = keeping.found(job, request.POST.get("point") or request.GET.get("point"))
    if found is None:
        raise Http404("This job has found nothing to store.")
    name = request.POST.get("name") or found.name
    context: dict[str, Any] = {"job": job, "name": name, "found": found}
    if request.method == "POST":
        try:
            entry = keeping.keep(found, name, by=request.user.pk)
        except DocumentError as refused:
            context |= {"errors": refused.errors, "name": found.free_name if name == found.name else name}
        else:
            messages.success(request, f"Scenario {entry.name} is stored.")
            return redirect("scenario-page", entry.name)
    return render(request, "optimiser/keep.html", context)
