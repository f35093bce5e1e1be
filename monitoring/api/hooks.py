"""Hooks over REST: the addresses that Alertmanager and Grafana post to, and who may."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from django.db import DatabaseError
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import serializers, status
from rest_framework.exceptions import ValidationError
from rest_framework.permissions import AllowAny, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from monitoring import tokens
from monitoring.alerts.hooks import alertmanager, grafana, keeping, registry
from monitoring.alerts.hooks.events import MOST, MOST_BYTES, Malformed, Message
from monitoring.api.given import REFUSED, body, now_ms, refusing
from monitoring.credentials import of_headers
from monitoring.models import Hook, HookToken

STATE = ("last_seen_ms", "accepted", "last_error", "last_error_ms")
HEADER = "send Authorization: Bearer TOKEN, or Basic with the token as password"
UNKNOWN = "the token is not known, was revoked, or its hook is disabled"


class HookDescriptionSerializer(serializers.Serializer[Any]):
    """What may be said of a hook; of a new one at least its name and kind."""

    name = serializers.CharField(required=False)
    kind = serializers.CharField(required=False, help_text=f"One of {', '.join(Hook.Kind.values)}.")
    watch = serializers.CharField(required=False)
    enabled = serializers.BooleanField(required=False)


class HookSerializer(HookDescriptionSerializer):
    """A hook, and what came of it; times in epoch milliseconds."""

    last_seen_ms = serializers.IntegerField(allow_null=True)
    accepted = serializers.IntegerField()
    last_error = serializers.CharField()
    last_error_ms = serializers.IntegerField(allow_null=True)


class HookTokenSerializer(serializers.ModelSerializer[HookToken]):
    """A token without its secret, which is not kept."""

    class Meta:
        model = HookToken
        fields: tuple[str, ...] = ("id", "hint", "created_at", "last_used_at")


class NewHookTokenSerializer(HookTokenSerializer):
    """With its secret, which is shown this once."""

    token = serializers.CharField()

    class Meta(HookTokenSerializer.Meta):
        fields = (*HookTokenSerializer.Meta.fields, "token")


class TakenSerializer(serializers.Serializer[Any]):
    """How many events were taken, and how many the sender had left out."""

    accepted = serializers.IntegerField()
    truncated = serializers.IntegerField()


def as_json(hook: Hook) -> dict[str, Any]:
    """As the API shows it."""
    return {**registry.described(hook), **{field: getattr(hook, field) for field in STATE}}


# --- what they post to -------------------------------------------------------------------------------------------


class DoorView(APIView):
    """Takes a message; answered once all of it is stored."""

    authentication_classes = ()
    permission_classes = (AllowAny,)
    kind: ClassVar[Hook.Kind]
    read: ClassVar[Callable[[bytes, int], Message]]

    def post(self, request: Request) -> Response:
        secret = of_headers(request.headers.get("Authorization", ""))
        hook = registry.find(secret) if secret else None
        if hook is None:
            return _refused(403 if secret else 401, None, UNKNOWN if secret else HEADER)
        if hook.kind != self.kind:
            return _refused(403, None, f"this token is of a hook of kind {hook.kind}, not {self.kind}")
        at_ms = now_ms()
        try:
            message = type(self).read(request._request.body, at_ms)
        except Malformed as problem:
            registry.noted(hook, at_ms, 0, str(problem))
            return _refused(400, *_placed(str(problem)))
        return _kept(hook, message, at_ms)


def _placed(problem: str) -> tuple[str | None, str]:
    """Where in a message something is wrong, and what; no place is said of the whole of it."""
    place, separator, said = problem.partition(": ")
    return (place, said) if separator and " " not in place else (None, problem)


def _kept(hook: Hook, message: Message, at_ms: int) -> Response:
    try:
        keeping.keep(hook, message)
    except DatabaseError:
        return _refused(503, None, "annotations cannot be stored just now: try again")
    left_out = f"its sender left {message.truncated} alerts out of its last message" if message.truncated else ""
    registry.noted(hook, at_ms, len(message.events), left_out)
    return Response({"accepted": len(message.events), "truncated": message.truncated})


def _refused(code: int, field: str | None, said: str) -> Response:
    response = Response({"errors": [{"field": field, "value": None, "message": said}]}, status=code)
    if code == status.HTTP_401_UNAUTHORIZED:
        response["WWW-Authenticate"] = 'Bearer realm="hooks"'
    return response


DOOR = {
    "request": OpenApiTypes.OBJECT,
    "auth": [{"hookToken": []}],
    "responses": {
        200: TakenSerializer,
        400: REFUSED,
        401: OpenApiResponse(OpenApiTypes.OBJECT, description=HEADER),
        403: OpenApiResponse(OpenApiTypes.OBJECT, description=UNKNOWN),
    },
    "description": f"At most {MOST} alerts and {MOST_BYTES} bytes. Keys that are not known are passed over.",
}


@extend_schema_view(
    post=extend_schema(operation_id="live_hooks_alertmanager", summary="Alertmanager's webhook, version 4", **DOOR)  # type: ignore[arg-type]
)
class AlertmanagerView(DoorView):
    """Alertmanager's webhook."""

    kind, read = Hook.Kind.ALERTMANAGER, alertmanager.read


