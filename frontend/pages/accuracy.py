"""How far predictions are from what was published and measured, and a profile fitted anew from somebody's runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from frontend import accuracy as shown
from frontend import words
from frontend.pages.catalogue.found import entry_or_404
from planner import store
from planner.accuracy import comparing, paper, refit
from planner.accuracy.lines import Line
from planner.charts.origins import origin
from planner.documents.errors import DocumentError
from planner.entries.measurement import Run
from planner.models import Entry

KIND = "measurements"
PER_PAGE = 50
MOST_LINES = 500
"""Figures of one measurement that its page lists; the CSV has all of them."""
REVISION = "revision"


@require_safe
def accuracy(request: HttpRequest) -> HttpResponse:
    """The case study, the measurements that are shipped, and those of users."""
    found = comparing.overview()
    page = Paginator(comparing.all_lines(), PER_PAGE).get_page(request.GET.get("page"))
    entries = found["measurements"]
    context = {
        "study": paper.case_study(),
        "figures": shown.table_6(),
        "summaries": shown.case_study_summaries(),
        "found": found,
        "compared": [_compared(each) for each in entries if each["against"]],
        "own": [each for each in entries if each["origin"] == Entry.Origin.USER],
        "page": page,
        "rows": _rows(list(page.object_list)),
        "without_page": "?",
        "columns": list(Run.model_fields),
        "kinds": words.PROVENANCE,
    }
    return render(request, "accuracy/index.html", context)


def _compared(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A measurement with its errors against every profile that fits it."""
    against = [
        {**each, "points": shown.summarised(each["by_quantity"]), "bounded": shown.summarised(each["bounds"])}
        for each in entry["against"]
    ]
    return {**entry, "against": against}


def _rows(lines: list[tuple[Entry, str, Line]]) -> list[dict[str, Any]]:
    """One page of all figures, each with what the measurement rests on."""
    return [
        {"entry": entry, "profile": name, "shown": shown.shown(line), "measured": origin(entry.document, "rows")}
        for entry, name, line in lines
    ]


# --- one measurement ----------------------------------------------------------------------------------------------


@require_safe
def measurement_accuracy(request: HttpRequest, name: str) -> HttpResponse:
    """A measurement beside the profile and the scenario that are chosen."""
    entry = entry_or_404(KIND, name)
    asked = {field: request.GET.get(field) for field in ("profile", "scenario")}
    try:
        _, _, lines = comparing.held_against(entry, asked["profile"], asked["scenario"])
        found = comparing.compared(entry, asked["profile"], asked["scenario"])
    except DocumentError as problem:
        context = _choices(entry, asked) | {"errors": {error.field: str(error) for error in problem.errors}}
        return render(request, "accuracy/measurement.html", context, status=400)
    measured = origin(entry.document, "rows")
    context = _choices(entry, {"profile": found["profile"], "scenario": found["scenario"]}) | {
        "found": found,
        "query": request.GET.urlencode(),
        "points": shown.summarised(found["by_quantity"]),
        "by_length": shown.summarised(found["by_length"]),
        "bounded": shown.summarised(found["bounds"]),
        "not_compared": [{**row, "words": shown.QUANTITIES[row["quantity"]]} for row in found["not_compared"]],
        "rows": [{"shown": shown.shown(line), "measured": measured} for line in lines[:MOST_LINES]],
        "has_more": len(lines) > MOST_LINES,
    }
    return render(request, "accuracy/measurement.html", context)


def _choices(entry: Entry, chosen: Mapping[str, str | None]) -> dict[str, Any]:
    """What the form offers: the profiles that fit, then the others, and every scenario."""
    fitting = [each.name for each in comparing.fitting(entry)]
    others = [name for name in store.STORED.names("profiles") if name not in fitting]
    return {
        "entry": entry,
        "fitting": fitting,
        "others": others,
        "scenarios": store.STORED.names("scenarios"),
        "chosen": chosen,
        "kinds": words.PROVENANCE,
    }


# --- fitted anew --------------------------------------------------------------------------------------------------


@login_required
@require_http_methods(["GET", "POST"])
def refit_measurement(request: HttpRequest, name: str) -> HttpResponse:
    """The profile that the runs give, beside the one it would follow; the form stores it."""
    entry = entry_or_404(KIND, name)
    errors: list[str] = []
    if request.method == "POST":
        try:
            stored = _stored(request, entry)
        except (DocumentError, store.Conflict) as problem:
            errors = [str(problem)]
        else:
            messages.success(request, f"{stored} is at revision {stored.revision}, fitted from {entry.name}.")
            return redirect("catalogue-entry", "profiles", stored.name)
    return _preview(request, entry, errors)


def _stored(request: HttpRequest, entry: Entry) -> Entry:
    """Stores what the form says. Raises DocumentError and Conflict."""
    by = request.user.pk
    if request.POST.get("do") != REVISION:
        return refit.store_new(entry, request.POST.get("name", ""), by=by)
    profile = entry_or_404("profiles", request.POST.get("profile", ""))
    revision = request.POST.get("revision", "")
    known = int(revision) if revision.isascii() and revision.isdecimal() and len(revision) < 10 else 0
    return refit.store_revision(entry, profile, revision=known, by=by)


def _preview(request: HttpRequest, entry: Entry, errors: list[str]) -> HttpResponse:
    asked = request.POST.get("profile") or request.GET.get("profile")
    context: dict[str, Any] = {"entry": entry, "errors": errors, "name": request.POST.get("name")}
    try:
        profile, _, _ = comparing.held_against(entry, asked, None)
        seen = refit.preview(entry, profile)
    except DocumentError as problem:
        context["errors"] = [*errors, *map(str, problem.errors)]
        return render(request, "accuracy/refit.html", context, status=400)
    fits = profile is not None and profile.name in [each.name for each in comparing.fitting(entry)]
    context |= {
        "seen": seen,
        "points": list(zip(seen.document["prefill"]["tokens"], seen.document["prefill"]["seconds"], strict=True)),
        "origin": seen.document["provenance"]["prefill"],
        "profile": profile,
        "can_revise": fits,
        "rested_on": comparing.rests_on(entry, profile),
        "before": shown.summarised(seen.before["by_quantity"]) if seen.before else [],
        "after": shown.summarised(seen.after["by_quantity"]),
        "left_out": seen.left_out and {**seen.left_out, **shown.errors(seen.left_out)},
        "kinds": words.PROVENANCE,
    }
    return render(request, "accuracy/refit.html", context, status=400 if errors else 200)
