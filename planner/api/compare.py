"""A comparison's table over REST, and the simulation of its deployments."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from planner.api.comparisons import ComparisonRequestSerializer, shown_of
from planner.api.evaluate import Computed, ErrorsSerializer
from planner.api.jobs import ACCEPTED, accepted
from planner.comparing import simulated
from planner.comparing.table import table
from planner.documents.errors import refuse

SETTINGS = ("load", "rate_rps", "requests", "replications", "seed")

EXAMPLE = OpenApiExample(
    "The case study's deployments, each as dear as the published one",
    value={"comparison": "case-study", "baseline": "case-study-prfaas-pd", "scale": "cost"},
    request_only=True,
)


class CompareView(Computed):
    """Every metric of every deployment, its ratio to the baseline, and the winner of each."""

    @extend_schema(
        summary="Compare scenarios",
        description="With the figures of the newest simulation of the same deployments, where there is one.",
        request=ComparisonRequestSerializer,
        examples=[EXAMPLE],
        responses={200: OpenApiTypes.OBJECT, 400: ErrorsSerializer},
    )
    def post(self, request: Request) -> Response:
        shown = shown_of(request.data)
        return Response(table(shown, simulated.newest(shown.asked)))


class SimulateComparisonSerializer(ComparisonRequestSerializer):
    """The same, and how its deployments are simulated."""

    load = serializers.FloatField(required=False, help_text="Share of each deployment's own Λ_max; else 0.85.")
    rate_rps = serializers.FloatField(required=False, help_text="One rate for all, in the place of load.")
    requests = serializers.IntegerField(required=False, help_text="Of each replication.")
    replications = serializers.IntegerField(required=False)
    seed = serializers.IntegerField(required=False)


class SimulateComparisonView(APIView):
    """Starts a job that simulates the deployments of a comparison as it is shown."""

    @extend_schema(
        summary="Simulate the scenarios of a comparison",
        request=SimulateComparisonSerializer,
        responses={201: ACCEPTED, 400: ErrorsSerializer},
    )
    def post(self, request: Request) -> Response:
        data: Any = request.data
        shown = shown_of(data, *SETTINGS)
        settings = {name: data[name] for name in SETTINGS if name in data}
        if "load" in settings and "rate_rps" in settings:
            raise refuse("rate_rps", settings["rate_rps"], "is given beside load; leave one out")
        return accepted(simulated.submit(shown.asked, settings, request.user.pk), request)
