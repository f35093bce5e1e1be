"""Stored scenarios: the list, one with its what-if panel, and the editor that puts one together from entries."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from frontend import bill, whatif, words
from frontend.scenario_form import ScenarioForm, options
from planner import evaluation, store
from planner.catalog import files
from planner.documents.errors import DocumentError
from planner.models import Entry
from planner.procurement.bill import bill as made_out


@require_safe
def scenarios(request: HttpRequest) -> HttpResponse:
    """All scenarios that are offered, the newest first, with what they carry."""
    found = [(entry, _carried(entry)) for entry in store.entries(store.SCENARIOS).order_by("-updated_at", "name")]
    return render(request, "scenarios/list.html", {"scenarios": found})


def _carried(entry: Entry) -> dict[str, Any] | None:
    """The result; none where a change of the rules no longer lets the document be a scenario."""
    try:
        return evaluation.evaluate(store.scenario_of(entry))
    except DocumentError:
        return None


@require_safe
def scenario(request: HttpRequest, name: str) -> HttpResponse:
    """One scenario: what it rests on, and what if; what is wrong with it where a change of the rules refuses it."""
    entry = get_object_or_404(Entry, kind=store.SCENARIOS, name=name)
    text = files.as_yaml(store.written(entry))
    try:
        asked = store.scenario_of(entry)
    except DocumentError as problem:
        return render(request, "scenarios/refused.html", {"entry": entry, "errors": problem.errors, "text": text})
    baseline = {form: evaluation.evaluate(asked, form)["lambda_max_rps"] for form in words.FORMS}
    context = {
        "entry": entry,
        "form": "exact",
        "forms": words.FORMS,
        "kinds": words.PROVENANCE,
        "stages": words.STAGES,
        "whatif": {"baseline": baseline, "baseline_title": "as stored", "scenarios": [whatif.choices(asked)]},
        "bill": bill.table(made_out(asked, store.STORED)),
        "sources": [{"path": path, **asked.provenance(path)} for path in asked.figures()],
        "text": text,
    }
    return render(request, "scenarios/detail.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def new_scenario(request: HttpRequest) -> HttpResponse:
    """The editor."""
    form = ScenarioForm(request.POST or None, initial=request.GET.dict())
    if request.method == "POST" and form.is_valid():
        entry = form.store(by=request.user.pk)
        if entry:
            messages.success(request, f"Scenario {entry.name} is stored.")
            return redirect("scenario-page", entry.name)
    context = {"form": form, "options": options()}
    return render(request, "scenarios/new.html", context)


@require_safe
def scenario_file(request: HttpRequest, name: str, ending: str) -> HttpResponse:
    """The document as YAML or JSON."""
    entry = get_object_or_404(Entry, kind=store.SCENARIOS, name=name)
    document = store.written(entry)
    text, kind = (
        (files.as_json(document), "application/json")
        if ending == "json"
        else (files.as_yaml(document), "application/yaml")
    )
    return HttpResponse(
        text,
        content_type=f"{kind}; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}.{ending}"'},
    )


@login_required
@require_POST
def archive_scenario(request: HttpRequest, name: str) -> HttpResponse:
    """Offers it no more."""
    entry = get_object_or_404(Entry, kind=store.SCENARIOS, name=name)
    store.archive(entry, revision=entry.revision, by=request.user.pk)
    messages.success(request, f"Scenario {name} is archived: the API still has it under ?archived=yes.")
    return redirect("scenarios-page")
