"""What is now and what was, over REST: for who has no websocket, or has missed some of it."""

from __future__ import annotations

from typing import Any

import msgspec
from django.http import Http404, HttpResponse
from django.utils.http import parse_etags, quote_etag
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from monitoring.api.query import WINDOW, whole, window
from monitoring.api.shapes import shape
from monitoring.live import history, ticks
from monitoring.live.messages import VERSION, Snapshot
from monitoring.live.watched import named
from monitoring.state import loading
from monitoring.storage.query import MOST_POINTS

JSON = "application/json"
MOST_SEQ = 10**15


class SnapshotView(APIView):
    """The newest snapshot, as a viewer's websocket has it."""

    permission_classes = (AllowAny,)

    @extend_schema(
        summary="The newest snapshot",
        description="With If-None-Match of the ETag of an earlier answer: 304 while there is no newer one.",
        responses={
            200: shape(Snapshot),
            304: OpenApiResponse(description="There is no newer one."),
            404: OpenApiResponse(OpenApiTypes.OBJECT, description="There is none yet."),
        },
    )
    def get(self, request: Request) -> HttpResponse:
        found = ticks.newest()
        if found is None:
            raise Http404("There is no snapshot yet.")
        etag = quote_etag(str(found[0]))
        is_known = etag in parse_etags(request.headers.get("If-None-Match", ""))
        answer = HttpResponse(status=304) if is_known else HttpResponse(found[1], content_type=JSON)
        answer["ETag"], answer["Cache-Control"] = etag, "no-cache"
        return answer


class TicksView(APIView):
    """The snapshots after one that was seen: for who was away for a moment."""

    permission_classes = (AllowAny,)

    @extend_schema(
        summary="Snapshots after a number",
        description="gap: some after it are no longer kept, which is ten minutes; more: there are later ones.",
        parameters=[OpenApiParameter("since", int, description="The seq of the last that was seen; default 0.")],
        responses={200: OpenApiTypes.OBJECT},
    )
    def get(self, request: Request) -> HttpResponse:
        found = ticks.since(whole(request.query_params, "since", 0, 0, MOST_SEQ))
        body: dict[str, Any] = {"v": VERSION, "ticks": [msgspec.Raw(each) for each in found.ticks]}
        body |= {"more": found.has_more, "gap": found.has_gap}
        return HttpResponse(msgspec.json.encode(body), content_type=JSON)


class HistoryView(APIView):
    """What charts show of a watch over a window, on one grid."""

    permission_classes = (AllowAny,)

    @extend_schema(
        summary="What charts show, over time",
        description="lines has the names that a snapshot's points have, each with mean, low and high by ts_ms; null "
        "where nothing was measured. lengths has the uncached prompt lengths of the window by bucket and route.",
        parameters=[*WINDOW, OpenApiParameter("points", int, description="From 2 to 600; default 600.")],
        responses={200: OpenApiTypes.OBJECT},
    )
    def get(self, request: Request, name: str) -> Response:
        watch = named(name)
        if watch is None:
            raise Http404(f"No watch is named {name}.")
        now_ms = loading.now_ms()
        start_ms, end_ms = window(request.query_params, now_ms)
        if start_ms >= now_ms:
            raise ValidationError({"start": f"must be before now, got {start_ms}"})
        points = whole(request.query_params, "points", MOST_POINTS, 2, MOST_POINTS)
        return Response(history.over(watch, start_ms, min(end_ms, now_ms), now_ms, points).as_json())
