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
from planner.api import simulation_fields as fields
from planner.api.documents import scenario_of
from planner.api.evaluate import ErrorsSerializer
from planner.api.jobs import ACCEPTED, accepted
from planner.documents.errors import refuse
from planner.models import Job
from planner.simulating import document


class SimulationSerializer(serializers.Serializer[Any]):
    """What to simulate; what is left out is off."""

    schema_version = serializers.ChoiceField([1], default=1)
    scenario = serializers.JSONField(help_text="Name of a scenario, or its document.")
    load = serializers.FloatField(required=False, help_text="Share of Λ_max, or else rate_rps.")
    rate_rps = serializers.FloatField(required=False)
    requests = serializers.IntegerField(default=100_000, help_text="Of each replication.")
    replications = serializers.IntegerField(default=5)
    seed = serializers.IntegerField(default=1)
    warm_up = serializers.FloatField(default=0.05, help_text="Share of the requests, the first, that is not counted.")
    policy = serializers.ChoiceField(["as_given", "all_local", "all_remote", "bandwidth_aware"], default="as_given")
    threshold_track = fields.TrackSerializer(required=False)
    order = serializers.ChoiceField(["fcfs", "shortest"], default="fcfs")
    chunks = serializers.IntegerField(default=16, help_text="In which a KVCache is sent during prefill; 1: after it.")
    connection_bps = serializers.FloatField(required=False, help_text="Most that one transfer gets of the link.")
    failover = serializers.BooleanField(
        default=True, help_text="A cluster that is down or cut off gets no requests while the other one can."
    )
    prefill = fields.PrefillSerializer(required=False)
    decode = fields.DecodeSerializer(required=False)
    tcp = fields.TcpSerializer(required=False)
    paths = fields.PathSerializer(many=True, required=False)
    weather = fields.WeatherSerializer(required=False)
    brown_out = fields.BrownOutSerializer(required=False)
    faults = fields.FaultSerializer(many=True, required=False)
    failures = fields.FailuresSerializer(many=True, required=False)
    spares = fields.SparesSerializer(many=True, required=False)
    roles = fields.RolesSerializer(required=False)
    prompts = fields.PromptsSerializer(required=False)
    caches = fields.CachesSerializer(required=False)
    ttft_within_s = serializers.FloatField(required=False, help_text="Promise on TTFT: who keeps it is counted.")


EXAMPLES = [
    OpenApiExample(
        "The case study at 85 % of its capacity",
        value={"scenario": "case-study-prfaas-pd", "load": 0.85, "requests": 200000, "replications": 5},
        request_only=True,
    ),
    OpenApiExample(
        "Agents with prefix caches, decode by iteration, and a PrfaaS instance that is down for ten minutes",
        value={
            "scenario": "case-study-prfaas-pd",
            "load": 0.7,
            "decode": {"iterations": True},
            "prompts": {"source": "sessions", "kind": "agents"},
            "caches": {"pd_bytes": 4e12, "prfaas_bytes": 2e12},
            "faults": [{"place": "prfaas", "instances": 1, "begin_s": 3600, "end_s": 4200}],
        },
        request_only=True,
    ),
]


class SimulationView(APIView):
    """Starts a job that simulates a scenario."""

    @extend_schema(
        summary="Simulate a scenario",
        request=SimulationSerializer,
        examples=EXAMPLES,
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
