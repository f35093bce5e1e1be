"""One job: progress while it runs, and its result or why there is none."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import get_script_prefix
from django.utils.timezone import now
from django.views.decorators.http import require_safe

from frontend import figures, outcome
from planner.management.inspection import lines
from planner.models import Job

UNITS: dict[str, str] = {Job.Kind.OPTIMIZE.value: "steps", Job.Kind.IMPORT_TRACE.value: "kB"}


@require_safe
def job(request: HttpRequest, job_id: UUID) -> HttpResponse:
    found = get_object_or_404(Job, pk=job_id)
    context = {
        "job": found,
        "elapsed": elapsed(found),
        "percent": 100 * found.done // found.total if found.total else 0,
        "input_text": json.dumps(found.input, indent=2, ensure_ascii=False),
        "socket": f"{get_script_prefix()}ws/jobs/{found.pk}/",
        "unit": UNITS[found.kind],
        **results(found),
    }
    return render(request, "job.html", context)


def elapsed(found: Job) -> str:
    """How long it has been computed, or was."""
    if found.started_at is None:
        return figures.NONE
    return figures.duration(((found.finished_at or now()) - found.started_at).total_seconds())


def results(found: Job) -> dict[str, Any]:
    """What only a job that succeeded has to show."""
    if not found.result:
        return {}
    if found.kind == Job.Kind.IMPORT_TRACE:
        return {"imported": found.result, "facts": list(lines(found.result["facts"]))}
    return {
        "outcome": outcome.rows(found.result, found.input["scenario"]),
        "gain": outcome.gain(found.result),
        "map": found.result.get("map"),
    }
