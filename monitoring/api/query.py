"""Series and values over REST: the resolution follows from the window, and an export has the samples themselves."""

from __future__ import annotations

import csv
import io
import re
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from itertools import islice
from typing import Any

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponse, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from monitoring.models import Series
from monitoring.signals import PLACE, SIGNALS, VALUES
from monitoring.storage import exporting, query
from monitoring.storage.rollups import RESOLUTIONS_S

HOUR_MS = 3_600_000
AGO = re.compile(r"-(\d+)(s|m|h|d)")
UNITS_MS = {"s": 1000, "m": 60_000, "h": HOUR_MS, "d": 24 * HOUR_MS}
RESERVED = ("signal", "source", "start", "end", "points", "as", "resolution_s")
LONGEST_MOMENT = 15
"""Characters of a time: the year 33658 in milliseconds."""
MOST_EXPORTED = 7 * 24 * 3600
"""Rollups of a series in an export, or its samples if there is one a second."""
LINES_AT_ONCE = 2000

WINDOW = [
    OpenApiParameter("start", str, description="Epoch milliseconds, or ago: -15m, -6h, -2d. Default: -1h."),
    OpenApiParameter("end", str, description="The same; default: now."),
]
CHOSEN = [
    OpenApiParameter("signal", str, required=True, description=f"One of {', '.join(SIGNALS)}."),
    OpenApiParameter("source", str, many=True, description="Names of sources; else all."),
]


class SeriesView(APIView):
    """Every series, by signal, source and labels."""

    permission_classes = (AllowAny,)

    @extend_schema(
        summary="All series",
        parameters=[OpenApiParameter("signal", str, description="Only those of one signal.")],
        responses={200: OpenApiTypes.OBJECT},
    )
    def get(self, request: Request) -> Response:
        found = Series.objects.select_related("source").order_by("signal", "pk")
        if request.query_params.get("signal"):
            found = found.filter(signal=_signal(request))
        return Response({"series": [_described(each) for each in found]})


class QueryView(APIView):
    """A signal over a window: at most so many points of each series, counters as rates a second, gaps as null."""

    permission_classes = (AllowAny,)

    @extend_schema(
        summary="Values over time",
        description="Any other parameter is a label that the series must have. Series of one answer must not be "
        "added up blindly: a router tells the same requests as the engines behind it; choose by role or source.",
        parameters=[*CHOSEN, *WINDOW, OpenApiParameter("points", int, description="From 2 to 600; default 600.")],
        responses={200: OpenApiTypes.OBJECT},
    )
    def get(self, request: Request) -> Response:
        start_ms, end_ms = window(request.query_params, int(time.time() * 1000))
        points = whole(request.query_params, "points", query.MOST_POINTS, 2, query.MOST_POINTS)
        asked = query.window(start_ms, end_ms, points)
        found = query.lines(_matching(request), asked)
        return Response(
            {
                "signal": request.query_params["signal"],
                "start_ms": asked.start_ms,
                "end_ms": asked.end_ms,
                "step_ms": asked.step_ms,
                "resolution_s": asked.resolution_s,
                "series": [{**_described(line.series), **_values(line)} for line in found],
            }
        )


class ExportView(APIView):
    """The samples of a signal over a window as a file, or its rollups, which are kept for longer."""

    permission_classes = (AllowAny,)

    @extend_schema(
        summary="Samples as CSV or Parquet",
        parameters=[
            *CHOSEN,
            *WINDOW,
            OpenApiParameter("as", str, enum=["csv", "parquet"], description="Default: csv."),
            OpenApiParameter("resolution_s", int, enum=[0, *RESOLUTIONS_S], description="Default: 0, the samples."),
        ],
        responses={(200, "text/csv"): OpenApiResponse(OpenApiTypes.STR, description="One line a sample.")},
    )
    def get(self, request: Request) -> HttpResponse | StreamingHttpResponse:
        start_ms, end_ms = window(request.query_params, int(time.time() * 1000))
        resolution_s = _resolution(request)
        most_ms = MOST_EXPORTED * max(resolution_s, 1) * 1000
        if end_ms - start_ms > most_ms:
            most = f"{most_ms // UNITS_MS['d']} days before end"
            raise ValidationError({"start": f"must be at most {most} where resolution_s is {resolution_s}"})
        kind = request.query_params.get("as", "csv")
        found, name = _matching(request), f"{request.query_params['signal']}-{start_ms}-{end_ms}"
        asked = query.Window(start_ms, end_ms, 0, resolution_s)
        if kind == "parquet":
            content = exporting.parquet(found, asked)
            return _file(HttpResponse(content, content_type="application/vnd.apache.parquet"), f"{name}.parquet")
        if kind != "csv":
            raise ValidationError({"as": f"must be csv or parquet, got {kind!r}"})
        text = _csv(exporting.lines(found, asked))
        parts = _apart(text) if isinstance(request._request, ASGIRequest) else text
        return _file(StreamingHttpResponse(parts, content_type="text/csv; charset=utf-8"), f"{name}.csv")


