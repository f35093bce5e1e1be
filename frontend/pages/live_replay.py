"""Replays: which window of a watch, what was recorded in it, and the job that simulates it with other policies."""

from __future__ import annotations

import time
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods

from frontend.replays.form import ReplayForm
from frontend.replays.recorded import PRESETS, shown
from monitoring.models import Watch


@require_http_methods(["GET", "POST"])
def live_replay(request: HttpRequest) -> HttpResponse:
    """The form, and what was recorded in its window; what is valid becomes a job."""
    watches = list(Watch.objects.all())
    if not watches:
        return render(request, "live/replay_empty.html")
    typed = request.POST if request.method == "POST" else request.GET
    watch = next((each for each in watches if each.name == typed.get("watch")), watches[0])
    titles = {each.name: each.title or each.name for each in watches}
    form = ReplayForm(watch, titles, typed, is_whole=request.method == "POST")
    found: dict[str, Any] = {}
    if form.is_valid() and (window := form.window(round(time.time() * 1000))):
        asked, replay = window
        if request.method == "POST":
            if not request.user.is_authenticated:
                return redirect_to_login(_address(typed))
            if job := form.submit(by=request.user.pk):
                return redirect("job-page", job.pk)
        form.show_window(asked)
        form.offer(replay)
        found = shown(asked, replay)
    is_first = request.method == "GET" and not (typed.get("start") or typed.get("end"))
    context = {"form": form, "of": watch, "presets": PRESETS, "is_first": is_first and not found, **found}
    return render(request, "live/replay.html", context)


def _address(typed: QueryDict) -> str:
    """The form with what was typed in it."""
    kept = [(name, values) for name, values in typed.lists() if name != "csrfmiddlewaretoken"]
    return f"{reverse('live-replay')}?{urlencode(kept, doseq=True)}"
