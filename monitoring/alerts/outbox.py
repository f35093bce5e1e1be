"""What is to be sent, as rows: written with what it tells of, and taken from there by whoever leads.

A webhook gets each event once: a row is unique by receiver, alert and event, and who sends it has claimed it. An
Alertmanager gets, as often as it says, all that fires: that is its protocol, and makes up for whatever was lost.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from django.db.models import F

from monitoring.alerts import globs, payloads, silences
from monitoring.models import Alert, Delivery, Receiver, Silence

AT_ONCE = 5
"""Messages that one receiver gets in a row."""
GIVEN_UP_MS = 86_400_000
RESOLVED_FOR_MS = 300_000
"""So long an Alertmanager is told of what has ended."""
LONGEST_WAIT_MS = 300_000
KEPT_MS = 30 * 86_400_000
ENDED_KEPT_MS = 400 * 86_400_000
CLAIM_MARGIN_MS = 5000


@dataclass(frozen=True, slots=True)
class Message:
    """To be sent to a receiver; of an Alertmanager without a delivery."""

    body: bytes
    name: str
    delivery_id: int = 0
    """None has this one."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What one receiver is to get now, in order; `due_ms` as it was when this was found."""

    receiver: Receiver
    messages: Sequence[Message]


# --- filling -----------------------------------------------------------------------------------------------------


def fill(opened: Iterable[Alert], silenced: Sequence[Silence], now_ms: int) -> None:
    """A message for each webhook of each alert that fires, is not silenced and was not told yet."""
    firing = [row for row in opened if row.state == Alert.State.FIRING]
    told = [row for row in firing if silences.until(silenced, row.labels) is None]
    if not told:
        return
    webhooks = list(Receiver.objects.filter(enabled=True, kind=Receiver.Kind.WEBHOOK))
    if not webhooks:
        return
    there = set(Delivery.objects.filter(alert__in=told, event="firing").values_list("receiver_id", "alert_id"))
    told_now = (
        (receiver, row, "firing")
        for receiver in webhooks
        for row in told
        if (receiver.pk, row.pk) not in there and globs.all_match(receiver.matchers, row.labels)
    )
    _write(told_now, now_ms)


def resolved(row: Alert, now_ms: int) -> None:
    """A message for each webhook that was told, or is to be, that it fires."""
    ended = Alert.objects.get(pk=row.pk)
    told = Receiver.objects.filter(deliveries__alert=ended, deliveries__event="firing")
    _write(((receiver, ended, "resolved") for receiver in told), now_ms)
    _at_once(now_ms)


def fired(now_ms: int) -> None:
    """Alertmanagers are told at once."""
    _at_once(now_ms)


def _at_once(now_ms: int) -> None:
    """But for those that do not answer, which are asked again when it is their time."""
    Receiver.objects.filter(kind=Receiver.Kind.ALERTMANAGER, failures=0, due_ms__gt=now_ms).update(due_ms=now_ms)


def _write(told: Iterable[tuple[Receiver, Alert, str]], now_ms: int) -> None:
    rows = [
        Delivery(receiver=receiver, alert=row, event=event, payload=payloads.webhook(row, event), created_ms=now_ms)
        for receiver, row, event in told
    ]
    Delivery.objects.bulk_create(rows, ignore_conflicts=True)


# --- taking out --------------------------------------------------------------------------------------------------


def due(now_ms: int, busy: Collection[int] = ()) -> list[Batch]:
    """What is to be sent now, but to receivers that are busy; deliveries of it are claimed. Raises DatabaseError."""
    found = []
    for receiver in Receiver.objects.filter(enabled=True, due_ms__lte=now_ms).exclude(pk__in=busy):
        messages = _current(receiver, now_ms) if receiver.kind == "alertmanager" else _waiting(receiver, now_ms)
        if messages:
            found.append(Batch(receiver, messages))
    return found


def _current(receiver: Receiver, now_ms: int) -> list[Message]:
    """All that fires, and what has ended lately."""
    silenced = silences.active(now_ms)
    rows = [
        *Alert.objects.filter(state=Alert.State.FIRING),
        *Alert.objects.filter(state=Alert.State.RESOLVED, resolved_ms__gt=now_ms - RESOLVED_FOR_MS),
    ]
    told = [
        row
        for row in rows
        if globs.all_match(receiver.matchers, row.labels) and silences.until(silenced, row.labels) is None
    ]
    # Nothing to tell: looked at again when something fires, or after its interval.
    if not told:
        Receiver.objects.filter(pk=receiver.pk, due_ms=receiver.due_ms).update(due_ms=_next(receiver, now_ms))
        return []
    return [Message(payloads.alertmanager(_newest(told), now_ms, receiver.repeat_s), "alerts")]


