"""A window of what was measured, as a recording that the simulator and `manage.py replay` read."""

from __future__ import annotations

import time

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from monitoring.api.query import WINDOW, window
from monitoring.recording import RecordingError
from monitoring.replaying.recorder import Wanted, taken
from monitoring.storage.rollups import RESOLUTIONS_S


class RecordingView(APIView):
    """Rates, lengths, link, threshold and instances of a window."""

    permission_classes = (AllowAny,)

    @extend_schema(
        summary="A window as a recording",
        parameters=[
            *WINDOW,
            OpenApiParameter("interval_s", int, enum=list(RESOLUTIONS_S), description="Default: 10."),
            OpenApiParameter("link", str, description="Needed where several links are measured."),
            OpenApiParameter("cluster", str, description="Only what is of this cluster, or of none."),
        ],
        responses={200: OpenApiTypes.OBJECT},
    )
    def get(self, request: Request) -> Response:
        given = request.query_params
        start_ms, end_ms = window(given, int(time.time() * 1000))
        interval_s = given.get("interval_s", str(RESOLUTIONS_S[0]))
        if interval_s not in map(str, RESOLUTIONS_S):
            allowed = ", ".join(map(str, RESOLUTIONS_S))
            raise ValidationError({"interval_s": f"must be one of {allowed}, got {interval_s[:40]!r}"})
        try:
            clusters = (given["cluster"],) if given.get("cluster") else ()
            found = taken(Wanted(start_ms, end_ms, int(interval_s), given.get("link"), clusters))
        except RecordingError as problem:
            field, _, said = str(problem).partition(": ")
            raise ValidationError({field: said}) from problem
        return Response(
            found.model_dump(), headers={"Content-Disposition": f'attachment; filename="recording-{start_ms}.json"'}
        )
