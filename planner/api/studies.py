"""Sweeps and ablations over REST: each is a job in parts, one for each replication of each variant."""

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
from planner.simulating.studies import document
from planner.simulating.studies.features import FEATURES
from planner.simulating.studies.quantities import QUANTITIES


class RangeSerializer(serializers.Serializer[Any]):
    """Values from one end to the other."""

    lowest = serializers.FloatField()
    highest = serializers.FloatField()
    points = serializers.IntegerField(help_text="2 to 40.")


class StudySerializer(serializers.Serializer[Any]):
    """A simulation, and what is changed in it from one variant to the next; all meet the same requests."""

    kind = serializers.ChoiceField(["sweep", "ablation"])
    simulation = SimulationSerializer(help_text="As to simulations/. A sweep of the load need not say one.")
    vary = serializers.CharField(
        required=False,
        help_text=f"Of a sweep: {', '.join(QUANTITIES)}, or the path of a field: chunks, scenario.decode.step_s.",
    )
    values = serializers.ListField(
        child=serializers.JSONField(), required=False, help_text="Of a sweep, 2 to 40 numbers or words, in SI units."
    )
    range = RangeSerializer(required=False, help_text="In the place of values; with neither, values that suit.")
    features = serializers.ListField(
        child=serializers.ChoiceField(list(FEATURES)),
        required=False,
        help_text="Of an ablation: each is turned off by itself; without them, all that the simulation has on.",
    )


EXAMPLES = [
    OpenApiExample(
        "The case study at one load after another",
        value={
            "kind": "sweep",
            "simulation": {"scenario": "case-study-prfaas-pd"},
            "vary": "load",
            "values": [0.5, 0.7, 0.8, 0.85, 0.9, 0.95],
        },
        request_only=True,
    ),
    OpenApiExample(
        "What each feature does for it",
        value={
            "kind": "ablation",
            "simulation": {"scenario": "case-study-prfaas-pd", "load": 0.85, "policy": "bandwidth_aware"},
        },
        request_only=True,
    ),
]


class StudyView(APIView):
    """Starts a job that simulates every variant."""

    @extend_schema(
        summary="Sweep or ablate a simulation",
        request=StudySerializer,
        examples=EXAMPLES,
        responses={201: ACCEPTED, 400: ErrorsSerializer},
    )
    def post(self, request: Request) -> Response:
        return accepted(submit(request.data, request.user.pk), request)


def submit(data: Any, by: int | None) -> Job:
    """The job that simulates all variants. Raises DocumentError."""
    if not isinstance(data, Mapping):
        raise refuse(None, None, "the body must be a JSON object: a study of a simulation")
    given = dict(data)
    simulation = given.get("simulation")
    if isinstance(simulation, Mapping) and isinstance(simulation.get("scenario"), str):
        named = scenario_of(simulation["scenario"], {}, "simulation.scenario")
        given["simulation"] = {**simulation, "scenario": named.document()}
    asked = document.parse(given, store.STORED)
    return jobs.submit("study", asked.base.scenario.name, asked.frozen(), by)
