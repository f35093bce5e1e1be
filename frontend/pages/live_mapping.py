"""Trying a mapping: what would become of a pasted page of metrics, before anything of it is stored."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from monitoring import mapping, registry
from monitoring.mapping.dry_run import dry_run
from monitoring.readings import Malformed
from monitoring.signals import VALUES

MOST_CHARACTERS = 4 * 2**20
MOST_ROWS = 2000


@require_http_methods(["GET", "POST"])
def live_mapping(request: HttpRequest) -> HttpResponse:
    """The form, and below it the answer."""
    context = _form(request)
    if request.method == "GET":
        return render(request, "live/mapping.html", context)
    answer, status = _answer(request, context), 200
    if "error" in answer:
        status = 400
    return render(request, "live/mapping.html", context | answer, status=status)


def _form(request: HttpRequest) -> dict[str, Any]:
    given = {name: request.POST.get(name, "").strip() for name in registry.LABELS}
    return {
        "text": request.POST.get("text", ""),
        "system": request.POST.get("system", ""),
        "systems": mapping.shipped().values(),
        "labels": [(name, given[name], VALUES.get(name, ())) for name in registry.LABELS],
    }


def _answer(request: HttpRequest, form: dict[str, Any]) -> dict[str, Any]:
    known = mapping.shipped()
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
