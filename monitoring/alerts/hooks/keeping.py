"""Events become annotations: one that goes on is open, and closed by whoever tells that it is over."""

from __future__ import annotations

from collections.abc import Collection

from django.db import transaction

from monitoring.alerts.hooks.events import Event, Message
from monitoring.models import Hook, Note, Watch

KINDS = {Hook.Kind.ALERTMANAGER: Note.Kind.ALERTMANAGER, Hook.Kind.GRAFANA: Note.Kind.GRAFANA}


def keep(hook: Hook, message: Message) -> None:
    """All events of a message, or none. Raises DatabaseError."""
    named = {event.tags.get("watch", "") for event in message.events}
    watches = set(Watch.objects.filter(name__in=named).values_list("name", flat=True))
    with transaction.atomic():
        for event in message.events:
            _keep(hook, event, watches)


def _keep(hook: Hook, event: Event, watches: Collection[str]) -> None:
    """The same event, told again, changes what is there. One that fires when it has ended already is an old message."""
    subject = f"{hook.pk}:{event.fingerprint}"
    told = {"text": event.text, "tags": dict(event.tags)}
    ended = {} if event.ends_ms is None else {"end_ms": event.ends_ms, "is_open": False}
    there = Note.objects.filter(subject=subject, is_open=True, ts_ms__lte=event.ends_ms or event.starts_ms)
    if there.update(**told, **ended):
        return
    exact = f"{subject}:{event.starts_ms}"
    _, is_new = Note.objects.get_or_create(
        fingerprint=exact,
        defaults={
            **told,
            "ts_ms": event.starts_ms,
            "end_ms": event.ends_ms,
            "is_open": event.ends_ms is None,
            "kind": KINDS[Hook.Kind(hook.kind)],
            "watch": event.tags["watch"] if event.tags.get("watch") in watches else hook.watch,
            "by": hook.name,
            "subject": subject,
        },
    )
    if not is_new and ended:
        Note.objects.filter(fingerprint=exact).update(**told, **ended)
