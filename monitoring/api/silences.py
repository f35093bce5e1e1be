"""Silences over REST."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from monitoring.alerts import silences
from monitoring.api.given import REFUSED, body, by, now_ms, refusing
from monitoring.models import Silence

MOST = 500


class SilenceDescriptionSerializer(serializers.Serializer[Any]):
    """What may be said of a silence: at least its matchers and until when it holds."""

    matchers = serializers.DictField(child=serializers.CharField(), help_text="Label to value; * is any characters.")
    starts_ms = serializers.IntegerField(required=False, help_text="Default: now.")
    until_ms = serializers.IntegerField()
    comment = serializers.CharField(required=False)


class SilenceSerializer(SilenceDescriptionSerializer):
    """A silence."""

    id = serializers.IntegerField()
    by = serializers.CharField()
    is_active = serializers.BooleanField()


def silence_as_json(silence: Silence, now: int) -> dict[str, Any]:
    """As the API shows it."""
    shown = {field: getattr(silence, field) for field in (*silences.FIELDS, "id", "by")}
    return {**shown, "is_active": silence.starts_ms <= now < silence.until_ms}


class SilencesView(APIView):
    """Alerts that are told to nobody for a while."""

    @extend_schema(
        operation_id="live_silences_list",
        summary="Silences that hold, or will",
        parameters=[OpenApiParameter("all", bool, description="Also those that are over: the last 500.")],
        responses=SilenceSerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        now = now_ms()
        found = Silence.objects.all()
        if request.query_params.get("all") not in ("true", "1"):
            found = found.filter(until_ms__gt=now)
        return Response([silence_as_json(each, now) for each in found[:MOST]])

    @extend_schema(
        operation_id="live_silences_create",
        summary="A new silence",
        request=SilenceDescriptionSerializer,
        responses={201: SilenceSerializer, 400: REFUSED},
    )
    def post(self, request: Request) -> Response:
        now = now_ms()
        with refusing():
            silence = silences.store(body(request, silences.FIELDS), by(request), now)
        address = reverse("live-silence", args=[silence.pk], request=request)
        return Response(silence_as_json(silence, now), status.HTTP_201_CREATED, headers={"Location": address})


class SilenceView(APIView):
    """One silence."""

    @extend_schema(operation_id="live_silences_retrieve", summary="A silence", responses=SilenceSerializer)
    def get(self, request: Request, silence_id: int) -> Response:
        return Response(silence_as_json(get_object_or_404(Silence, pk=silence_id), now_ms()))

    @extend_schema(
        operation_id="live_silences_end", summary="End a silence; that it was stays to be seen", responses={204: None}
    )
    def delete(self, request: Request, silence_id: int) -> Response:
        silences.end(get_object_or_404(Silence, pk=silence_id), now_ms())
        return Response(status=status.HTTP_204_NO_CONTENT)
