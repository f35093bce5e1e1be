"""Addresses that agents push to: OTLP/HTTP metrics and Prometheus remote write 1.0. Answered after the commit."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from monitoring import mappings, running
from monitoring.assembling import apart
from monitoring.credentials import of_headers
from monitoring.directory import Known
from monitoring.intake import Intake, Taken, in_window
from monitoring.pipeline import Full, Refused, Unstorable
from monitoring.readings import Malformed, Reading, Rejected, Unsupported
from monitoring.sources import otlp, remote_write
from monitoring.sources.packed import media_type

ANSWERED_WITHIN_S = 20.0
"""Then a sender is told to try again; what it sends twice is stored once."""
RETRY_AFTER_S = 2
PACKED = 10
"""How many times larger a compressed body may well be once it is unpacked."""
TEXT = "text/plain; charset=utf-8"

type Decode = Callable[[bytes, str, str], tuple[list[Reading], list[Rejected]]]


class Failed(Exception):
    """The answer is this status, with the reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


@csrf_exempt
async def otlp_metrics(request: HttpRequest) -> HttpResponse:
    """`POST /v1/metrics`: 200 in the request's format, with a partial success where data points were rejected."""
    content_type = request.headers.get("Content-Type", "")
    try:
        rejected = await _stored(request, otlp.decode)
    except Failed as problem:
        return _failure(problem, otlp.failure(problem.reason, content_type), _echoed(content_type))
    return HttpResponse(otlp.response(rejected, content_type), content_type=_echoed(content_type))


def _echoed(content_type: str) -> str:
    return otlp.PROTOBUF if media_type(content_type) == otlp.PROTOBUF else otlp.JSON


@csrf_exempt
async def prometheus_write(request: HttpRequest) -> HttpResponse:
    """`POST /api/v1/write`: 204; or 400, which is not tried again, where a series was rejected, the others stored."""
    try:
        rejected = await _stored(request, remote_write.decode_flat, in_parts=True)
    except Failed as problem:
        return _failure(problem, problem.reason.encode(), TEXT)
    if rejected:
        return HttpResponse(_told(rejected), status=400, content_type=TEXT)
    return HttpResponse(status=204)


def _failure(problem: Failed, body: bytes, content_type: str) -> HttpResponse:
    response = HttpResponse(body, status=problem.status, content_type=content_type)
    if problem.status == 503:
        response["Retry-After"] = str(RETRY_AFTER_S)
    if problem.status == 405:
        response["Allow"] = "POST"
    if problem.status == 401:
        response["WWW-Authenticate"] = 'Bearer realm="telemetry"'
    return response


def _told(rejected: Sequence[Rejected]) -> str:
    reasons = Counter(each.reason for each in rejected).most_common(5)
    shown = "; ".join(f"{reason} ({count})" for reason, count in reasons)
    return f"{len(rejected)} rejected, all others are stored: {shown}"[:2000]


async def _stored(request: HttpRequest, decode: Decode, in_parts: bool = False) -> list[Rejected]:
    """What of the message is rejected, once all else is committed; `in_parts`: of flat series, of which a histogram may
    have more in other messages. Raises Failed."""
    if request.method != "POST":
        raise Failed(405, f"telemetry is sent here by POST, got {request.method}")
    try:
        intake = running.intake()
        known = await _known(request, intake)
        body = request.body
        content = request.headers.get("Content-Type", ""), request.headers.get("Content-Encoding", "")
        size = len(body) * (PACKED if content[1] else 1)
        take = _taken_in_parts if in_parts else _taken
        rejected, taken = await intake.read(size, lambda: take(intake, known, *decode(body, *content)))
        await asyncio.wait_for(intake.pipeline.enqueue(taken.offer), ANSWERED_WITHIN_S)
    except RequestDataTooBig:
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        raise Failed(
            413, f"the body has more than {most:,} bytes, the most there may be: send smaller batches"
        ) from None
    except (Malformed, Unstorable) as problem:
        raise Failed(400, str(problem)) from None
    except Unsupported as problem:
        raise Failed(415, str(problem)) from None
    except (Full, Refused, TimeoutError, DatabaseError, running.NotRunning) as problem:
        raise Failed(503, str(problem) or "telemetry cannot be stored just now: try again") from None
    return [*rejected, *taken.rejected]


def _taken(
    intake: Intake, known: Known, readings: list[Reading], rejected: list[Rejected]
) -> tuple[list[Rejected], Taken]:
    intake.note(known, (each.reason for each in rejected))
    return rejected, intake.take(known, readings, rejected=len(rejected))


def _taken_in_parts(
    intake: Intake, known: Known, readings: list[Reading], rejected: list[Rejected]
) -> tuple[list[Rejected], Taken]:
    found, lost = in_window(readings, round(time.time() * 1000))
    metrics = mappings.compiled_for(known.systems).candidates
    others, parts = apart(found, metrics.__contains__)
    rejected, taken = _taken(intake, known, others, [*rejected, *lost])
    taken.offer.parts = parts
    return rejected, taken


async def _known(request: HttpRequest, intake: Intake) -> Known:
    """Raises Failed."""
    if "token" in request.GET:
        raise Failed(
            401, "a token in the address gets into logs: send it in the header, as Authorization: Bearer TOKEN"
        )
    secret = of_headers(request.headers.get("Authorization", ""))
    if secret is None:
        raise Failed(401, "send Authorization: Bearer TOKEN, or Basic with the token as password")
    known = await intake.directory.find(secret)
    if known is None:
        raise Failed(403, "the token is not known, was revoked, or its source is disabled")
    return known


def websocket_only(request: HttpRequest) -> HttpResponse:
    """Who comes by plain HTTP, or through a proxy that does not pass on what is asked for, is told so."""
    said = "this address speaks websocket: connect with ws:// or wss://; a proxy in front must pass on Upgrade"
    return HttpResponse(said, status=426, content_type=TEXT, headers={"Upgrade": "websocket", "Connection": "Upgrade"})
