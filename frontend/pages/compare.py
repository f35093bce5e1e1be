"""Comparisons: the list, one with its table and charts, its files, and what can be stored of it."""

from __future__ import annotations

import csv
from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from frontend.compare import files, rows, simulating, unsaved
from frontend.compare.address import UNSAVED, control, shown
from frontend.compare.context import offered, view
from frontend.compare.report import report
from planner import store
from planner.comparing import simulated
from planner.comparing.attribution import Question, between
from planner.comparing.table import table
from planner.comparison.schema import FEWEST, MOST
from planner.documents.errors import DocumentError
from planner.models import Entry
from planner.scenario import Scenario

type Page = Callable[..., HttpResponse]


@require_safe
def comparisons(request: HttpRequest) -> HttpResponse:
    """All that are stored, and scenarios to put side by side."""
    context = {
        "comparisons": [(entry, _headline(entry)) for entry in offered()],
        "scenarios": store.entries(store.SCENARIOS).order_by("-updated_at", "name"),
        "chosen": request.GET.getlist("scenario"),
        "fewest": FEWEST,
        "most": MOST,
    }
    return render(request, "compare/list.html", context)


def _headline(entry: Entry) -> str:
    """What it says; of one that today's rules refuse, that."""
    try:
        return rows.headline(table(shown(entry.name, QueryDict())))
    except DocumentError:
        return "is not valid under today's rules; export it, mend it, import it again"


def _or_refused(page: Page) -> Page:
    """The page; where the address asks for what cannot be, what is wrong with it."""

    @wraps(page)
    def found(request: HttpRequest, name: str, **more: str) -> HttpResponse:
        try:
            return page(request, name, **more)
        except DocumentError as refused:
            return _refused(request, name, refused)

    return found


@require_safe
@_or_refused
def comparison(request: HttpRequest, name: str) -> HttpResponse:
    """One comparison with everything about it."""
    return _shown(request, name, "compare/detail.html")


@require_safe
@_or_refused
def comparison_table(request: HttpRequest, name: str) -> HttpResponse:
    """The part of the page that changes with every change of the view."""
    return _shown(request, name, "compare/fresh.html")


def _shown(request: HttpRequest, name: str, template: str) -> HttpResponse:
    found = view(name, request.GET)
    context = found.fragment() if template == "compare/fresh.html" else found.page()
    return render(request, template, context)


def _refused(request: HttpRequest, name: str, refused: DocumentError) -> HttpResponse:
    known = name == UNSAVED or store.named(store.COMPARISONS, name) is not None
    errors = [(control(error.field or ""), error) for error in refused.errors]
    context = {"name": name, "errors": errors, "is_known": known}
    return render(request, "compare/refused.html", context, status=400 if known else 404)


@require_safe
@_or_refused
def comparison_file(request: HttpRequest, name: str, ending: str) -> HttpResponse:
    """The table as CSV, or the result with the document that it belongs to as JSON."""
    found = view(name, request.GET)
    stem = "comparison" if name == UNSAVED else name
    headers = {"Content-Disposition": f'attachment; filename="{stem}.{ending}"'}
    if ending == "json":
        document = {"comparison": found.shown.asked.document(), "result": found.result}
        return JsonResponse(document, headers=headers, json_dumps_params={"indent": 2, "ensure_ascii": False})
    response = HttpResponse(content_type="text/csv; charset=utf-8", headers=headers)
    response.write(files.MARK)
    csv.writer(response).writerows(files.lines(found.result))
    return response


@require_safe
@_or_refused
def comparison_report(request: HttpRequest, name: str) -> HttpResponse:
    """Everything on paper: inputs, assumptions, sources, results, version."""
    found = view(name, request.GET)
    address = reverse("comparison", args=[name])
    link = request.build_absolute_uri(f"{address}?{request.GET.urlencode()}".rstrip("?"))
    return render(request, "compare/report.html", found.page() | report(found) | {"address": link})


# --- scenarios of a comparison -----------------------------------------------------------------------------------


