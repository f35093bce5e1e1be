"""What requests have in common: a body that is an object, refusals by field, who asks, what time it is."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from monitoring.alerts.rules import Wrong

REFUSED = OpenApiResponse(OpenApiTypes.OBJECT, description="errors: field, value and message of each mistake")


def body(request: Request, fields: Sequence[str]) -> dict[str, Any]:
    """The body. Raises ValidationError where it is no object."""
    if not isinstance(request.data, dict):
        raise ValidationError({"detail": f"the body must be a JSON object of {', '.join(fields)}"})
    return dict(request.data)


@contextmanager
def refusing() -> Iterator[None]:
    """What is wrong by our rules is answered as 400."""
    try:
        yield
    except Wrong as problem:
        raise ValidationError(problem.errors) from problem


def by(request: Request) -> str:
    """Who asks."""
    return str(request.user.get_username())


def now_ms() -> int:
    """Our clock."""
    return round(time.time() * 1000)
