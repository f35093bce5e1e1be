"""Mappings over REST: read, replaced, taken back."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import ValidationError
from rest_framework.permissions import AllowAny, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from monitoring import mappings
from monitoring.mapping import MappingError
from monitoring.models import OwnMapping

REFUSED = OpenApiResponse(OpenApiTypes.OBJECT, description="errors: field, value and message of each mistake")


class MappingTextSerializer(serializers.Serializer[Any]):
    """A mapping as YAML."""

    text = serializers.CharField(help_text="The mapping as YAML; its name is that of the address.")


class ReadByAll(IsAuthenticated):
    """Anybody reads; who changes has signed in."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        return request.method in ("GET", "HEAD", "OPTIONS") or super().has_permission(request, view)


class MappingsView(APIView):
    """All mappings."""

    permission_classes = (AllowAny,)

    @extend_schema(operation_id="live_mappings_list", summary="All mappings", responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request) -> Response:
        own = dict(OwnMapping.objects.values_list("name", "revision"))
        return Response(
            {
                "mappings": [
                    {
                        "name": each.name,
                        "title": each.title,
                        "version": each.version,
                        "source": each.source,
                        "rules": len(each.rules),
                        "origin": "own" if name in own else "shipped",
                        "revision": own.get(name),
                    }
                    for name, each in mappings.known().items()
                ]
            }
        )


class MappingView(APIView):
    """One mapping."""

    permission_classes = (ReadByAll,)

    @extend_schema(
        operation_id="live_mappings_retrieve", summary="A mapping as YAML", responses={200: MappingTextSerializer}
    )
    def get(self, request: Request, name: str) -> Response:
        text = mappings.text_of(name)
        if text is None:
            raise Http404
        return Response({"text": text})

    @extend_schema(
        summary="Store a mapping, or put one in the place of a shipped one",
        request=MappingTextSerializer,
        responses={200: MappingTextSerializer, 400: REFUSED},
    )
    def put(self, request: Request, name: str) -> Response:
        asked = MappingTextSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        try:
            row = mappings.store(name, asked.validated_data["text"], by=request.user.get_username())
        except MappingError as refused:
            raise ValidationError({"text": refused.errors}) from refused
        return Response({"text": row.text})

    @extend_schema(summary="Take back what was stored", responses={204: None})
    def delete(self, request: Request, name: str) -> Response:
        if not mappings.remove(name):
            raise Http404
        return Response(status=status.HTTP_204_NO_CONTENT)
