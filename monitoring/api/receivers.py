"""Receivers of alerts over REST. Their addresses may be secrets: only who is signed in sees them."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from monitoring.alerts import receivers
from monitoring.api.given import REFUSED, body, now_ms, refusing
from monitoring.models import Receiver

STATE = ("failures", "last_sent_ms", "last_error", "last_error_ms")


class ReceiverDescriptionSerializer(serializers.Serializer[Any]):
    """What may be said of a receiver; of a new one at least its name, kind and url."""

    name = serializers.CharField(required=False)
    kind = serializers.CharField(required=False, help_text=f"One of {', '.join(Receiver.Kind.values)}.")
    url = serializers.CharField(required=False)
    secret_file = serializers.CharField(
        required=False, help_text="Name of a file in the credentials' directory: bearer token, or key of signatures."
    )
    matchers = serializers.DictField(child=serializers.CharField(), required=False)
    timeout_s = serializers.FloatField(required=False)
    repeat_s = serializers.FloatField(required=False)
    enabled = serializers.BooleanField(required=False)


class ReceiverSerializer(ReceiverDescriptionSerializer):
    """A receiver, and how it goes: failures in a row, messages that wait, and those that were given up."""

    failures = serializers.IntegerField()
    last_sent_ms = serializers.IntegerField(allow_null=True)
    last_error = serializers.CharField()
    last_error_ms = serializers.IntegerField(allow_null=True)
    waiting = serializers.IntegerField()
    given_up = serializers.IntegerField()


class TriedSerializer(serializers.Serializer[Any]):
    """What was wrong; empty where nothing was."""

    error = serializers.CharField()


def as_json(receiver: Receiver) -> dict[str, Any]:
    """As the API shows it."""
    waiting = receiver.deliveries.filter(done_ms=None, given_up=False).count()
    given_up = receiver.deliveries.filter(given_up=True).count()
    state = {field: getattr(receiver, field) for field in STATE}
    return {**receivers.described(receiver), **state, "waiting": waiting, "given_up": given_up}


class ReceiversView(APIView):
    """Whom alerts are sent to."""

    permission_classes = (IsAuthenticated,)

    @extend_schema(operation_id="live_receivers_list", summary="All receivers", responses=ReceiverSerializer(many=True))
    def get(self, request: Request) -> Response:
        return Response([as_json(each) for each in Receiver.objects.all()])

    @extend_schema(
        operation_id="live_receivers_create",
        summary="A new receiver",
        request=ReceiverDescriptionSerializer,
        responses={201: ReceiverSerializer, 400: REFUSED},
    )
    def post(self, request: Request) -> Response:
        receiver = Receiver()
        with refusing():
            receivers.store(receiver, body(request, receivers.FIELDS))
        address = reverse("live-receiver", args=[receiver.name], request=request)
        return Response(as_json(receiver), status.HTTP_201_CREATED, headers={"Location": address})


class ReceiverView(APIView):
    """One receiver."""

    permission_classes = (IsAuthenticated,)

    @extend_schema(operation_id="live_receivers_retrieve", summary="A receiver", responses=ReceiverSerializer)
    def get(self, request: Request, name: str) -> Response:
        return Response(as_json(get_object_or_404(Receiver, name=name)))

    @extend_schema(
        operation_id="live_receivers_update",
        summary="Change a receiver",
        request=ReceiverDescriptionSerializer,
        responses={200: ReceiverSerializer, 400: REFUSED},
    )
    def patch(self, request: Request, name: str) -> Response:
        receiver = get_object_or_404(Receiver, name=name)
        with refusing():
            receivers.store(receiver, body(request, receivers.FIELDS))
        return Response(as_json(receiver))

    @extend_schema(
        operation_id="live_receivers_delete",
        summary="Delete a receiver, and what it was still to get",
        responses={204: None},
    )
    def delete(self, request: Request, name: str) -> Response:
        get_object_or_404(Receiver, name=name).delete()
        return Response(status=status.HTTP_204_NO_CONTENT)


class ReceiverTestView(APIView):
    """Sends a test at once."""

    __test__ = False
    permission_classes = (IsAuthenticated,)

    @extend_schema(
        operation_id="live_receivers_test", summary="Send a test now", request=None, responses=TriedSerializer
    )
    def post(self, request: Request, name: str) -> Response:
        return Response({"error": receivers.attempt(get_object_or_404(Receiver, name=name), now_ms())})
