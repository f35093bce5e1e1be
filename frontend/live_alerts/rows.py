"""Alerts, silences, receivers and deliveries as lists show them."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from monitoring.alerts import silences
from monitoring.live import ticks
from monitoring.live.messages import Snapshot
from monitoring.models import Alert, Delivery, Receiver, Silence, Source

CLASSES = {"firing": "state-failed", "pending": "state-stale", "resolved": ""}


def at(ms: int | None) -> datetime | None:
    """A time that templates can write."""
    return None if ms is None else datetime.fromtimestamp(ms / 1000, UTC)


@dataclass(frozen=True, slots=True)
class AlertRow:
    """An alert as lists show it."""

    alert: Alert
    css: str
    since: datetime | None
    ended: datetime | None
    silenced_until: datetime | None
    acknowledged: datetime | None


def alert_rows(alerts: Iterable[Alert], silenced: Sequence[Silence]) -> list[AlertRow]:
    """Of alerts."""
    return [alert_row(each, silenced) for each in alerts]


def alert_row(alert: Alert, silenced: Sequence[Silence]) -> AlertRow:
    """With until when it is told to nobody."""
    until_ms = None if alert.state == Alert.State.RESOLVED else silences.until(silenced, alert.labels)
    since_ms = alert.fired_ms or alert.since_ms
    return AlertRow(
        alert, CLASSES[alert.state], at(since_ms), at(alert.resolved_ms), at(until_ms), at(alert.acknowledged_ms)
    )


def version(rows: Sequence[AlertRow]) -> str:
    """Another one as soon as something is to be seen that was not."""
    parts = [(r.alert.pk, r.alert.state, r.alert.seen_ms, r.alert.acknowledged_ms, r.silenced_until) for r in rows]
    return f"{zlib.crc32(repr(parts).encode()):x}"


@dataclass(frozen=True, slots=True)
class SilenceRow:
    """A silence as lists show it."""

    silence: Silence
    state: str
    starts: datetime | None
    until: datetime | None
    holds: int
    """How many alerts that are open it holds back."""


def silence_row(silence: Silence, alerts: Sequence[Alert], now_ms: int) -> SilenceRow:
    """With its state at `now_ms`."""
    state = "over" if silence.until_ms <= now_ms else "active" if silence.starts_ms <= now_ms else "to come"
    holds = sum(silences.until([silence], each.labels) is not None for each in alerts) if state == "active" else 0
    return SilenceRow(silence, state, at(silence.starts_ms), at(silence.until_ms), holds)


@dataclass(frozen=True, slots=True)
class ReceiverRow:
    """A receiver as lists show it."""

    receiver: Receiver
    state: str
    css: str
    sent: datetime | None
    failed: datetime | None
    waiting: int
    given_up: int


def receiver_row(receiver: Receiver) -> ReceiverRow:
    """With how it goes."""
    waiting = receiver.deliveries.filter(done_ms=None, given_up=False).count()
    given_up = receiver.deliveries.filter(given_up=True).count()
    state, css = _state(receiver)
    return ReceiverRow(receiver, state, css, at(receiver.last_sent_ms), at(receiver.last_error_ms), waiting, given_up)


def _state(receiver: Receiver) -> tuple[str, str]:
    if not receiver.enabled:
        return "disabled", ""
    if receiver.last_error:
        return "failing", "state-failed"
    return ("reached", "state-live") if receiver.last_sent_ms else ("never", "")


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    """A message as lists show it."""

    delivery: Delivery
    state: str
    css: str
    created: datetime | None
    done: datetime | None


def delivery_row(delivery: Delivery) -> DeliveryRow:
    """With what became of it."""
    state, css = "waits", "state-stale"
    if delivery.done_ms:
        state, css = "sent", "state-live"
    elif delivery.given_up:
        state, css = "given up", "state-failed"
    return DeliveryRow(delivery, state, css, at(delivery.created_ms), at(delivery.done_ms))


_snapshots = msgspec.json.Decoder(Snapshot)


def known() -> Mapping[str, Sequence[str]]:
    """Figures that charts show now, and sources: what a pattern may mean."""
    newest = ticks.newest()
    watches = _snapshots.decode(newest[1]).watches if newest else []
    figures = sorted({name for watch in watches for name in watch.points})
    return {"figures": figures, "sources": list(Source.objects.values_list("name", flat=True))}
