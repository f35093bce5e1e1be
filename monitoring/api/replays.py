"""Replays over REST: a recorded window of a watch, simulated as it was and with other policies; each is a job."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from monitoring.models import Watch
from monitoring.replaying import asking
from planner.simulating import replayed
from planner.simulating.replayed import DocumentError, FieldError


class PolicySerializer(serializers.Serializer[Any]):
    """What is tried; what is left out is as recorded."""

    policy = serializers.ChoiceField(["as_recorded", "static", "bandwidth_aware", "advised", "as_recommended"])
    name = serializers.CharField(required=False, help_text="By which the result has it.")
    threshold_tokens = serializers.FloatField(
        required=False, help_text="Of static: t. Of bandwidth_aware: from which it is raised; else the least recorded."
    )
    best_split = serializers.BooleanField(default=False, help_text="Of advised: N_p/N_d is found with t.")
    roles = serializers.BooleanField(default=False, help_text="PD instances change their role.")
    prfaas_instances = serializers.IntegerField(required=False)
    prefill_instances = serializers.IntegerField(required=False)
    decode_instances = serializers.IntegerField(required=False)


class ReplaySerializer(serializers.Serializer[Any]):
    """Which window, and what is tried in it."""

    start = serializers.CharField(required=False, help_text=f"{asking.MOMENT}. Default: an hour before end.")
    end = serializers.CharField(required=False, help_text="The same; default: now.")
    link = serializers.CharField(required=False, help_text="Needed where several links are measured.")
    cluster = serializers.CharField(required=False, help_text="Only what is of this cluster, or of none.")
    policies = PolicySerializer(many=True, required=False, help_text="Default: bandwidth_aware, and advised.")
    replications = serializers.IntegerField(default=5)
    seed = serializers.IntegerField(default=1)


EXAMPLE = OpenApiExample(
    "Had you followed the advice in the last two hours, or had t been 24,000",
    value={"start": "-2h", "policies": [{"policy": "advised"}, {"policy": "static", "threshold_tokens": 24000}]},
    request_only=True,
)
REFUSED = OpenApiResponse(OpenApiTypes.OBJECT, description="errors: field, value and message of each mistake")
STARTED = OpenApiResponse(OpenApiTypes.OBJECT, description="id, kind, state and scenario of the job; Location: the job")


class ReplaysView(APIView):
    """Starts a job that replays a window."""

    @extend_schema(
        summary="Replay a recorded window with other policies",
        request=ReplaySerializer,
        examples=[EXAMPLE],
        responses={201: STARTED, 400: REFUSED},
    )
    def post(self, request: Request, name: str) -> Response:
        watch = get_object_or_404(Watch, name=name)
        job = submit(watch, request.data, request.user.pk)
        address = reverse("job-detail", args=[job.pk], request=request)
        found = {"id": str(job.pk), "kind": job.kind, "state": job.state, "scenario": job.scenario, "url": address}
        return Response(found, status.HTTP_201_CREATED, headers={"Location": address})


def submit(watch: Watch, data: Any, by: int | None = None) -> Any:
    """The job that replays a window of a watch. Raises DocumentError."""
    if not isinstance(data, Mapping):
        raise replayed.refuse(None, None, "the body must be a JSON object: which window, and what is tried in it")
    if unknown := [name for name in data if name not in asking.FIELDS]:
        said = f"is not a field here; allowed: {', '.join(asking.FIELDS)}"
        raise DocumentError(FieldError(str(name), None, said) for name in unknown)
    now_ms = round(time.time() * 1000)
    try:
        asked = asking.window(watch, data, now_ms)
        found = asking.document(asked, asking.recorded(asked, now_ms), scenario_of(watch), data)
    except asking.Refused as problem:
        raise replayed.refuse(problem.where, problem.value, problem.message) from problem
    try:
        return replayed.replay_job(found.document, by)
    except DocumentError as problem:
        raise DocumentError([_of_request(error) for error in problem.told], problem.more) from problem


def scenario_of(watch: Watch) -> dict[str, Any]:
    """The document of the scenario whose curves describe a watch. Raises Refused."""
    if not watch.scenario:
        raise asking.Refused("watch", watch.name, "has no scenario, whose curves a simulation needs: give it one")
    try:
        return replayed.scenario_document(watch.scenario)
    except DocumentError as problem:
        raise asking.Refused("watch", watch.name, f"its scenario {watch.scenario}: {problem}") from problem


def _of_request(error: FieldError) -> FieldError:
    """A mistake of the simulation as one of the request: how long it is follows from the window."""
    place = (error.field or "").removeprefix("simulation.")
    return FieldError("end" if place == "requests" else place or None, error.value, error.message)
