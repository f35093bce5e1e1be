"""Over REST: where the gain of one scenario of a comparison over its baseline comes from."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from planner.api.comparisons import ComparisonRequestSerializer, comparison_of
from planner.api.evaluate import Computed, ErrorsSerializer
from planner.comparing.attribution import METRICS, Question, attribution
from planner.comparing.hybrids import DIFFER
from planner.documents.errors import refuse
from planner.engine.throughput import Stage

OPTIONS = ("candidate", "metric", "order", "tuned")
FACTORS, STAGES = ", ".join(DIFFER), ", ".join(Stage)


class AttributionRequestSerializer(ComparisonRequestSerializer):
    """A comparison, and whose gain is asked about."""

    candidate = serializers.CharField(help_text="Name of the scenario that is held against the baseline.")
    metric = serializers.ChoiceField(list(METRICS), default=METRICS[0])
    order = serializers.ListField(
        child=serializers.CharField(), required=False, help_text=f"Of the steps: those of {FACTORS} that differ."
    )
    tuned = serializers.BooleanField(
        default=False, help_text="Run every deployment at its best threshold, so that none is badly set."
    )


class AttributedFactorSerializer(serializers.Serializer[Any]):
    """A cause: its share is the mean of what it adds over all orders, `least` and `greatest` are among these."""

    factor = serializers.ChoiceField(list(DIFFER))
    title = serializers.CharField()
    words = serializers.CharField(help_text="What it is at the baseline → at the candidate.")
    share = serializers.FloatField(allow_null=True, help_text="Shapley value, in the metric's unit.")
    share_of_total = serializers.FloatField(allow_null=True, help_text="Null where the whole is nothing.")
    least = serializers.FloatField(allow_null=True)
    greatest = serializers.FloatField(allow_null=True)
    orders = serializers.IntegerField(help_text="k!, over which the share is the mean.")


class AttributedGroupSerializer(serializers.Serializer[Any]):
    """Factors that belong together, with the sum of their shares."""

    group = serializers.ChoiceField(["scheduling"])
    factors = serializers.ListField(child=serializers.CharField())
    share = serializers.FloatField(allow_null=True)
    share_of_total = serializers.FloatField(allow_null=True)


class AttributionDeploymentSerializer(serializers.Serializer[Any]):
    """A deployment on the way, which can be opened, and what it has."""

    value = serializers.FloatField(allow_null=True)
    scenario_document = serializers.DictField()
    bound_by = serializers.ListField(child=serializers.CharField(), help_text=f"Of {STAGES}.")


class AttributionStepSerializer(AttributionDeploymentSerializer):
    """The deployment after a factor was changed, and what that added."""

    factor = serializers.ChoiceField(list(DIFFER))
    change = serializers.FloatField(allow_null=True)


class AttributionEndSerializer(serializers.Serializer[Any]):
    """What a scenario has as it was given, and how it is written here."""

    given_value = serializers.FloatField(allow_null=True)
    words = serializers.CharField()


class AttributionStartSerializer(AttributionDeploymentSerializer, AttributionEndSerializer):
    """The baseline in the shape of both."""


class AttributionSerializer(serializers.Serializer[Any]):
    """A gain divided among its causes; null, with the reason in `undefined`, where the metric has no value."""

    baseline = serializers.CharField()
    candidate = serializers.CharField()
    form = serializers.CharField()
    metric = serializers.ChoiceField(list(METRICS))
    unit = serializers.CharField(help_text="Of every value, share and change.")
    tuned = serializers.BooleanField()
    to = serializers.FloatField(allow_null=True)
    total = serializers.FloatField(allow_null=True, help_text="to − from, the sum of all shares.")
    undefined = serializers.CharField(allow_null=True)
    factors = AttributedFactorSerializer(many=True)
    groups = AttributedGroupSerializer(many=True)
    order = serializers.ListField(child=serializers.CharField())
    start = AttributionStartSerializer()
    steps = AttributionStepSerializer(many=True)
    end = AttributionEndSerializer()
    provenance = serializers.CharField(help_text="The weakest kind that any of it rests on.")
    notes = serializers.ListField(child=serializers.CharField())
    version = serializers.CharField()
    sentence = serializers.CharField(help_text="The whole in words.")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """With `from`, which is no name that Python allows."""
        return {**super().get_fields(), "from": serializers.FloatField(allow_null=True)}


EXAMPLE = OpenApiExample(
    "How much of the case study's gain is chips, and how much scheduling",
    value={
        "comparison": "case-study",
        "candidate": "case-study-prfaas-pd",
        "baseline": "case-study-homogeneous",
        "tuned": True,
    },
    request_only=True,
)


class AttributionView(Computed):
    """The gain of one scenario over another, divided among chips, counts, routing, link and caches."""

    @extend_schema(
        summary="Attribute a gain to its causes",
        description="Every step is a complete scenario document. The scale of the comparison holds here too.",
        request=AttributionRequestSerializer,
        examples=[EXAMPLE],
        responses={200: AttributionSerializer, 400: ErrorsSerializer},
    )
    def post(self, request: Request) -> Response:
        asked = comparison_of(request.data, *OPTIONS)
        return Response(attribution(asked, _question(request.data)))


def _question(data: Any) -> Question:
    """What is asked beside the comparison. Raises DocumentError."""
    metric, order, tuned = data.get("metric", METRICS[0]), data.get("order"), data.get("tuned", False)
    if metric not in METRICS:
        raise refuse("metric", metric, f"must be one of {', '.join(METRICS)}")
    if order is not None and not isinstance(order, list):
        raise refuse("order", order, "must be a list of factors")
    if not isinstance(tuned, bool):
        raise refuse("tuned", tuned, "must be true or false")
    return Question(data.get("candidate"), metric, order, tuned)