def window(given: Mapping[str, str], now_ms: int) -> tuple[int, int]:
    """From when to when. Raises ValidationError."""
    end_ms = moment(given, "end", now_ms, now_ms)
    start_ms = moment(given, "start", now_ms, end_ms - HOUR_MS)
    if start_ms >= end_ms:
        raise ValidationError({"start": f"must be before end, got {start_ms} and {end_ms}"})
    return start_ms, end_ms


def moment(given: Mapping[str, str], field: str, now_ms: int, otherwise: int) -> int:
    """A field that is a time. Raises ValidationError."""
    text = given.get(field, "")
    if not text:
        return otherwise
    is_short = text.isascii() and len(text) <= LONGEST_MOMENT
    if is_short and text.isdigit():
        return int(text)
    if not (is_short and (ago := AGO.fullmatch(text))):
        raise ValidationError({field: f"must be epoch milliseconds, or ago as -15m, -6h or -2d, got {text[:40]!r}"})
    ts_ms = now_ms - int(ago[1]) * UNITS_MS[ago[2]]
    if ts_ms < 0:
        raise ValidationError({field: f"must not be before 1970, got {text!r}"})
    return ts_ms


def whole(given: Mapping[str, str], field: str, otherwise: int, least: int, most: int) -> int:
    """A field that is a whole number between two. Raises ValidationError."""
    text = given.get(field, "")
    if not text:
        return otherwise
    if not (text.isascii() and text.isdigit()) or not least <= int(text[:18]) <= most:
        raise ValidationError({field: f"must be a whole number from {least} to {most}, got {text[:40]!r}"})
    return int(text)


def _signal(request: Request) -> str:
    signal = request.query_params.get("signal", "")
    if signal not in SIGNALS:
        raise ValidationError({"signal": f"must be one of {', '.join(SIGNALS)}, got {signal[:60]!r}"})
    return signal


def _matching(request: Request) -> list[Series]:
    """Raises ValidationError, also for a label that the signal cannot have: nothing would be found, and no reason."""
    given, signal = request.query_params, _signal(request)
    labels = {name: str(value) for name, value in given.items() if name not in RESERVED}
    allowed = (*PLACE, *SIGNALS[signal].labels)
    for name, value in labels.items():
        if name not in allowed:
            raise ValidationError({name: f"is no parameter and no label of {signal}; its labels: {', '.join(allowed)}"})
        if name in VALUES and value not in VALUES[name]:
            raise ValidationError({name: f"must be one of {', '.join(VALUES[name])}, got {value[:60]!r}"})
    return query.matching(signal, labels, given.getlist("source"))


def _described(series: Series) -> dict[str, Any]:
    signal = SIGNALS.get(series.signal)
    rate = "/s" if signal and signal.kind == "counter" else ""
    return {
        "id": series.pk,
        "signal": series.signal,
        "source": series.source.name,
        "labels": series.labels,
        "kind": series.kind,
        "unit": f"{signal.unit}{rate}" if signal else "",
        "help": signal.help if signal else "",
    }


def _values(line: query.Line) -> dict[str, Any]:
    return {
        "ts_ms": line.ts_ms,
        "mean": line.mean,
        "min": line.low,
        "max": line.high,
        "clamped": line.clamped,
        "quantiles": line.quantiles,
        "bounds": line.series.bounds,
        "counts": line.counts,
    }


def _resolution(request: Request) -> int:
    """Raises ValidationError."""
    given = request.query_params.get("resolution_s", "0")
    allowed = [str(each) for each in (0, *RESOLUTIONS_S)]
    if given not in allowed:
        raise ValidationError({"resolution_s": f"must be one of {', '.join(allowed)}, got {given[:40]!r}"})
    return int(given)


def _csv(lines: Iterator[tuple[Any, ...]]) -> Iterator[str]:
    """Some thousand lines at a time."""
    while some := list(islice(lines, LINES_AT_ONCE)):
        text = io.StringIO()
        csv.writer(text).writerows(some)
        yield text.getvalue()


async def _apart(text: Iterator[str]) -> AsyncIterator[str]:
    """The same in an event loop, which goes on meanwhile; no more is in memory than is being sent."""
    while part := await sync_to_async(_next)(text):
        yield part


def _next(text: Iterator[str]) -> str:
    return next(text, "")


def _file[Answer: HttpResponse | StreamingHttpResponse](response: Answer, name: str) -> Answer:
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
