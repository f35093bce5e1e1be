"""What is recommended of a watch, now and before, over REST; and as the configuration of a router."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import msgspec
from django.conf import settings
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import generics, serializers, status
from rest_framework.exceptions import APIException, NotFound, ValidationError
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.pagination import PageNumberPagination
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from monitoring.api.query import moment, whole
from monitoring.api.shapes import shape
from monitoring.live.messages import AdviceNow
from monitoring.live.watched import EVERYTHING
from monitoring.models import Recommendation, Watch
from monitoring.recommending import routers
from monitoring.recommending.now import Now, latest
from monitoring.recommending.routers import Subject
from monitoring.recommending.saying import CODES


def watch_named(name: str) -> Watch:
    """As it is stored, or the one over everything, which is there while nobody has made one. Raises Http404."""
    found = Watch.objects.filter(name=name).first()
    if found is not None:
        return found
    if name == EVERYTHING and not Watch.objects.exists():
        return Watch(name=EVERYTHING)
    raise Http404(f"No watch is named {name}.")


@extend_schema_field(shape(AdviceNow))
class AdviceField(serializers.JSONField):
    """All that was said last."""


class RecommendationSerializer(serializers.ModelSerializer[Recommendation]):
    """A row of the audit log; SI units, times in epoch milliseconds."""

    class Meta:
        model = Recommendation
        fields = (
            "id", "watch", "at_ms", "reason", "sentence", "is_valid", "problems", "current", "recommended", "inputs",
        )  # fmt: skip


class Pages(PageNumberPagination):
    """Up to 500 a page."""

    page_size_query_param = "page_size"
    max_page_size = 500

    def get_page_size(self, request: Request) -> int:
        """Rows a page. Raises ValidationError."""
        return whole(request.query_params, "page_size", self.page_size or 50, 1, self.max_page_size)


class RecommendationsView(generics.ListAPIView[Recommendation]):
    """The audit log of a watch, also when it is there no longer."""

    serializer_class = RecommendationSerializer
    pagination_class = Pages
    queryset = Recommendation.objects.none()

    @extend_schema(
        operation_id="live_recommendations_list",
        summary="What was recommended of a watch, newest first",
        parameters=[
            OpenApiParameter("start", str, description="Epoch milliseconds, or ago: -15m, -6h, -2d. Default: all."),
            OpenApiParameter("end", str, description="The same; what was recommended then is not among them."),
            OpenApiParameter("reason", str, enum=CODES, description="Only those of one reason code."),
        ],
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().get(request, *args, **kwargs)

    def get_queryset(self) -> QuerySet[Recommendation]:
        given, now_ms = self.request.query_params, round(time.time() * 1000)
        found = Recommendation.objects.filter(watch=self.kwargs["name"])
        if not found.exists():
            watch_named(self.kwargs["name"])
        if given.get("start"):
            found = found.filter(at_ms__gte=moment(given, "start", now_ms, 0))
        if given.get("end"):
            found = found.filter(at_ms__lt=moment(given, "end", now_ms, now_ms))
        return found.filter(reason=_reason(given)) if given.get("reason") else found


def _reason(given: Mapping[str, str]) -> str:
    """Raises ValidationError."""
    if given["reason"] not in CODES:
        raise ValidationError({"reason": f"must be one of {', '.join(CODES)}"})
    return given["reason"]


class NowSerializer(serializers.Serializer[Any]):
    """What is recommended now; SI units, times in epoch milliseconds."""

    watch = serializers.CharField()
    at_ms = serializers.IntegerField(allow_null=True, help_text="When it was said; null: nothing was said yet.")
    age_ms = serializers.IntegerField(allow_null=True, help_text="Of the snapshot that it is from.")
    # The metaclass takes fields out of the class: the method of this name stays.
    is_valid = serializers.BooleanField(help_text="False: nothing is recommended.")  # type: ignore[assignment]
    problems = serializers.ListField(child=serializers.CharField(), help_text="Why nothing is.")
    threshold_tokens = serializers.FloatField(allow_null=True, help_text="t to set now.")
    instances = serializers.DictField(child=serializers.IntegerField(), help_text="By role.")
    current_threshold_tokens = serializers.FloatField(allow_null=True, help_text="In force; null: not known.")
    advice = AdviceField(allow_null=True)


class RecommendationView(APIView):
    """What is recommended of a watch now."""

    @extend_schema(
        operation_id="live_recommendation_retrieve",
        summary="What is recommended of a watch now",
        description="Whichever process is asked. While `is_valid` is false, `problems` says why, and nothing in "
        "`advice` is to be acted on: it is what was said last.",
        responses=NowSerializer,
    )
    def get(self, request: Request, name: str) -> Response:
        watch = watch_named(name)
        now = latest(round(time.time() * 1000))
        advice = now.advice(watch.name)
        problems = now.problems(watch.name)
        return Response(
            {
                "watch": watch.name,
                "at_ms": advice.at_ms if advice else None,
                "age_ms": now.age_ms,
                "is_valid": not problems,
                "problems": problems,
                "threshold_tokens": advice.threshold_tokens if advice and not problems else None,
                "instances": advice.instances if advice and not problems else {},
                "current_threshold_tokens": _current_tokens(now, watch.name),
                "advice": msgspec.to_builtins(advice) if advice else None,
            }
        )


def _current_tokens(now: Now, name: str) -> float | None:
    """None is what is not known to be in force now; what was entered by hand is, until it is entered anew."""
    watch = now.watch(name)
    if watch is None or not now.is_fresh:
        return None
    current = watch.threshold_tokens
    return current.value if current.age == "live" or current.origin == "entered" else None


# --- routers ------------------------------------------------------------------------------------------------------


class NothingRecommended(APIException):
    """There is nothing that a router could be told."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "nothing_recommended"


class AsItIs(BaseContentNegotiation):
    """A router's configuration is what it is, whatever is asked for; errors are JSON."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        """The first."""
        return parsers[0]

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """The first."""
        return renderers[0], renderers[0].media_type


class RouterView(APIView):
    """What is recommended, ready to be pasted into a router's configuration."""

    content_negotiation_class = AsItIs

    @extend_schema(
        operation_id="live_router_configuration",
        summary="The recommended t as configuration of a router",
        description="llm-d: YAML; dynamo: flags of its frontend. What the router cannot say is in its comments.",
        parameters=[OpenApiParameter("router", str, OpenApiParameter.PATH, enum=list(routers.WRITTEN))],
        responses={
            (200, "application/yaml"): OpenApiTypes.STR,
            (200, "text/x-shellscript"): OpenApiTypes.STR,
            409: OpenApiResponse(OpenApiTypes.OBJECT, description="nothing is recommended, and why"),
        },
    )
    def get(self, request: Request, name: str, router: str) -> HttpResponse:
        watch = watch_named(name)
        if router not in routers.WRITTEN:
            raise NotFound(f"{router} is no router that can be told a threshold; known: {', '.join(routers.WRITTEN)}")
        now = latest(round(time.time() * 1000))
        problems, advice = now.problems(watch.name), now.advice(watch.name)
        if problems or advice is None or advice.threshold_tokens is None:
            raise NothingRecommended("nothing is recommended now: " + "; ".join(problems))
        subject = Subject(watch.name, watch.scenario, _current_tokens(now, watch.name), settings.VERSION)
        text = routers.WRITTEN[router](subject, advice)
        return HttpResponse(text, content_type=f"{routers.TYPES[router]}; charset=utf-8")
