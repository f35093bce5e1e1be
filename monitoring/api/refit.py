"""A watch's scenario fitted anew from its telemetry: looked at by GET, stored by POST."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import APIException, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from monitoring.api.query import UNITS_MS, window
from monitoring.api.recommendations import watch_named
from monitoring.models import Watch
from monitoring.recommending.telemetry import Telemetry, seen
from planner.watched import Conflict, Preview, Refused, Seen, preview, store_refit

ROUTES = ("remote", "local")
LONGEST_MS = 7 * UNITS_MS["d"]
FIELDS = ("start", "end", "revision")


class NotNow(APIException):
    """What is asked contradicts what is there."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "conflict"


class RefitSerializer(serializers.Serializer[Any]):
    """Of which telemetry, and in the place of which revision of the scenario; all may be left out."""

    start = serializers.CharField(required=False, help_text="Epoch milliseconds, or ago: -1h. Default: -1h.")
    end = serializers.CharField(required=False, help_text="The same; default: now.")
    revision = serializers.IntegerField(required=False, help_text="As the preview told it; a later one is a conflict.")


class CurveSerializer(serializers.Serializer[Any]):
    """Seconds of prefill at so many tokens."""

    tokens = serializers.ListField(child=serializers.FloatField())
    seconds = serializers.ListField(child=serializers.FloatField())


class ProvenanceSerializer(serializers.Serializer[Any]):
    """Where a curve comes from."""

    kind = serializers.CharField(help_text="measured where all points are, else inferred.")
    # The metaclass takes fields out of the class: the attribute of this name stays.
    source = serializers.CharField()  # type: ignore[assignment]


class FittedSerializer(serializers.Serializer[Any]):
    """A profile of the scenario, before and after."""

    profile = serializers.CharField()
    routes = serializers.ListField(child=serializers.ChoiceField(ROUTES))
    requests = serializers.FloatField(help_text="That were seen.")
    ratio = serializers.FloatField(help_text="Observed over predicted time.")
    measured_tokens = serializers.ListField(child=serializers.FloatField(), help_text="From, to.")
    before = CurveSerializer()
    after = CurveSerializer()
    provenance = ProvenanceSerializer()


class PreviewSerializer(serializers.Serializer[Any]):
    """What a refit would store."""

    scenario = serializers.CharField()
    revision = serializers.IntegerField(help_text="Of the scenario as it is.")
    start_ms = serializers.IntegerField()
    end_ms = serializers.IntegerField()
    profiles = FittedSerializer(many=True)
    problems = serializers.DictField(child=serializers.CharField(), help_text="By route, why it was not fitted.")


class StoredSerializer(PreviewSerializer):
    """What it stored: new revisions by name."""

    stored = serializers.DictField(child=serializers.IntegerField())


class RefitView(APIView):
    """The profiles of a watch's scenario, as telemetry has them."""

    @extend_schema(
        operation_id="live_refit_preview",
        summary="What a refit of the profiles from telemetry would store",
        parameters=[
            OpenApiParameter("start", str, description="Epoch milliseconds, or ago: -1h, -2d. Default: -1h."),
            OpenApiParameter("end", str, description="The same; default: now."),
        ],
        responses={200: PreviewSerializer, 409: OpenApiResponse(OpenApiTypes.OBJECT, description="why it cannot be")},
    )
    def get(self, request: Request, name: str) -> Response:
        found, telemetry = _found(watch_named(name), request.query_params)
        return Response(_told(found, telemetry))

    @extend_schema(
        operation_id="live_refit",
        summary="Refit the profiles from telemetry: the next revision of the scenario and of its profiles",
        request=RefitSerializer,
        responses={201: StoredSerializer, 409: OpenApiResponse(OpenApiTypes.OBJECT, description="why it cannot be")},
    )
    def post(self, request: Request, name: str) -> Response:
        given = _given(request.data)
        found, telemetry = _found(watch_named(name), given)
        asked = given.get("revision")
        if asked is not None and asked != str(found.revision):
            raise NotNow(f"the scenario {found.scenario} is at revision {found.revision}, not {asked}: look again")
        try:
            revisions = store_refit(found, by=request.user.pk)
        except (Refused, Conflict) as problem:
            raise NotNow(str(problem)) from problem
        return Response({**_told(found, telemetry), "stored": revisions}, status.HTTP_201_CREATED)


def _given(data: Any) -> dict[str, str]:
    """The body's fields as text. Raises ValidationError."""
    if not isinstance(data, Mapping):
        raise ValidationError({"detail": f"the body must be a JSON object of {', '.join(FIELDS)}, or empty"})
    for field, value in data.items():
        if field not in FIELDS:
            raise ValidationError({str(field)[:60]: f"is not a field here; allowed: {', '.join(FIELDS)}"})
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise ValidationError({field: "must be a whole number, or text of one"})
    return {str(field): str(value) for field, value in data.items()}


def _found(watch: Watch, given: Mapping[str, str]) -> tuple[Preview, Telemetry]:
    """Raises ValidationError and NotNow."""
    start_ms, end_ms = window(given, round(time.time() * 1000))
    if end_ms - start_ms > LONGEST_MS:
        raise ValidationError({"start": f"must be at most {LONGEST_MS // UNITS_MS['d']} days before end"})
    if not watch.scenario:
        raise NotNow(f"the watch {watch.name} names no scenario whose profiles could be fitted")
    telemetry = seen(watch, start_ms, end_ms)
    by_route = {route: _seen(telemetry, route) for route in ROUTES}
    try:
        return preview(watch.scenario, by_route, _source(watch, telemetry)), telemetry
    except Refused as problem:
        raise NotNow(str(problem)) from problem


def _seen(telemetry: Telemetry, route: str) -> Seen | str:
    lengths, times = telemetry.lengths.get(route), telemetry.times.get(route)
    if lengths is None or times is None:
        missing = [name for name, part in (("uncached_tokens", lengths), ("prefill_s", times)) if part is None]
        return f"no {' and no '.join(missing)} of {route} requests was seen in the window"
    return Seen(lengths, times, times.sum or 0.0)


def _source(watch: Watch, telemetry: Telemetry) -> str:
    """For the provenance."""
    start, end = (
        datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
        for ms in (telemetry.start_ms, telemetry.end_ms)
    )
    return f"telemetry of {watch.name}, {start} to {end} UTC"


def _told(found: Preview, telemetry: Telemetry) -> dict[str, Any]:
    return {
        "scenario": found.scenario,
        "revision": found.revision,
        "start_ms": telemetry.start_ms,
        "end_ms": telemetry.end_ms,
        "profiles": [
            {
                "profile": each.profile,
                "routes": each.routes,
                "requests": each.fit.requests,
                "ratio": each.fit.ratio,
                "measured_tokens": [each.fit.shortest, each.fit.longest],
                "before": {"tokens": each.before[0], "seconds": each.before[1]},
                "after": {"tokens": each.fit.tokens, "seconds": each.fit.seconds},
                "provenance": each.origin,
            }
            for each in found.fitted
        ],
        "problems": found.problems,
    }
