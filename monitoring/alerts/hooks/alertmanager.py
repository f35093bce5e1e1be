"""Alertmanager's webhook, version 4."""

from __future__ import annotations

import msgspec

from monitoring.alerts.hooks.events import Malformed, Message, Told, decoded, events

VERSION = "4"


class _Message(msgspec.Struct):
    version: str
    alerts: list[Told]
    truncated: int = msgspec.field(name="truncatedAlerts", default=0)


def read(body: bytes, now_ms: int) -> Message:
    """The events of a message. Raises Malformed."""
    found = decoded(body, _Message)
    if found.version != VERSION:
        raise Malformed(f"version: must be {VERSION}, got {found.version[:60]!r}")
    return Message(events(found.alerts), max(found.truncated, 0))
