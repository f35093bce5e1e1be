"""Mappings: all of them, one as a text that can be changed, and what would become of a pasted page of metrics."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from monitoring import mapping, mappings, registry
from monitoring.mapping import MappingError
from monitoring.mapping.dry_run import dry_run
from monitoring.models import OwnMapping
from monitoring.readings import Malformed
from monitoring.signals import VALUES

MOST_CHARACTERS = 4 * 2**20
MOST_ROWS = 2000


@require_http_methods(["GET", "POST"])
def live_mapping(request: HttpRequest) -> HttpResponse:
    """The form, and below it the answer."""
    context = _form(request)
    if request.method == "GET":
        return _new(request, context) if "new" in request.GET else render(request, "live/mapping.html", context)
    answer, status = _answer(request, context), 200
    if "error" in answer:
        status = 400
    return render(request, "live/mapping.html", context | answer, status=status)


def _new(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """To the page of a new mapping; what is no name is told."""
    name = request.GET["new"].strip()
    if wrong := registry.mistakes(name, {}, []):
        return render(request, "live/mapping.html", context | {"refused_name": wrong["name"]}, status=400)
    return redirect("change-live-mapping", name)


def _form(request: HttpRequest) -> dict[str, Any]:
    given = {name: request.POST.get(name, "").strip() for name in registry.LABELS}
    return {
        "text": request.POST.get("text", ""),
        "system": request.POST.get("system", ""),
        "systems": mappings.known().values(),
        "own": set(OwnMapping.objects.values_list("name", flat=True)),
        "labels": [(name, given[name], VALUES.get(name, ())) for name in registry.LABELS],
    }


def _answer(request: HttpRequest, form: dict[str, Any]) -> dict[str, Any]:
    known = mappings.known()
    labels = {name: value for name, value, _ in form["labels"] if value}
    if form["system"] not in ("", *known):
        return {"error": f"{form['system'][:100]} is no mapping; known: {', '.join(known)}"}
    if wrong := registry.mistakes("any", labels, []):
        return {"error": wrong["labels"]}
    if not form["text"].strip():
        return {"error": "Paste what your system answers at its address /metrics."}
    if len(form["text"]) > MOST_CHARACTERS:
        return {"error": f"has {len(form['text']):,} characters; at most {MOST_CHARACTERS:,} are read"}
    chosen = [known[form["system"]]] if form["system"] else list(known.values())
    try:
        report = dry_run(form["text"], chosen, labels)
    except Malformed as problem:
        return {"error": str(problem)}
    return {"report": report, "rows": report.rows[:MOST_ROWS], "more": max(0, len(report.rows) - MOST_ROWS)}


NEW = """name: {name}
version: 1
title: What these metrics are
source: whose metrics, of which release, and where they are described
rules:
  - metric: their_metric_name
    signal: requests
"""


@login_required
@require_http_methods(["GET", "POST"])
def change_live_mapping(request: HttpRequest, name: str) -> HttpResponse:
    """One mapping as YAML; what is stored is checked first, and what was typed is never lost."""
    there = mappings.text_of(name)
    text = request.POST.get("text", NEW.format(name=name) if there is None else there)
    context = {
        "name": name,
        "text": text,
        "own": OwnMapping.objects.filter(name=name).first(),
        "is_shipped": name in mapping.shipped(),
        "is_new": there is None,
    }
    if request.method == "POST":
        try:
            mappings.store(name, text, by=request.user.get_username())
        except MappingError as refused:
            return render(request, "live/mapping_text.html", context | {"errors": refused.errors}, status=400)
        messages.success(request, f"Mapping {name} is stored; messages are read by it within a few seconds.")
        return redirect("live-mapping")
    return render(request, "live/mapping_text.html", context)


@login_required
@require_POST
def remove_live_mapping(request: HttpRequest, name: str) -> HttpResponse:
    """Takes back what was stored; a shipped one of that name counts again."""
    if not mappings.remove(name):
        raise Http404("Nothing of that name was stored.")
    again = "; the shipped one counts again" if name in mapping.shipped() else ""
    messages.success(request, f"Mapping {name} is removed{again}.")
    return redirect("live-mapping")
