"""Answers at once: what a scenario carries, and the curves around it. Nothing is stored."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from planner import evaluation
from planner.api.documents import read_request
from planner.engine.throughput import Form, Stage


class ScenarioRequestSerializer(serializers.Serializer[Any]):
    """A scenario by name or as a document, and how to evaluate it. A bare document is taken as well."""

    scenario = serializers.JSONField(help_text="Name of a shipped scenario, or a complete scenario document.")
    form = serializers.ChoiceField([form.value for form in Form], default="exact")
    set = serializers.DictField(required=False, help_text="Fields to override: dotted PATH to value.")


class ThetaSerializer(serializers.Serializer[Any]):
    """Each stage's own rate, in the requests that reach it."""

    prfaas = serializers.FloatField(allow_null=True)
    pd_p = serializers.FloatField(allow_null=True)
    pd_d = serializers.FloatField()


class InstancesSerializer(serializers.Serializer[Any]):
    """Instances by role."""

    prfaas = serializers.FloatField()
    prefill = serializers.FloatField()
    decode = serializers.FloatField()


class TtftSerializer(serializers.Serializer[Any]):
    """Unloaded time to first token: of prefill alone, no queueing, no time on the link."""

    mean = serializers.FloatField()
    p50 = serializers.FloatField()
    p90 = serializers.FloatField()
    p99 = serializers.FloatField()


class ResultSerializer(serializers.Serializer[Any]):
    """What a deployment carries, in SI units; null for a stage, a threshold or a share that it has not."""

    scenario = serializers.CharField()
    form = serializers.CharField()
    lambda_max_rps = serializers.FloatField()
    binding = serializers.ListField(child=serializers.ChoiceField([stage.value for stage in Stage]))
    theta_rps = ThetaSerializer()
    stages = serializers.DictField(help_text="By stage: lambda_rps at which it saturates, utilisation and slack.")
    offload_fraction = serializers.FloatField()
    mean_offloaded_tokens = serializers.FloatField(allow_null=True)
    mean_local_tokens = serializers.FloatField(allow_null=True)
    policy = serializers.CharField(help_text="How requests are routed: threshold, all_local, all_remote or blind.")
    threshold_tokens = serializers.FloatField(allow_null=True)
    remote_share = serializers.FloatField(
        allow_null=True, help_text="Under policy blind, the share of requests that goes to PrfaaS."
    )
    instances = InstancesSerializer()
    egress_bps = serializers.FloatField()
    link_utilisation = serializers.FloatField(allow_null=True)
    link_usable_bps = serializers.FloatField(allow_null=True)
    ttft_unloaded_s = TtftSerializer()
    extrapolated = serializers.BooleanField()
    provenance = serializers.CharField(help_text="The weakest kind that the result rests on.")
    evidence = serializers.DictField(help_text="The weakest kind under each number; null for a stage not used.")
    notes = serializers.ListField(child=serializers.CharField())
    version = serializers.CharField()


class WhatIfSerializer(serializers.Serializer[Any]):
    """A result and the curves around it."""

    result = ResultSerializer()
    threshold_sweep = serializers.DictField(allow_null=True)
    split_sweep = serializers.DictField()
    lengths = serializers.DictField()


class ErrorSerializer(serializers.Serializer[Any]):
    """One mistake."""

    field = serializers.CharField(allow_null=True)
    value = serializers.JSONField(allow_null=True)
    message = serializers.CharField()


class ErrorsSerializer(serializers.Serializer[Any]):
    """Every mistake found in a request."""

    errors = ErrorSerializer(many=True)  # type: ignore[assignment] # a field of that name, never bound to data


EXAMPLE = OpenApiExample(
    "The case study with another threshold",
    value={"scenario": "case-study-prfaas-pd", "form": "exact", "set": {"routing.threshold_tokens": 25000}},
    request_only=True,
)
FORM = OpenApiParameter("form", enum=[form.value for form in Form], description="The same as `form` in the body.")


class Computed(APIView):
    """Computes and stores nothing, so that nobody needs to sign in."""

    permission_classes = (AllowAny,)


class EvaluateView(Computed):
    """Λ_max, binding stages, egress and unloaded TTFT of a scenario at the values that it holds."""

    @extend_schema(
        summary="Evaluate a scenario",
        parameters=[FORM],
        examples=[EXAMPLE],
        request=ScenarioRequestSerializer,
        responses={200: ResultSerializer, 400: ErrorsSerializer},
    )
    def post(self, request: Request) -> Response:
        asked = read_request(request.data, request.query_params)
        return Response(evaluation.evaluate(asked.scenario, asked.form))


class WhatIfView(Computed):
    """The same result with the curves over t and N_p/N_d and the histogram of lengths."""

    @extend_schema(
        summary="Evaluate a scenario and its surroundings",
        parameters=[FORM],
        examples=[EXAMPLE],
        request=ScenarioRequestSerializer,
        responses={200: WhatIfSerializer, 400: ErrorsSerializer},
    )
    def post(self, request: Request) -> Response:
        asked = read_request(request.data, request.query_params)
        return Response(evaluation.whatif(asked.scenario, asked.form))
