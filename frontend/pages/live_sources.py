"""The sources of telemetry: who sends, how each does, its tokens."""

from __future__ import annotations

import time

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from frontend.live_sources import SourceForm, row
from frontend.pages import live_tokens
from monitoring import quarantine, registry
from monitoring.models import Source

MOST_SHOWN = 50
"""Of the frames that are set aside, the oldest."""


@require_safe
def live_sources(request: HttpRequest) -> HttpResponse:
    """All sources with their state; the page's script keeps it up to date."""
    now_ms = round(time.time() * 1000)
    rows = [row(source, now_ms) for source in Source.objects.all()]
    return render(request, "live/sources.html", {"rows": rows, "states": registry.STATES})


@login_required
@require_http_methods(["GET", "POST"])
def new_live_source(request: HttpRequest) -> HttpResponse:
    """The form for a new source."""
    form = SourceForm(request.POST or None)
    source = Source()
    if request.method == "POST" and form.is_valid() and form.store(source):
        messages.success(request, f"Source {source.name} is stored. Now give it a token.")
        return redirect("live-source-page", source.name)
    return render(request, "live/source_form.html", {"form": form, "source": None})


@login_required
@require_http_methods(["GET", "POST"])
def change_live_source(request: HttpRequest, name: str) -> HttpResponse:
    """The form for one that is there."""
    source = get_object_or_404(Source, name=name)
    given = {"name": source.name, "systems": source.systems, **source.labels}
    form = SourceForm(request.POST or None, initial=given)
    if request.method == "POST" and form.is_valid() and form.store(source):
        messages.success(request, f"Source {source.name} is changed; what it sent before keeps its labels.")
        return redirect("live-source-page", source.name)
    return render(request, "live/source_form.html", {"form": form, "source": source, "name": name})


@require_safe
def live_source(request: HttpRequest, name: str) -> HttpResponse:
    """One source: its state, what of it is rejected, its tokens."""
    return _page(request, get_object_or_404(Source, name=name))


def _page(request: HttpRequest, source: Source, secret: str = "") -> HttpResponse:
    shown = row(source, round(time.time() * 1000))
    context = {"source": source, "row": shown, **live_tokens.shown(secret)}
    context |= {"quarantined": source.quarantined.defer("payload")[:MOST_SHOWN], "aside": source.quarantined.count()}
    return render(request, "live/source.html", context)


@login_required
@require_POST
def switch_live_source(request: HttpRequest, name: str) -> HttpResponse:
    """Takes telemetry from it, or no longer."""
    source = get_object_or_404(Source, name=name)
    source.enabled = not source.enabled
    source.save(update_fields=["enabled"])
    return redirect("live-source-page", name)


@login_required
@require_POST
def manage_quarantine(request: HttpRequest, name: str) -> HttpResponse:
    """Sorts in again what is set aside, or deletes it: one frame, by its number in the button pressed, or all."""
    chosen = get_object_or_404(Source, name=name).quarantined.all()
    what, _, number = request.POST.get("do", "").partition(" ")
    if number.isdecimal():
        chosen = chosen.filter(pk=int(number))
    if what == "retry":
        messages.success(request, f"{quarantine.retry(chosen)} set aside before are being sorted in again.")
    elif what == "delete" and number:
        messages.success(request, f"{chosen.delete()[0]} deleted.")
    return redirect("live-source-page", name)


@login_required
@never_cache
@require_POST
def new_live_token(request: HttpRequest, name: str) -> HttpResponse:
    """The page with a new token, which no other page will ever show."""
    return live_tokens.made(request, get_object_or_404(Source, name=name), _page)


@login_required
@require_http_methods(["GET", "POST"])
def revoke_live_token(request: HttpRequest, name: str, token_id: int) -> HttpResponse:
    """Asks first."""
    return live_tokens.revoked(request, get_object_or_404(Source, name=name), token_id)