@require_http_methods(["GET", "POST"])
@_or_refused
def comparison_scenario(request: HttpRequest, name: str, scenario: str) -> HttpResponse:
    """One of its deployments as it is shown, which can be stored."""
    found = view(name, request.GET)
    asked = found.shown.asked
    if scenario not in asked.names:
        raise Http404(f"The comparison has {', '.join(asked.names)}.")
    return one_scenario(request, asked.scenarios[asked.names.index(scenario)], name)


@require_http_methods(["GET", "POST"])
@_or_refused
def comparison_step(request: HttpRequest, name: str) -> HttpResponse:
    """A deployment between the baseline and a candidate: with the candidate's part in some factors."""
    found, query = view(name, request.GET), request.GET
    question = Question(query.get("candidate", ""), tuned=query.get("tuned") == "true")
    step = between(found.shown.asked, question, list(filter(None, query.get("factors", "").split(","))))
    return one_scenario(request, step, name)


def one_scenario(request: HttpRequest, given: Scenario, comparison: str) -> HttpResponse:
    """The page of a scenario that is not stored; signed in people store it under a name that they type."""
    kept = {
        "name": request.POST.get("name", ""),
        "title": request.POST.get("title", given.parsed.title),
        "set": request.POST.get("set", ""),
    }
    context: dict[str, Any] = {"comparison": comparison, "query": request.GET.urlencode(), "kept": kept}
    if request.method == "POST":
        if not request.user.is_authenticated:
            return redirect(f"{reverse('login')}?{urlencode({'next': request.get_full_path()})}")
        try:
            entry = unsaved.keep(unsaved.moved(given, kept["set"]), kept["name"], kept["title"], by=request.user.pk)
        except DocumentError as refused:
            context["errors"] = refused.errors
        else:
            messages.success(request, f"Scenario {entry.name} is stored.")
            return redirect("scenario-page", entry.name)
    return render(request, "compare/scenario.html", context | unsaved.context(given))


# --- storing -----------------------------------------------------------------------------------------------------


@login_required
@require_http_methods(["GET", "POST"])
@_or_refused
def save_comparison(request: HttpRequest, name: str) -> HttpResponse:
    """Stores the comparison as it is shown; in the place of another only where that was said."""
    found = view(name, request.GET)
    given = found.shown.given.comparison
    typed = {
        "name": request.POST.get("name", "" if name == UNSAVED else name),
        "title": request.POST.get("title", given.title),
        "description": request.POST.get("description", given.description),
    }
    context: dict[str, Any] = {"name": name, "query": request.GET.urlencode(), "typed": typed, "view": found}
    if request.method == "POST":
        there = store.named(store.COMPARISONS, typed["name"])
        try:
            entry = _stored(found.shown.given.document() | typed, there, request)
        except DocumentError as refused:
            context |= {"errors": refused.errors, "there": there}
        else:
            messages.success(request, f"Comparison {entry.name} is stored.")
            return redirect("comparison", entry.name)
    return render(request, "compare/save.html", context)


def _stored(document: dict[str, Any], there: Entry | None, request: HttpRequest) -> Entry:
    if there and request.POST.get("replace"):
        return store.update(there, document, revision=there.revision, by=request.user.pk)
    return store.create(store.COMPARISONS, document, by=request.user.pk)


@login_required
@require_POST
def archive_comparison(request: HttpRequest, name: str) -> HttpResponse:
    """Offers it no more."""
    entry = get_object_or_404(Entry, kind=store.COMPARISONS, name=name)
    store.archive(entry, revision=entry.revision, by=request.user.pk)
    messages.success(request, f"Comparison {name} is archived: its address and the API still have it.")
    return redirect("comparisons")


@login_required
@require_http_methods(["GET", "POST"])
@_or_refused
def simulate_comparison(request: HttpRequest, name: str) -> HttpResponse:
    """Starts the job that simulates the deployments as they are shown, and shows the comparison again, or why not."""
    found = view(name, request.GET)
    if request.method == "POST":
        try:
            simulated.submit(found.shown.asked, simulating.settings(request.POST), request.user.pk)
        except DocumentError as refused:
            context = found.page() | {"asks": simulating.asks(request.POST, refused)}
            return render(request, "compare/detail.html", context)
    return redirect(f"{reverse('comparison', args=[name])}?{request.GET.urlencode()}#simulation")
