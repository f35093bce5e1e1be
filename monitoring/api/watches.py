"""What is watched, over REST: read by all, changed by who has signed in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.db import transaction
from django.shortcuts import get_object_or_404
from django.utils.http import parse_etags
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import APIException, NotFound, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from monitoring import watching
from monitoring.models import Watch
from monitoring.recommending import scenarios

REFUSED = OpenApiResponse(OpenApiTypes.OBJECT, description="errors: field, value and message of each mistake")

CHANGED = OpenApiResponse(OpenApiTypes.OBJECT, description="Somebody else has changed it since; read it again.")
IF_MATCH = OpenApiParameter(
    "If-Match",
    str,
    OpenApiParameter.HEADER,
    description="The ETag that was read; without it whatever is there is changed.",
)


class Changed(APIException):
    """It is not what the writer has read."""

    status_code = status.HTTP_412_PRECONDITION_FAILED
    default_detail = "somebody else has changed it since you have read it: read it again, then change it"


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
        return _made(request, _given(request, watching.FIELDS))


class WatchView(APIView):
    """One watch."""

    @extend_schema(operation_id="live_watches_retrieve", summary="A watch", responses=WatchSerializer)
    def get(self, request: Request, name: str) -> Response:
        return _answer(get_object_or_404(Watch, name=name))

    @extend_schema(
        operation_id="live_watches_replace",
        summary="Replace all that is said of a watch, or make it",
        parameters=[IF_MATCH],
        request=WatchDescriptionSerializer,
        responses={200: WatchSerializer, 201: WatchSerializer, 400: REFUSED, 412: CHANGED},
    )
    def put(self, request: Request, name: str) -> Response:
        given = _given(request, watching.FIELDS)
        if given.get("name", name) != name:
            raise ValidationError({"name": f"must be that of the address, {name}"})
        with transaction.atomic():
            watch = Watch.objects.select_for_update().filter(name=name).first()
            _require_same(request, watch)
            if watch is None:
                return _made(request, {**given, "name": name})
            _checked(watching.store, watch, {**given, "name": name})
        return _answer(watch)

    @extend_schema(
        operation_id="live_watches_update",
        summary="Change some of what is said of a watch",
        parameters=[IF_MATCH],
        request=WatchDescriptionSerializer,
        responses={200: WatchSerializer, 400: REFUSED, 412: CHANGED},
    )
    def patch(self, request: Request, name: str) -> Response:
        given = _given(request, watching.FIELDS)
        with transaction.atomic():
            watch = get_object_or_404(Watch.objects.select_for_update(), name=name)
            _require_same(request, watch)
            _checked(watching.change, watch, given)
        return _answer(watch)

    @extend_schema(
        operation_id="live_watches_delete",
        summary="Delete a watch and what was entered; telemetry stays",
        parameters=[IF_MATCH],
        responses={204: None, 412: CHANGED},
    )
    def delete(self, request: Request, name: str) -> Response:
        with transaction.atomic():
            watch = get_object_or_404(Watch.objects.select_for_update(), name=name)
            _require_same(request, watch)
            watch.delete()
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


class EnteredOneView(APIView):
    """One of them."""

    @extend_schema(
        operation_id="live_watches_withdraw",
        summary="Withdraw a value that was entered: from now on it is unknown where no telemetry tells it",
        parameters=[OpenApiParameter("what", str, OpenApiParameter.PATH, enum=watching.WHAT)],
        responses={204: None, 404: OpenApiResponse(OpenApiTypes.OBJECT, description="nothing is entered that counts")},
    )
    def delete(self, request: Request, name: str, what: str) -> Response:
        watch = get_object_or_404(Watch, name=name)
        if not watching.withdraw(watch, what, request.user.get_username()):
            known = ", ".join(watching.entered_of(watch)) or "nothing"
            raise NotFound(f"of the watch {name} no {what:.50} is entered; entered is: {known}")
        return Response(status=status.HTTP_204_NO_CONTENT)


def _given(request: Request, fields: tuple[str, ...]) -> Mapping[str, Any]:
    """Raises ValidationError."""
    if not isinstance(request.data, dict):
        raise ValidationError({"detail": f"the body must be a JSON object of {', '.join(fields)}"})
    return request.data


def _checked(change: Callable[[Watch, Mapping[str, Any]], None], watch: Watch, given: Mapping[str, Any]) -> None:
    """Raises ValidationError."""
    scenario = given.get("scenario")
    if isinstance(scenario, str) and scenario not in ("", watch.scenario) and (said := scenarios.mistake(scenario)):
        raise ValidationError({"scenario": said})
    try:
        change(watch, given)
    except watching.Wrong as problem:
        raise ValidationError(problem.errors) from problem


def _require_same(request: Request, watch: Watch | None) -> None:
    """That it is what the writer has read, where the writer says so. Raises Changed."""
    known = parse_etags(request.headers.get("If-Match", "*"))
    if known != ["*"] and (watch is None or _etag(watch) not in known):
        raise Changed


def _etag(watch: Watch) -> str:
    return f'"{watch.changed_at.timestamp():.6f}"'


def _answer(watch: Watch, code: int = status.HTTP_200_OK, **headers: str) -> Response:
    return Response(as_json(watch), code, headers={"ETag": _etag(watch), **headers})


def _made(request: Request, given: Mapping[str, Any]) -> Response:
    watch = Watch()
    _checked(watching.store, watch, given)
    address = reverse("live-watch", args=[watch.name], request=request)
    return _answer(watch, status.HTTP_201_CREATED, Location=address)
