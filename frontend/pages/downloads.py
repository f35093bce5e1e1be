"""A job's result as a file."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from frontend import side_by_side
from frontend.replays import answer
from frontend.simulator import study_chart
from planner.models import Job

COLUMNS = ("bandwidth_bps", "sigma", "prefill_instances", "lambda_max_rps", "threshold_tokens")


@require_safe
def result_json(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """The result document with the input that it belongs to."""
    job = _succeeded(job_id)
    document = {"job": str(job.pk), "version": job.version, "input": job.input, "result": job.result}
    return _file(job, "json", json.dumps(document, indent=2, ensure_ascii=False), "application/json")


@require_safe
def result_csv(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """The map, one line a cell and split, or a line for each simulation of several, in SI units."""
    job = _succeeded(job_id)
    response = _file(job, "csv", "", "text/csv; charset=utf-8")
    csv.writer(response).writerows(_table(job))
    return response


def _table(job: Job) -> Iterable[Iterable[Any]]:
    result = job.result or {}
    if job.kind == Job.Kind.STUDY:
        return study_chart.lines(result)
    if job.kind == Job.Kind.SIDE_BY_SIDE:
        return side_by_side.lines(result, job.input)
    if job.kind == Job.Kind.REPLAY:
        return answer.lines(result)
    if result.get("map"):
        return [COLUMNS, *lines(result["map"])]
    raise Http404("This job has no table.")


def lines(mapped: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    axes = [list(enumerate(mapped[axis])) for axis in COLUMNS[:3]]
    for (b, bandwidth), (s, sigma), (p, prefill) in product(*axes):
        values = [mapped[name][b][s][p] for name in COLUMNS[3:]]
        yield bandwidth, sigma, prefill, *values


def _succeeded(job_id: UUID) -> Job:
    return get_object_or_404(Job, pk=job_id, state=Job.State.SUCCEEDED)


def _file(job: Job, ending: str, content: str, kind: str) -> HttpResponse:
    name = f"{job.scenario}-{str(job.pk)[:8]}.{ending}"
    safe = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name)
    return HttpResponse(content, content_type=kind, headers={"Content-Disposition": f'attachment; filename="{safe}"'})
