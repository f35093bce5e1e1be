"""What is alerted on, and what is told to nobody for a while."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from frontend.live_alerts.forms import RuleForm, SilenceForm, rule_initial
from frontend.live_alerts.rows import known, silence_row
from frontend.pages.live_alerts import now_ms
from monitoring.alerts import kinds, silences
from monitoring.models import Alert, AlertRule, Silence

MOST = 200
OPEN = ~Q(alerts__state=Alert.State.RESOLVED) & Q(alerts__isnull=False)


@require_safe
def live_alert_rules(request: HttpRequest) -> HttpResponse:
    """All rules."""
    found = AlertRule.objects.annotate(open=Count("alerts", filter=OPEN))
    return render(request, "live/alerts/rules.html", {"rules": found})


@login_required
@require_http_methods(["GET", "POST"])
def new_live_alert_rule(request: HttpRequest) -> HttpResponse:
    """The form for a new one; its kind is in the address."""
    kind = request.GET.get("kind", "")
    kind = kind if kind in kinds.KINDS else AlertRule.Kind.THRESHOLD.value
    return _form(request, AlertRule(kind=kind), {})


@login_required
@require_http_methods(["GET", "POST"])
def change_live_alert_rule(request: HttpRequest, name: str) -> HttpResponse:
    """The form for one that is there."""
    rule = get_object_or_404(AlertRule, name=name)
    return _form(request, rule, rule_initial(rule), name)


def _form(request: HttpRequest, rule: AlertRule, initial: dict[str, Any], name: str = "") -> HttpResponse:
    form = RuleForm(rule.kind, request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid() and form.keep(rule, request.user.get_username()):
        messages.success(request, f"Rule {rule.name} is stored, and looked at from the next second on.")
        return redirect("live-alert-rules")
    context = {"form": form, "rule": rule, "name": name, "kinds": AlertRule.Kind.choices, "known": known()}
    return render(request, "live/alerts/rule_form.html", context)


@login_required
@require_POST
def switch_live_alert_rule(request: HttpRequest, name: str) -> HttpResponse:
    """Looks at it, or no longer."""
    rule = get_object_or_404(AlertRule, name=name)
    rule.enabled = not rule.enabled
    rule.save(update_fields=["enabled", "changed_at"])
    said = "looked at again" if rule.enabled else "looked at no more; its open alerts end"
    messages.success(request, f"Rule {name} is {said}.")
    return redirect("live-alert-rules")


@login_required
@require_http_methods(["GET", "POST"])
def remove_live_alert_rule(request: HttpRequest, name: str) -> HttpResponse:
    """Asks first."""
    rule = get_object_or_404(AlertRule.objects.annotate(open=Count("alerts", filter=OPEN)), name=name)
    if request.method == "POST":
        rule.delete()
        messages.success(request, f"Rule {name} is removed; the alerts that it made stay as history.")
        return redirect("live-alert-rules")
    return render(request, "live/alerts/rule_remove.html", {"rule": rule})


# --- silences ----------------------------------------------------------------------------------------------------


@require_safe
def live_silences(request: HttpRequest) -> HttpResponse:
    """Those that hold or will, and those that are over."""
    now = now_ms()
    opened = list(Alert.objects.exclude(state=Alert.State.RESOLVED))
    rows = [silence_row(each, opened, now) for each in Silence.objects.all()[:MOST]]
    context = {
        "current": [row for row in rows if row.state != "over"],
        "over": [row for row in rows if row.state == "over"],
    }
    return render(request, "live/alerts/silences.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def new_live_silence(request: HttpRequest) -> HttpResponse:
    """The form; an alert in the address fills it with its labels."""
    number = request.GET.get("alert", "")
    is_number = number.isascii() and number.isdigit() and len(number) < 19
    alert = Alert.objects.filter(pk=number).first() if is_number else None
    form = SilenceForm(request.POST or None, initial={"matchers": alert.labels} if alert else {})
    if request.method == "POST" and form.is_valid() and form.keep(request.user.get_username(), now_ms()):
        messages.success(request, "The silence holds. Alerts are seen all the same, and told once it is over.")
        return redirect("live-silences")
    return render(request, "live/alerts/silence_form.html", {"form": form, "alert": alert})


@login_required
@require_POST
def end_live_silence(request: HttpRequest, silence_id: int) -> HttpResponse:
    """It holds no longer."""
    silences.end(get_object_or_404(Silence, pk=silence_id), now_ms())
    messages.success(request, "The silence is over: what still fires is told.")
    return redirect("live-silences")
