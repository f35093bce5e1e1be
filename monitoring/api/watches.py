"""What is watched, over REST: read by all, changed by who has signed in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from monitoring import watching
from monitoring.models import Watch

REFUSED = OpenApiResponse(OpenApiTypes.OBJECT, description="errors: field, value and message of each mistake")


class WatchDescriptionSerializer(serializers.Serializer[Any]):
    """What may be said of a watch; of a new one at least its name."""

    name = serializers.CharField(required=False)
    title = serializers.CharField(required=False)
    scenario = serializers.CharField(required=False, help_text="Its name; none: nothing is recommended.")
    clusters = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="Telemetry of these, or of none; []: of any."
    )
    links = serializers.ListField(child=serializers.CharField(), required=False, help_text="[]: all measured ones.")
    headroom = serializers.FloatField(required=False, help_text="Share of each link that is kept free; 0.1.")
    objective = serializers.ChoiceField(Watch.Objective.choices, required=False)


class EnteredSerializer(serializers.Serializer[Any]):
    """A value that no telemetry tells; without `at_ms` it is of now."""

    what = serializers.ChoiceField(watching.WHAT)
    value = serializers.FloatField()
    at_ms = serializers.IntegerField(required=False)


class WatchSerializer(WatchDescriptionSerializer):
    """A watch, and what was entered last of each kind: value, at_ms and by."""

    entered = serializers.DictField(child=serializers.DictField())
    changed_at = serializers.DateTimeField()


def as_json(watch: Watch) -> dict[str, Any]:
    """As the API shows it."""
    return {
        **watching.described(watch),
        "entered": watching.entered_of(watch),
        "changed_at": watch.changed_at.isoformat(),
    }


class WatchesView(APIView):
    """All that is watched."""

    @extend_schema(operation_id="live_watches_list", summary="All watches", responses=WatchSerializer(many=True))
    def get(self, request: Request) -> Response:
        return Response([as_json(each) for each in Watch.objects.all()])

    @extend_schema(
        operation_id="live_watches_create",
        summary="A new watch",
        request=WatchDescriptionSerializer,
        responses={201: WatchSerializer, 400: REFUSED},
    )
    def post(self, request: Request) -> Response:
        watch = Watch()
        _store(watch, _given(request, watching.FIELDS))
        return _made(watch, request)


class WatchView(APIView):
    """One watch."""

    @extend_schema(operation_id="live_watches_retrieve", summary="A watch", responses=WatchSerializer)
    def get(self, request: Request, name: str) -> Response:
        return Response(as_json(get_object_or_404(Watch, name=name)))

    @extend_schema(
        operation_id="live_watches_replace",
        summary="Replace what is said of a watch, or make it",
        request=WatchDescriptionSerializer,
        responses={200: WatchSerializer, 201: WatchSerializer, 400: REFUSED},
    )
    def put(self, request: Request, name: str) -> Response:
        given = _given(request, watching.FIELDS)
        if given.get("name", name) != name:
            raise ValidationError({"name": f"must be that of the address, {name}"})
        watch = Watch.objects.filter(name=name).first()
        if watch is None:
            watch = Watch()
            _store(watch, {**given, "name": name})
            return _made(watch, request)
        _store(watch, {**given, "name": name})
        return Response(as_json(watch))

    @extend_schema(
        operation_id="live_watches_delete",
        summary="Delete a watch and what was entered; telemetry stays",
        responses={204: None},
    )
    def delete(self, request: Request, name: str) -> Response:
        get_object_or_404(Watch, name=name).delete()
        return Response(status=status.HTTP_204_NO_CONTENT)


class EnteredView(APIView):
    """Values of a watch that are entered by hand."""

    @extend_schema(
        operation_id="live_watches_enter",
        summary="Enter a value that no telemetry tells",
        request=EnteredSerializer,
        responses={201: EnteredSerializer, 400: REFUSED},
    )
    def post(self, request: Request, name: str) -> Response:
        watch = get_object_or_404(Watch, name=name)
        given = _given(request, watching.OF_ENTERED)
        try:
            entered = watching.enter(watch, given, request.user.get_username())
        except watching.Wrong as problem:
            raise ValidationError(problem.errors) from problem
        found = {"what": entered.what, "value": entered.value, "at_ms": entered.at_ms}
        return Response(found, status.HTTP_201_CREATED)


def _given(request: Request, fields: tuple[str, ...]) -> Mapping[str, Any]:
    """Raises ValidationError."""
    if not isinstance(request.data, dict):
        raise ValidationError({"detail": f"the body must be a JSON object of {', '.join(fields)}"})
    return request.data


def _store(watch: Watch, given: Mapping[str, Any]) -> None:
    """Raises ValidationError."""
    try:
        watching.store(watch, given)
    except watching.Wrong as problem:
        raise ValidationError(problem.errors) from problem


def _made(watch: Watch, request: Request) -> Response:
    address = reverse("live-watch", args=[watch.name], request=request)
    return Response(as_json(watch), status.HTTP_201_CREATED, headers={"Location": address})
