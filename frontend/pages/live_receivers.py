"""Whom alerts are sent to, and what became of it."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from frontend.live_alerts.forms import ReceiverForm
from frontend.live_alerts.rows import delivery_row, receiver_row
from frontend.pages.live_alerts import now_ms
from monitoring.alerts import receivers
from monitoring.models import Receiver

MOST = 50


@login_required
def live_receivers(request: HttpRequest) -> HttpResponse:
    """All of them. Their addresses may be secrets: only who is signed in sees them."""
    rows = [receiver_row(each) for each in Receiver.objects.all()]
    return render(request, "live/alerts/receivers.html", {"rows": rows})


@login_required
@require_http_methods(["GET", "POST"])
def new_live_receiver(request: HttpRequest) -> HttpResponse:
    """The form for a new one."""
    form, receiver = ReceiverForm(request.POST or None), Receiver()
    if request.method == "POST" and form.is_valid() and form.keep(receiver):
        messages.success(request, f"{receiver.name} is stored. Send it a test to see that it arrives.")
        return redirect("live-receiver-page", receiver.name)
    return render(request, "live/alerts/receiver_form.html", {"form": form, "name": ""})


@login_required
@require_http_methods(["GET", "POST"])
def change_live_receiver(request: HttpRequest, name: str) -> HttpResponse:
    """The form for one that is there."""
    receiver = get_object_or_404(Receiver, name=name)
    form = ReceiverForm(request.POST or None, initial=receivers.described(receiver))
    if request.method == "POST" and form.is_valid() and form.keep(receiver):
        messages.success(request, f"{receiver.name} is changed.")
        return redirect("live-receiver-page", receiver.name)
    return render(request, "live/alerts/receiver_form.html", {"form": form, "name": name})


@login_required
def live_receiver(request: HttpRequest, name: str) -> HttpResponse:
    """One of them, with its last messages."""
    receiver = get_object_or_404(Receiver, name=name)
    last = receiver.deliveries.select_related("alert").order_by("-pk")[:MOST]
    context = {"row": receiver_row(receiver), "receiver": receiver, "deliveries": [delivery_row(each) for each in last]}
    return render(request, "live/alerts/receiver.html", context)


@login_required
@require_POST
def test_live_receiver(request: HttpRequest, name: str) -> HttpResponse:
    """Sends a test now."""
    receiver = get_object_or_404(Receiver, name=name)
    if problem := receivers.attempt(receiver, now_ms()):
        messages.error(request, f"The test did not arrive at {name}: {problem}.")
    else:
        messages.success(request, f"{name} has taken the test.")
    return redirect("live-receiver-page", name)


@login_required
@require_http_methods(["GET", "POST"])
def remove_live_receiver(request: HttpRequest, name: str) -> HttpResponse:
    """Asks first."""
    receiver = get_object_or_404(Receiver, name=name)
    if request.method == "POST":
        receiver.delete()
        messages.success(request, f"{name} is removed: nothing is sent to it any more.")
        return redirect("live-receivers")
    return render(request, "live/alerts/receiver_remove.html", {"row": receiver_row(receiver)})
