"""What fires, what did, and one alert with all that is known of it."""

from __future__ import annotations

import time

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from frontend.live_alerts.rows import alert_row, alert_rows, delivery_row, version
from monitoring.alerts import acknowledging, silences
from monitoring.alerts.rules import Wrong
from monitoring.models import Alert, AlertRule, Receiver

MOST, LATEST = 200, 25


def now_ms() -> int:
    """Our clock."""
    return round(time.time() * 1000)


@require_safe
def live_alerts(request: HttpRequest) -> HttpResponse:
    """All that are open; the page's script asks for the page again and again."""
    silenced = silences.active(now_ms())
    found = Alert.objects.exclude(state=Alert.State.RESOLVED).order_by("state", "-since_ms", "-pk")
    latest = Alert.objects.filter(state=Alert.State.RESOLVED).order_by("-resolved_ms", "-pk")[:LATEST]
    rows, ended = alert_rows(found[:MOST], silenced), alert_rows(latest, [])
    context = {
        "rows": rows,
        "more": max(0, found.count() - MOST),
        "firing": sum(row.alert.state == Alert.State.FIRING for row in rows),
        "ended": ended,
        "version": version([*rows, *ended]),
        "rules": AlertRule.objects.filter(enabled=True).count(),
        "receivers": Receiver.objects.filter(enabled=True).count(),
        "failing": Receiver.objects.filter(enabled=True).exclude(last_error=""),
    }
    return render(request, "live/alerts/list.html", context)


@require_safe
def live_alert(request: HttpRequest, alert_id: int) -> HttpResponse:
    """Where the links in messages lead."""
    alert = get_object_or_404(Alert.objects.select_related("rule"), pk=alert_id)
    deliveries = alert.deliveries.select_related("receiver").order_by("-pk")[:MOST]
    context = {
        "alert": alert,
        "row": alert_row(alert, silences.active(now_ms())),
        "deliveries": [delivery_row(each) for each in deliveries],
        "is_open": alert.state != Alert.State.RESOLVED,
    }
    return render(request, "live/alerts/alert.html", context)


@login_required
@require_POST
def acknowledge_live_alert(request: HttpRequest, alert_id: int) -> HttpResponse:
    """Somebody has seen it; or has not, after all."""
    alert = get_object_or_404(Alert, pk=alert_id)
    try:
        if request.POST.get("back"):
            acknowledging.take_back(alert)
            messages.success(request, f"{alert.rule_name} counts as not seen again.")
        else:
            by = request.user.get_username()
            acknowledging.acknowledge(alert, by, request.POST.get("comment", ""), now_ms())
            messages.success(request, f"{alert.rule_name} is acknowledged: all see that you look after it.")
    except Wrong as problem:
        messages.error(request, f"{problem}.")
    if request.POST.get("from") == "list":
        return redirect("live-alerts")
    return redirect("live-alert-page", alert_id)
