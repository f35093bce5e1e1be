"""Simulations side by side over REST: one job in parts, one for each replication of each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from planner import jobs, store
from planner.api.documents import scenario_of
from planner.api.evaluate import ErrorsSerializer
from planner.api.jobs import ACCEPTED, accepted
from planner.api.simulations import SimulationSerializer
from planner.documents.errors import refuse
from planner.models import Job
from planner.simulating import side_by_side


class SideBySideSerializer(serializers.Serializer[Any]):
    """Simulations, each with a scenario and settings of its own."""

    runs = serializers.ListField(
        child=SimulationSerializer(),
        help_text=f"1 to {side_by_side.MOST_RUNS}, each as to simulations/; the result has theirs in the same order.",
    )


EXAMPLE = OpenApiExample(
    "Two deployments at one load",
    value={
        "runs": [
            {"scenario": "case-study-prfaas-pd", "rate_rps": 1.7, "requests": 50000},
            {"scenario": "case-study-homogeneous", "rate_rps": 1.7, "requests": 50000},
        ]
    },
    request_only=True,
)


class SideBySideView(APIView):
    """Starts a job that simulates all of them."""

    @extend_schema(
        summary="Simulate several scenarios side by side",
        request=SideBySideSerializer,
        examples=[EXAMPLE],
        responses={201: ACCEPTED, 400: ErrorsSerializer},
    )
    def post(self, request: Request) -> Response:
        return accepted(submit(request.data, request.user.pk), request)


def submit(data: Any, by: int | None) -> Job:
    """The job that simulates all of them. Raises DocumentError."""
    if not isinstance(data, Mapping):
        raise refuse(None, None, "the body must be a JSON object: simulations side by side")
    given = dict(data)
    if isinstance(given.get("runs"), list):
        # one more than there may be is refused, and no name of the rest is looked up
        some = given["runs"][: side_by_side.MOST_RUNS + 1]
        given["runs"] = [_named(run, number) for number, run in enumerate(some)]
    asked = side_by_side.parse(given, store.STORED)
    return jobs.submit("side_by_side", asked.names, asked.frozen(), by)


def _named(run: Any, number: int) -> Any:
    """The run with the document of the scenario that it names."""
    if not isinstance(run, Mapping) or not isinstance(run.get("scenario"), str):
        return run
    return {**run, "scenario": scenario_of(run["scenario"], {}, f"runs.{number}.scenario").document()}
