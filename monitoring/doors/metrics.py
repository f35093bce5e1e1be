"""`GET /metrics`: what is measured and recommended, as Prometheus scrapes it."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from monitoring.recommending import exposing


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """The page, in the format that the asker prefers."""
    body, content_type = exposing.page(request.headers.get("Accept", ""))
    return HttpResponse(body, content_type=content_type)
