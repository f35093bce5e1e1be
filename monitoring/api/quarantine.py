"""Frames that could not be sorted in, over REST: seen, tried again, deleted."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from monitoring import quarantine
from monitoring.models import Quarantined, Source


class QuarantinedSerializer(serializers.ModelSerializer[Quarantined]):
    """A frame that is set aside; times in epoch milliseconds."""

    class Meta:
        model = Quarantined
        fields = ("id", "received_ms", "set_aside_ms", "points", "reason")


RETRIED: Any = inline_serializer("Retried", {"retried": serializers.IntegerField()})


class QuarantineView(APIView):
    """All frames of a source that are set aside."""

    @extend_schema(
        operation_id="live_quarantine_list",
        summary="Frames of a source that could not be sorted in",
        responses=QuarantinedSerializer(many=True),
    )
    def get(self, request: Request, name: str) -> Response:
        source = get_object_or_404(Source, name=name)
        return Response(QuarantinedSerializer(source.quarantined.defer("payload"), many=True).data)

    @extend_schema(
        operation_id="live_quarantine_retry_all",
        summary="Sort all of them in again",
        request=None,
        responses=RETRIED,
    )
    def post(self, request: Request, name: str) -> Response:
        return Response({"retried": quarantine.retry(get_object_or_404(Source, name=name).quarantined.all())})


class QuarantinedView(APIView):
    """One of them."""

    @extend_schema(
        operation_id="live_quarantine_retry", summary="Sort one frame in again", request=None, responses=RETRIED
    )
    def post(self, request: Request, name: str, frame_id: int) -> Response:
        found = get_object_or_404(Quarantined, source__name=name, pk=frame_id)
        return Response({"retried": quarantine.retry(Quarantined.objects.filter(pk=found.pk))})

    @extend_schema(
        operation_id="live_quarantine_delete", summary="Delete a frame that is set aside", responses={204: None}
    )
    def delete(self, request: Request, name: str, frame_id: int) -> Response:
        get_object_or_404(Quarantined, source__name=name, pk=frame_id).delete()
        return Response(status=status.HTTP_204_NO_CONTENT)
