"""What receivers get: Alertmanager's API v2, and our own JSON with a signature."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from django.conf import settings

from monitoring.models import Alert

VERSION = 1
JSON = "application/json"
SIGNATURE, TIMESTAMP, ID = "X-Prfaas-Signature", "X-Prfaas-Timestamp", "X-Prfaas-Delivery"
ENDS_AFTER = 4
"""Of an Alertmanager: what is not told again for so many intervals has ended."""


def permalink(alert_id: int | None) -> str:
    """Where an alert is to be seen; empty where nobody said under which address we are."""
    return f"{settings.PUBLIC_URL}/live/alerts/{alert_id}/" if settings.PUBLIC_URL and alert_id else ""


def rfc3339(ms: int) -> str:
    """As Alertmanager writes times."""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


# --- Alertmanager ------------------------------------------------------------------------------------------------


def alertmanager(alerts: Iterable[Alert], now_ms: int, repeat_s: float) -> bytes:
    """The body of `POST /api/v2/alerts`: what fires, and what has ended lately."""
    return json.dumps([_posted(each, now_ms, repeat_s) for each in alerts], ensure_ascii=False).encode()


def _posted(alert: Alert, now_ms: int, repeat_s: float) -> dict[str, Any]:
    ends_ms = alert.resolved_ms or now_ms + round(ENDS_AFTER * repeat_s * 1000)
    annotations = {"summary": alert.text, "description": alert.runbook, "runbook_url": alert.runbook_url}
    found = {
        "labels": alert.labels,
        "annotations": {name: value for name, value in annotations.items() if value},
        "startsAt": rfc3339(alert.fired_ms or alert.since_ms),
        "endsAt": rfc3339(ends_ms),
    }
    if url := permalink(alert.pk):
        found["generatorURL"] = url
    return found


# --- webhook -----------------------------------------------------------------------------------------------------


def webhook(alert: Alert, event: str) -> dict[str, Any]:
    """What a webhook is told of an alert: `event` is firing, resolved or test."""
    return {
        "version": VERSION,
        "id": f"{alert.pk or 0}-{event}",
        "event": event,
        "alert": {
            "id": alert.pk,
            "rule": alert.rule_name,
            "severity": alert.severity,
            "watch": alert.watch,
            "labels": alert.labels,
            "text": alert.text,
            "value": alert.value,
            "reason": alert.reason,
            "fired_ms": alert.fired_ms,
            "resolved_ms": alert.resolved_ms,
            "runbook": alert.runbook,
            "runbook_url": alert.runbook_url,
            "url": permalink(alert.pk),
        },
    }


def body_of(payload: Mapping[str, Any]) -> bytes:
    """As it is sent, and signed."""
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()


def signature(secret: str, at_s: int, body: bytes) -> str:
    """v1= and the HMAC-SHA256 of `TIMESTAMP.BODY` under the secret, in hexadecimal."""
    return "v1=" + hmac.new(secret.encode(), f"{at_s}.".encode() + body, hashlib.sha256).hexdigest()


def signed(body: bytes, delivery: str, secret: str | None, at_s: int) -> dict[str, str]:
    """The headers of a message. Without a secret it is not signed."""
    headers = {"Content-Type": JSON, ID: delivery, TIMESTAMP: str(at_s)}
    return headers if secret is None else headers | {SIGNATURE: signature(secret, at_s, body)}
