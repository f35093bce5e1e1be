"""What a front's parts have found so far."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, JsonResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from frontend.optimiser.front import chart
from planner.models import Job
from planner.procurement import questions


@require_safe
def front_points(request: HttpRequest, job_id: UUID) -> JsonResponse:
    """The points of the parts that have ended, those that no other one of them beats; how many parts there are."""
    job = get_object_or_404(Job, pk=job_id, kind=Job.Kind.FRONT)
    ended = job.shards.filter(state=Job.State.SUCCEEDED).order_by("shard")
    parts = [result or {} for result in ended.values_list("result", flat=True)]
    result = job.result or questions.merged(questions.loaded(job.input["question"]), parts)
    return JsonResponse(chart(result) | {"ended": len(parts), "parts": job.shards.count()})
