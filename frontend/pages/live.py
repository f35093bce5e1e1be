"""The SRE's screen: what is, what should be, and why. Its values come to the page's scripts by websocket and REST."""

from __future__ import annotations

import time
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import get_script_prefix, reverse
from django.views.decorators.http import require_safe

from planner import store
from planner.management.demonstration import Demonstration


@require_safe
def live(request: HttpRequest) -> HttpResponse:
    """The frame of the screen; which view it shows is in the address, which the scripts read."""
    return render(request, "live/screen.html", {"screen": _told(request), "has_demo": Demonstration.has_begun})


def _told(request: HttpRequest) -> dict[str, Any]:
    """Where the scripts ask, and what they cannot ask for."""
    sources = reverse("live-sources-list")
    return {
        "socket": f"{get_script_prefix()}ws/live/",
        "api": sources.removesuffix("sources/"),
        "login": reverse("login"),
        "signed_in": request.user.is_authenticated,
        "now_ms": round(time.time() * 1000),
        "scenarios": list(store.entries(store.SCENARIOS).order_by("name").values_list("name", flat=True)),
    }