@extend_schema_view(
    post=extend_schema(operation_id="live_hooks_grafana", summary="Grafana's webhook", **DOOR)  # type: ignore[arg-type]
)
class GrafanaView(DoorView):
    """Grafana's webhook, of unified or legacy alerting."""

    kind, read = Hook.Kind.GRAFANA, grafana.read


# --- who may -----------------------------------------------------------------------------------------------------


class HooksView(APIView):
    """Who may tell us of events."""

    permission_classes = (IsAuthenticated,)

    @extend_schema(operation_id="live_hooks_list", summary="All hooks", responses=HookSerializer(many=True))
    def get(self, request: Request) -> Response:
        return Response([as_json(each) for each in Hook.objects.all()])

    @extend_schema(
        operation_id="live_hooks_create",
        summary="A new hook",
        request=HookDescriptionSerializer,
        responses={201: HookSerializer, 400: REFUSED},
    )
    def post(self, request: Request) -> Response:
        hook = Hook()
        with refusing():
            registry.store(hook, body(request, registry.FIELDS))
        address = reverse("live-hook", args=[hook.name], request=request)
        return Response(as_json(hook), status.HTTP_201_CREATED, headers={"Location": address})


class HookView(APIView):
    """One hook."""

    permission_classes = (IsAuthenticated,)

    @extend_schema(operation_id="live_hooks_retrieve", summary="A hook", responses=HookSerializer)
    def get(self, request: Request, name: str) -> Response:
        return Response(as_json(get_object_or_404(Hook, name=name)))

    @extend_schema(
        operation_id="live_hooks_update",
        summary="Change a hook",
        request=HookDescriptionSerializer,
        responses={200: HookSerializer, 400: REFUSED},
    )
    def patch(self, request: Request, name: str) -> Response:
        hook = get_object_or_404(Hook, name=name)
        with refusing():
            registry.store(hook, body(request, registry.FIELDS))
        return Response(as_json(hook))

    @extend_schema(
        operation_id="live_hooks_delete",
        summary="Delete a hook and its tokens; its annotations stay",
        responses={204: None},
    )
    def delete(self, request: Request, name: str) -> Response:
        get_object_or_404(Hook, name=name).delete()
        return Response(status=status.HTTP_204_NO_CONTENT)


class HookTokensView(APIView):
    """The tokens of a hook: at most two, so that one can take the other's place."""

    permission_classes = (IsAuthenticated,)

    @extend_schema(
        operation_id="live_hook_tokens_list", summary="Tokens of a hook", responses=HookTokenSerializer(many=True)
    )
    def get(self, request: Request, name: str) -> Response:
        return Response(HookTokenSerializer(get_object_or_404(Hook, name=name).tokens.all(), many=True).data)

    @extend_schema(
        operation_id="live_hook_tokens_create",
        summary="A new token, shown this once",
        request=None,
        responses={201: NewHookTokenSerializer, 400: REFUSED},
    )
    def post(self, request: Request, name: str) -> Response:
        try:
            token, secret = tokens.create(get_object_or_404(Hook, name=name))
        except tokens.TooMany as problem:
            raise ValidationError({"detail": str(problem)}) from problem
        return Response({**HookTokenSerializer(token).data, "token": secret}, status.HTTP_201_CREATED)


class HookTokenView(APIView):
    """One token."""

    permission_classes = (IsAuthenticated,)

    @extend_schema(operation_id="live_hook_tokens_revoke", summary="Revoke a token", responses={204: None})
    def delete(self, request: Request, name: str, token_id: int) -> Response:
        get_object_or_404(HookToken, hook__name=name, pk=token_id).delete()
        return Response(status=status.HTTP_204_NO_CONTENT)