def _newest(rows: Sequence[Alert]) -> list[Alert]:
    """Of alerts with the same labels, which are one to an Alertmanager, the one that began last."""
    found: dict[frozenset[tuple[str, str]], Alert] = {}
    for row in sorted(rows, key=lambda each: (each.fired_ms or 0, each.pk)):
        found[frozenset(row.labels.items())] = row
    return list(found.values())


def _waiting(receiver: Receiver, now_ms: int) -> list[Message]:
    """The oldest that are not delivered, claimed. One that somebody else is sending holds up those after it."""
    old = receiver.deliveries.filter(done_ms=None, given_up=False, created_ms__lt=now_ms - GIVEN_UP_MS)
    old.update(given_up=True)
    until_ms = now_ms + round(receiver.timeout_s * 1000) * AT_ONCE + CLAIM_MARGIN_MS
    found: list[Message] = []
    for row in receiver.deliveries.filter(done_ms=None, given_up=False).order_by("pk")[:AT_ONCE]:
        free = Delivery.objects.filter(pk=row.pk, done_ms=None, claimed_ms__lte=now_ms)
        if free.update(claimed_ms=until_ms) != 1:
            break
        found.append(Message(payloads.body_of(row.payload), row.payload["id"], row.pk))
    return found


def _next(receiver: Receiver, now_ms: int) -> int:
    return now_ms + round(receiver.repeat_s * 1000) if receiver.kind == "alertmanager" else 0


# --- how it went -------------------------------------------------------------------------------------------------


def sent(receiver: Receiver, message: Message, now_ms: int) -> None:
    """It was taken."""
    Delivery.objects.filter(pk=message.delivery_id).update(done_ms=now_ms, attempts=F("attempts") + 1, error="")
    Receiver.objects.filter(pk=receiver.pk).update(failures=0, last_sent_ms=now_ms, last_error="")
    # Unless something has happened since that it is to be told of at once.
    Receiver.objects.filter(pk=receiver.pk, due_ms=receiver.due_ms).update(due_ms=_next(receiver, now_ms))


def refused(receiver: Receiver, message: Message, problem: str, now_ms: int) -> None:
    """It will never be taken: the next ones may."""
    Delivery.objects.filter(pk=message.delivery_id).update(
        given_up=True, attempts=F("attempts") + 1, error=problem[:500]
    )
    told = Receiver.objects.filter(pk=receiver.pk)
    told.update(last_error=problem[:500], last_error_ms=now_ms, due_ms=_next(receiver, now_ms))


def failed(receiver: Receiver, rest: Sequence[Message], problem: str, now_ms: int) -> None:
    """It is tried again later, twice as late each time; what was to follow waits as well."""
    waiting = [message.delivery_id for message in rest]
    Delivery.objects.filter(pk__in=waiting).update(claimed_ms=0)
    Delivery.objects.filter(pk=waiting[0]).update(attempts=F("attempts") + 1, error=problem[:500])
    Receiver.objects.filter(pk=receiver.pk).update(
        failures=F("failures") + 1,
        last_error=problem[:500],
        last_error_ms=now_ms,
        due_ms=now_ms + wait_ms(receiver.failures, random.random()),
    )


def wait_ms(failures: int, chance: float) -> int:
    """After so many failures in a row: 1 s, 2 s, 4 s and so on up to five minutes, less up to half of it by chance."""
    longest_ms: int = min(1000 * 2 ** min(failures, 20), LONGEST_WAIT_MS)
    return round(longest_ms * (1 - chance / 2))


def tidy(now_ms: int) -> None:
    """Deletes deliveries of long ago, and what ended before the oldest rollups."""
    Delivery.objects.filter(created_ms__lt=now_ms - KEPT_MS).delete()
    Alert.objects.filter(state=Alert.State.RESOLVED, resolved_ms__lt=now_ms - ENDED_KEPT_MS).delete()
