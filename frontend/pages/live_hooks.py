"""Who may tell us of events by webhook, and their tokens."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from frontend.live_alerts.forms import HookForm
from frontend.live_alerts.rows import at
from frontend.pages import live_tokens
from monitoring.models import Hook


@login_required
def live_hooks(request: HttpRequest) -> HttpResponse:
    """All of them."""
    rows = [(each, at(each.last_seen_ms)) for each in Hook.objects.all()]
    return render(request, "live/alerts/hooks.html", {"rows": rows})


@login_required
@require_http_methods(["GET", "POST"])
def new_live_hook(request: HttpRequest) -> HttpResponse:
    """The form for a new one."""
    form, hook = HookForm(request.POST or None), Hook()
    if request.method == "POST" and form.is_valid() and form.keep(hook):
        messages.success(request, f"{hook.name} is stored. Now give it a token.")
        return redirect("live-hook-page", hook.name)
    return render(request, "live/alerts/hook_form.html", {"form": form})


@login_required
def live_hook(request: HttpRequest, name: str) -> HttpResponse:
    """One of them: how to set up the sender, its tokens."""
    return _page(request, get_object_or_404(Hook, name=name))


def _page(request: HttpRequest, hook: Hook, secret: str = "") -> HttpResponse:
    context = {
        "hook": hook,
        "seen": at(hook.last_seen_ms),
        "failed": at(hook.last_error_ms),
        "address": f"{request.scheme}://{request.get_host()}",
        **live_tokens.shown(secret),
    }
    return render(request, "live/alerts/hook.html", context)


@login_required
@require_POST
def switch_live_hook(request: HttpRequest, name: str) -> HttpResponse:
    """Takes events from it, or no longer."""
    hook = get_object_or_404(Hook, name=name)
    hook.enabled = not hook.enabled
    hook.save(update_fields=["enabled"])
    return redirect("live-hook-page", name)


@login_required
@never_cache
@require_POST
def new_live_hook_token(request: HttpRequest, name: str) -> HttpResponse:
    """The page with a new token, which no other page will ever show."""
    return live_tokens.made(request, get_object_or_404(Hook, name=name), _page)


@login_required
@require_http_methods(["GET", "POST"])
def revoke_live_hook_token(request: HttpRequest, name: str, token_id: int) -> HttpResponse:
    """Asks first."""
    return live_tokens.revoked(request, get_object_or_404(Hook, name=name), token_id)


@login_required
@require_http_methods(["GET", "POST"])
def remove_live_hook(request: HttpRequest, name: str) -> HttpResponse:
    """Asks first."""
    hook = get_object_or_404(Hook, name=name)
    if request.method == "POST":
        hook.delete()
        messages.success(request, f"{name} is removed; its annotations stay.")
        return redirect("live-hooks")
    return render(request, "live/alerts/hook_remove.html", {"hook": hook})
