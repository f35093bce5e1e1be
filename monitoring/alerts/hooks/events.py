"""What a webhook tells, whoever sends it: events that begin and end."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

MOST_BYTES = 2**20
MOST = 1000
"""Events of one message."""
MOST_TAGS, LONGEST_TAG, LONGEST_TEXT = 20, 200, 1000
LONGEST_FINGERPRINT = 64
LATEST_MS = 2**53


class Malformed(ValueError):
    """It is no message of this kind; the text says where."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that began and perhaps ended; `fingerprint` is the same each time that it is told of."""

    fingerprint: str
    starts_ms: int
    ends_ms: int | None
    text: str
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Message:
    """All events of a message, and how many its sender has left out."""

    events: tuple[Event, ...]
    truncated: int = 0


def decoded[Kind](body: bytes, kind: type[Kind]) -> Kind:
    """The message. Keys that nobody asks for are passed over. Raises Malformed."""
    if len(body) > MOST_BYTES:
        raise Malformed(f"the body must not exceed {MOST_BYTES} bytes: set max_alerts at the sender")
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as problem:
        raise Malformed(str(problem)[:300]) from None


class Told(msgspec.Struct):
    """An alert as Alertmanager and Grafana both tell it."""

    status: str
    labels: dict[str, str]
    starts_at: datetime = msgspec.field(name="startsAt")
    ends_at: datetime | None = msgspec.field(name="endsAt", default=None)
    annotations: dict[str, str] = {}
    fingerprint: str = ""


def event(told: Told, at: str) -> Event:
    """Raises Malformed; `at` is where in the message it is."""
    if told.status not in ("firing", "resolved"):
        raise Malformed(f"{at}.status: must be firing or resolved, got {told.status[:60]!r}")
    starts_ms = milliseconds(told.starts_at, f"{at}.startsAt")
    ends_ms = None
    if told.status == "resolved":
        if told.ends_at is None:
            raise Malformed(f"{at}.endsAt: must be there, since it is resolved")
        ends_ms = max(milliseconds(told.ends_at, f"{at}.endsAt"), starts_ms)
    return Event(fingerprint(told), starts_ms, ends_ms, text(told.labels, told.annotations), tags(told.labels))


def events(told: list[Told]) -> tuple[Event, ...]:
    """Raises Malformed."""
    if len(told) > MOST:
        raise Malformed(f"alerts: must be at most {MOST}, got {len(told)}: set max_alerts at the sender")
    return tuple(event(each, f"alerts[{at}]") for at, each in enumerate(told))


def milliseconds(when: datetime, at: str) -> int:
    """Of the epoch. Raises Malformed."""
    if when.tzinfo is None:
        raise Malformed(f"{at}: must have its zone, as 2026-11-30T12:00:00Z")
    found = round(when.timestamp() * 1000)
    if not 0 <= found < LATEST_MS:
        raise Malformed(f"{at}: must be after 1970, got {when.isoformat()}")
    return found


def fingerprint(told: Told) -> str:
    """As the sender has it; where it says none, by the labels."""
    if told.fingerprint and len(told.fingerprint) <= LONGEST_FINGERPRINT and told.fingerprint.isprintable():
        return told.fingerprint
    whole = told.fingerprint or json.dumps(sorted(told.labels.items()))
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def text(labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    """What is written beside the event."""
    name = labels.get("alertname", "")
    said = next((annotations[each] for each in ("summary", "message", "description") if annotations.get(each)), "")
    return clean(": ".join(part for part in (name, said) if part) or "an alert without a name", LONGEST_TEXT)


def tags(labels: Mapping[str, str]) -> dict[str, str]:
    """The first of its labels."""
    return {clean(name, 64): clean(value, LONGEST_TAG) for name, value in list(labels.items())[:MOST_TAGS]}


def clean(said: str, longest: int) -> str:
    """Without what a database cannot keep."""
    return said.replace("\0", "")[:longest]
