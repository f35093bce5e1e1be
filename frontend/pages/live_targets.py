"""What we ask ourselves: targets with a page of metrics, and servers that answer PromQL."""

from __future__ import annotations

import time

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from frontend.live_targets import FORMS, MODELS, Kind, initial, row
from monitoring import targets
from monitoring.models import Fetched, Pull, Target

MOST_ROWS = 500


@require_safe
def live_targets(request: HttpRequest) -> HttpResponse:
    """All of both kinds with their state; the page's script keeps it up to date."""
    now_ms = round(time.time() * 1000)
    context = {
        "targets": [row(each, now_ms) for each in Target.objects.select_related("source")],
        "pulls": [row(each, now_ms) for each in Pull.objects.select_related("source")],
    }
    return render(request, "live/targets.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def new_live_target(request: HttpRequest, kind: Kind) -> HttpResponse:
    """The form for a new one."""
    form, fetched = FORMS[kind](request.POST or None), MODELS[kind]()
    if request.method == "POST" and form.is_valid() and form.keep(fetched):
        messages.success(request, f"{fetched.source.name} is stored, and asked within seconds.")
        return redirect("live-targets")
    return render(request, "live/targets_form.html", {"form": form, "kind": kind, "name": ""})


@login_required
@require_http_methods(["GET", "POST"])
def change_live_target(request: HttpRequest, kind: Kind, name: str) -> HttpResponse:
    """The form for one that is there."""
    fetched = _named(kind, name)
    form = FORMS[kind](request.POST or None, initial=initial(fetched))
    if request.method == "POST" and form.is_valid() and form.keep(fetched):
        messages.success(request, f"{fetched.source.name} is changed; what it sent before keeps its labels.")
        return redirect("live-targets")
    return render(request, "live/targets_form.html", {"form": form, "kind": kind, "name": name})


@login_required
@require_POST
def test_live_target(request: HttpRequest, kind: Kind, name: str) -> HttpResponse:
    """What it answers now, and what would become of that."""
    fetched = _named(kind, name)
    report, error = targets.attempt(fetched)
    rows = report.rows if report else []
    context = {
        "fetched": fetched,
        "kind": kind,
        "error": error,
        "report": report,
        "rows": rows[:MOST_ROWS],
        "more": max(0, len(rows) - MOST_ROWS),
    }
    return render(request, "live/targets_test.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def remove_live_target(request: HttpRequest, kind: Kind, name: str) -> HttpResponse:
    """Asks first."""
    fetched = _named(kind, name)
    if request.method == "POST":
        targets.remove(fetched)
        messages.success(request, f"{name} is removed, with all that was read from it.")
        return redirect("live-targets")
    return render(request, "live/targets_remove.html", {"fetched": fetched, "kind": kind})


def _named(kind: Kind, name: str) -> Fetched:
    return get_object_or_404(MODELS[kind]._default_manager.select_related("source"), source__name=name)
