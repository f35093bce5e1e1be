"""Simulations over REST: each is a job in parts, one for each replication."""

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
from planner.documents.errors import refuse
from planner.models import Job
from planner.simulating import document


class SimulationSerializer(serializers.Serializer[Any]):
    """What to simulate."""

    scenario = serializers.JSONField(help_text="Name of a scenario, or its document.")
    load = serializers.FloatField(required=False, help_text="Share of Λ_max, or else rate_rps.")
    rate_rps = serializers.FloatField(required=False)
    requests = serializers.IntegerField(default=100_000, help_text="Of each replication.")
    replications = serializers.IntegerField(default=5)
    seed = serializers.IntegerField(default=1)
    warm_up = serializers.FloatField(default=0.05, help_text="Share of the requests, the first, that is not counted.")
    policy = serializers.ChoiceField(["as_given", "all_local", "all_remote", "bandwidth_aware"], default="as_given")
    order = serializers.ChoiceField(["fcfs", "shortest"], default="fcfs")
    chunks = serializers.IntegerField(default=16, help_text="In which a KVCache is sent during prefill; 1: after it.")
    connection_bps = serializers.FloatField(required=False, help_text="Most that one transfer gets of the link.")
    brown_out = serializers.DictField(required=False, help_text="{begin_s, end_s, bps}: the link carries less.")
    ttft_within_s = serializers.FloatField(required=False, help_text="Promise on TTFT: who keeps it is counted.")


EXAMPLE = OpenApiExample(
    "The case study at 85 % of its capacity",
    value={"scenario": "case-study-prfaas-pd", "load": 0.85, "requests": 200000, "replications": 5},
    request_only=True,
)


class SimulationView(APIView):
    """Starts a job that simulates a scenario."""

    @extend_schema(
        summary="Simulate a scenario",
        request=SimulationSerializer,
        examples=[EXAMPLE],
        responses={
            201: ACCEPTED,
            400: ErrorsSerializer,
        },
    )
    def post(self, request: Request) -> Response:
        return accepted(submit(request.data, request.user.pk), request)


def submit(data: Any, by: int | None) -> Job:
    """The job that simulates. Raises DocumentError."""
    if not isinstance(data, Mapping):
        raise refuse(None, None, "the body must be a JSON object: what to simulate")
    given = dict(data)
    if isinstance(given.get("scenario"), str):
        given["scenario"] = scenario_of(given["scenario"], {}).document()
    asked = document.parse(given, store.STORED)
    return jobs.submit("simulate", asked.scenario.name, asked.frozen(), by)
