"""Hooks: what may be said of one, and which is known by a token."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F, Q

from monitoring import tokens
from monitoring.alerts.rules import NAME, Wrong
from monitoring.models import Hook, HookToken, Watch

FIELDS = ("name", "kind", "watch", "enabled")
RESERVED = ("new", "alertmanager", "grafana")
"""Addresses of their own."""
NOTED_EVERY = timedelta(seconds=60)


def described(hook: Hook) -> dict[str, Any]:
    """What is said of it now."""
    return {field: getattr(hook, field) for field in FIELDS}


def store(hook: Hook, given: Mapping[str, Any]) -> None:
    """Changes a hook, or makes a new one. Raises Wrong; then nothing is changed."""
    if unknown := [field for field in given if field not in FIELDS]:
        raise Wrong({str(unknown[0])[:100]: f"is not a field here; allowed: {', '.join(FIELDS)}"})
    said = {**described(hook), **given}
    if wrong := mistakes(said):
        raise Wrong(wrong)
    for field in FIELDS:
        setattr(hook, field, said[field])
    try:
        with transaction.atomic():
            hook.save()
    except IntegrityError:
        raise Wrong({"name": f"{hook.name} is the name of another hook"}) from None


def mistakes(said: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with a description, by field."""
    found: dict[str, str] = {}
    name, watch = said["name"], said["watch"]
    if not isinstance(name, str) or not NAME.fullmatch(name) or len(name) > 100:
        found["name"] = "must be up to 100 letters, digits, - and _, the first a letter or digit"
    elif name in RESERVED:
        found["name"] = f"{name} is not a name of a hook: it is an address of its own"
    if said["kind"] not in Hook.Kind.values:
        found["kind"] = f"must be one of {', '.join(Hook.Kind.values)}, got {said['kind']!r:.60}"
    if not isinstance(watch, str) or (watch and not Watch.objects.filter(name=watch[:101]).exists()):
        found["watch"] = f"must be the name of a watch, or empty for all, got {watch!r:.100}"
    if not isinstance(said["enabled"], bool):
        found["enabled"] = "must be true or false"
    return found


# --- known by a token -------------------------------------------------------------------------------------------------


def find(secret: str) -> Hook | None:
    """The hook of a token; None if it is not known, or its hook is disabled. Raises DatabaseError."""
    key = tokens.digest(secret)
    token = HookToken.objects.filter(digest=key, hook__enabled=True).select_related("hook").first()
    if token is None:
        return None
    now = datetime.now(UTC)
    due = Q(last_used_at=None) | Q(last_used_at__lt=now - NOTED_EVERY)
    HookToken.objects.filter(due, pk=token.pk).update(last_used_at=now)
    return token.hook


def noted(hook: Hook, now_ms: int, accepted: int, problem: str = "") -> None:
    """How its last message went."""
    changes: dict[str, Any] = {"last_seen_ms": now_ms, "accepted": F("accepted") + accepted}
    if problem:
        changes |= {"last_error": problem[:500], "last_error_ms": now_ms}
    Hook.objects.filter(pk=hook.pk).update(**changes)
