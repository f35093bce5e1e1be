"""Grafana's webhooks: unified alerting's, which is Alertmanager's with more, and the legacy one before Grafana 11."""

from __future__ import annotations

import msgspec

from monitoring.alerts.hooks.events import Event, Malformed, Message, Told, clean, decoded, events

LEGACY_FIRING, LEGACY_OVER = ("alerting", "no_data"), ("ok",)
LEGACY_NOTHING = ("paused", "pending")


class _Message(msgspec.Struct):
    alerts: list[Told] | None = None
    truncated: int = msgspec.field(name="truncatedAlerts", default=0)
    rule_id: int | None = msgspec.field(name="ruleId", default=None)
    org_id: int = msgspec.field(name="orgId", default=0)
    rule_name: str = msgspec.field(name="ruleName", default="")
    state: str = ""
    message: str = ""
    title: str = ""
    tags: dict[str, str] = {}


def read(body: bytes, now_ms: int) -> Message:
    """The events of a message; a legacy one has no times, and is of now. Raises Malformed."""
    found = decoded(body, _Message)
    if found.alerts is not None:
        return Message(events(found.alerts), max(found.truncated, 0))
    if found.rule_id is None:
        raise Malformed("alerts: must be there, or ruleId of legacy alerting")
    return Message(tuple(_legacy(found, now_ms)))


def _legacy(found: _Message, now_ms: int) -> list[Event]:
    if found.state in LEGACY_NOTHING:
        return []
    if found.state not in (*LEGACY_FIRING, *LEGACY_OVER):
        known = ", ".join((*LEGACY_FIRING, *LEGACY_OVER, *LEGACY_NOTHING))
        raise Malformed(f"state: must be one of {known}, got {found.state[:60]!r}")
    said = ": ".join(part for part in (found.rule_name or found.title, found.message) if part)
    ends_ms = now_ms if found.state in LEGACY_OVER else None
    tags = {clean(name, 64): clean(value, 200) for name, value in list(found.tags.items())[:20]}
    name = f"legacy-{found.org_id}-{found.rule_id}"
    return [Event(name, now_ms, ends_ms, clean(said or "an alert without a name", 1000), tags)]
