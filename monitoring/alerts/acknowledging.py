"""Somebody has seen an alert, and says so: it goes on, and all others know."""

from __future__ import annotations

from monitoring.alerts.rules import Wrong
from monitoring.models import Alert

LONGEST = 500


def acknowledge(alert: Alert, by: str, comment: object, now_ms: int) -> None:
    """Raises Wrong."""
    if not isinstance(comment, str) or len(comment) > LONGEST or "\0" in comment:
        raise Wrong({"comment": f"must be text of up to {LONGEST} characters"})
    alert.acknowledged_by, alert.acknowledged_ms, alert.comment = by[:150], now_ms, comment
    _write(alert)


def take_back(alert: Alert) -> None:
    """Raises Wrong."""
    alert.acknowledged_by, alert.acknowledged_ms, alert.comment = "", None, ""
    _write(alert)


def _write(alert: Alert) -> None:
    fields = {field: getattr(alert, field) for field in ("acknowledged_by", "acknowledged_ms", "comment")}
    if not Alert.objects.filter(pk=alert.pk).exclude(state=Alert.State.RESOLVED).update(**fields):
        raise Wrong({"detail": f"alert {alert.pk} is resolved: there is nothing to acknowledge"})
