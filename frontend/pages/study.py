"""How far a running study is: what its variants say so far."""

from __future__ import annotations

from functools import lru_cache
from uuid import UUID

from django.http import HttpRequest, JsonResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from frontend.simulator import study_chart, study_headline
from planner.models import Job
from planner.simulating import plain
from planner.simulating.studies import document, result
from planner.simulating.studies.document import Asked
from planner.simulating.studies.result import Outcome

KEPT = 200
"""Outcomes that are not computed again while a page asks every second and few parts have ended since."""


@require_safe
def variants(request: HttpRequest, job_id: UUID) -> JsonResponse:
    """How many replications have ended, and what these say of each variant that has some."""
    job = get_object_or_404(Job, pk=job_id, kind=Job.Kind.STUDY)
    ended = list(job.shards.filter(state=Job.State.SUCCEEDED).order_by("shard").values_list("shard", flat=True))
    found = _so_far(job, [shard for shard in ended if shard is not None])
    said = {"ended": len(ended), "parts": job.shards.count()}
    if found is None:
        return JsonResponse(said | {"headline": "", "chart": None})
    return JsonResponse(said | {"headline": study_headline.headline(found), "chart": study_chart.chart(found)})


def _so_far(job: Job, ended: list[int]) -> dict[str, object] | None:
    asked = document.loaded(job.input["study"])
    each = len(asked.variants)
    shards = [tuple(shard for shard in ended if shard % each == at) for at in range(each)]
    outcomes = [_outcome(job.pk, at, some) for at, some in enumerate(shards) if some]
    return result.together(asked, outcomes) if outcomes else None


@lru_cache(maxsize=KEPT)
def _outcome(job_id: UUID, at: int, shards: tuple[int, ...]) -> Outcome:
    """What some replications of a variant say together."""
    job = Job.objects.get(pk=job_id)
    rows = job.shards.filter(shard__in=shards).order_by("shard").values_list("result", flat=True)
    runs = [plain.from_json(row) for row in rows if row]
    return result.outcome(_asked(job), at, runs)


def _asked(job: Job) -> Asked:
    return document.loaded(job.input["study"])
