"""Sources and their tokens over REST."""

from __future__ import annotations

import time
from typing import Any

from django.db import IntegrityError, transaction
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import ValidationError
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from monitoring import registry, tokens
from monitoring.models import Source, Token

FIELDS = ("name", "labels", "systems", "enabled")


class DescriptionSerializer(serializers.Serializer[Any]):
    """What may be said of a source; of a new one at least its name."""

    name = serializers.CharField(required=False)
    labels = serializers.DictField(child=serializers.CharField(), required=False)
    systems = serializers.ListField(child=serializers.CharField(), required=False)
    enabled = serializers.BooleanField(required=False)


class TokenSerializer(serializers.ModelSerializer[Token]):
    """A token without its secret, which is not kept."""

    class Meta:
        model = Token
        fields: tuple[str, ...] = ("id", "hint", "created_at", "last_used_at")


class NewTokenSerializer(TokenSerializer):
    """With its secret, which is shown this once."""

    token = serializers.CharField()

    class Meta(TokenSerializer.Meta):
        fields = (*TokenSerializer.Meta.fields, "token")


class SourceSerializer(serializers.ModelSerializer[Source]):
    """A source and how it does; times in epoch milliseconds."""

    state = serializers.SerializerMethodField()
    reasons = serializers.SerializerMethodField()
    age_ms = serializers.SerializerMethodField()
    quarantined = serializers.SerializerMethodField(help_text="Frames that could not be sorted in.")
    labels = serializers.DictField(child=serializers.CharField())
    systems = serializers.ListField(child=serializers.CharField())

    class Meta:
        model = Source
        fields = (
            *FIELDS, "state", "last_seen_ms", "age_ms", "last_seq", "skew_ms", "accepted", "rejected", "reasons",
            "quarantined", "created_at",
        )  # fmt: skip

    def get_state(self, source: Source) -> str:
        return registry.state(source, round(time.time() * 1000))

    def get_age_ms(self, source: Source) -> int | None:
        return registry.age_ms(source, round(time.time() * 1000))

    def get_quarantined(self, source: Source) -> int:
        return source.quarantined.count()

    def get_reasons(self, source: Source) -> list[str]:
        return [f"{reason} ({count})" for reason, count in registry.reasons(source)]


REFUSED = OpenApiResponse(OpenApiTypes.OBJECT, description="errors: field, value and message of each mistake")


class SourcesView(APIView):
    """All that may send."""

    @extend_schema(operation_id="live_sources_list", summary="All sources", responses=SourceSerializer(many=True))
    def get(self, request: Request) -> Response:
        return Response(SourceSerializer(Source.objects.all(), many=True).data)

    @extend_schema(
        operation_id="live_sources_create",
        summary="A new source",
        request=DescriptionSerializer,
        responses={201: SourceSerializer, 400: REFUSED},
    )
    def post(self, request: Request) -> Response:
        given = _given(request)
        source = Source(name=given.get("name", ""))
        _store(source, given)
        address = reverse("live-source", args=[source.name], request=request)
        return Response(SourceSerializer(source).data, status.HTTP_201_CREATED, headers={"Location": address})


class SourceView(APIView):
    """One source."""

    @extend_schema(operation_id="live_sources_retrieve", summary="A source", responses=SourceSerializer)
    def get(self, request: Request, name: str) -> Response:
        return Response(SourceSerializer(get_object_or_404(Source, name=name)).data)

    @extend_schema(
        operation_id="live_sources_update",
        summary="Change a source",
        request=DescriptionSerializer,
        responses={200: SourceSerializer, 400: REFUSED},
    )
    def patch(self, request: Request, name: str) -> Response:
        source = get_object_or_404(Source, name=name)
        _store(source, _given(request))
        return Response(SourceSerializer(source).data)

    @extend_schema(
        operation_id="live_sources_delete",
        summary="Delete a source, its tokens and all that it has sent",
        responses={204: None},
    )
    def delete(self, request: Request, name: str) -> Response:
        get_object_or_404(Source, name=name).delete()
        return Response(status=status.HTTP_204_NO_CONTENT)


class TokensView(APIView):
    """The tokens of a source: at most two, so that one can take the other's place."""

    permission_classes = (IsAuthenticated,)

    @extend_schema(operation_id="live_tokens_list", summary="Tokens of a source", responses=TokenSerializer(many=True))
    def get(self, request: Request, name: str) -> Response:
        return Response(TokenSerializer(get_object_or_404(Source, name=name).tokens.all(), many=True).data)

    @extend_schema(
        operation_id="live_tokens_create",
        summary="A new token, shown this once",
        request=None,
        responses={201: NewTokenSerializer, 400: REFUSED},
    )
    def post(self, request: Request, name: str) -> Response:
        try:
            token, secret = tokens.create(get_object_or_404(Source, name=name))
        except tokens.TooMany as problem:
            raise ValidationError({"detail": str(problem)}) from problem
        return Response({**TokenSerializer(token).data, "token": secret}, status.HTTP_201_CREATED)


class TokenView(APIView):
    """One token."""

    permission_classes = (IsAuthenticated,)

    @extend_schema(operation_id="live_tokens_revoke", summary="Revoke a token", responses={204: None})
    def delete(self, request: Request, name: str, token_id: int) -> Response:
        tokens.revoke(get_object_or_404(Token, source__name=name, pk=token_id))
        return Response(status=status.HTTP_204_NO_CONTENT)


def _given(request: Request) -> dict[str, Any]:
    """Raises ValidationError."""
    if not isinstance(request.data, dict):
        raise ValidationError({"detail": f"the body must be a JSON object of {', '.join(FIELDS)}"})
    unknown = [field for field in request.data if field not in FIELDS]
    if unknown:
        raise ValidationError({unknown[0]: f"is not a field here; allowed: {', '.join(FIELDS)}"})
    if not isinstance(request.data.get("enabled", True), bool):
        raise ValidationError({"enabled": "must be true or false"})
    return dict(request.data)


def _store(source: Source, given: dict[str, Any]) -> None:
    """Raises ValidationError."""
    found = {field: given.get(field, getattr(source, field)) for field in FIELDS}
    wrong = registry.mistakes(found["name"], found["labels"], found["systems"])
    if wrong:
        raise ValidationError(wrong)
    for field, value in found.items():
        setattr(source, field, value)
    try:
        with transaction.atomic():
            source.save(update_fields=FIELDS if source.pk else None)
    except IntegrityError:
        raise ValidationError({"name": f"{source.name} is the name of another source"}) from None
