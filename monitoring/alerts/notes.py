"""Annotations: what may be said of one, and the spans that alerts of ours leave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Q, QuerySet

from monitoring.alerts.rules import LABEL, Wrong
from monitoring.live.messages import NoteNow
from monitoring.live.watched import EVERYTHING
from monitoring.models import Alert, Note, Watch

FIELDS = ("ts_ms", "end_ms", "kind", "text", "tags", "watch")
BY_HAND = (Note.Kind.NOTE, Note.Kind.DEPLOY, Note.Kind.THRESHOLD, Note.Kind.MAINTENANCE, Note.Kind.INCIDENT)
"""What may be said; the other kinds are of what other systems or our own alerts tell."""
LONGEST, MOST_TAGS, LONGEST_TAG = 1000, 20, 200
END_OF_TIME_MS = 2**53
"""No annotation begins later."""
LATEST = 20
"""So many a snapshot has."""


def store(note: Note, given: Mapping[str, Any], now_ms: int) -> Note:
    """Changes an annotation, or makes a new one. Raises Wrong; then nothing is changed."""
    if unknown := [field for field in given if field not in FIELDS]:
        raise Wrong({str(unknown[0])[:100]: f"is not a field here; allowed: {', '.join(FIELDS)}"})
    said = {field: getattr(note, field) for field in FIELDS} | ({} if note.pk else {"ts_ms": now_ms}) | dict(given)
    if said["watch"] == EVERYTHING and not Watch.objects.exists():
        said["watch"] = ""
    wrong = mistakes(said) | (of_kind(given["kind"]) if given.get("kind", note.kind) != note.kind else {})
    if wrong:
        raise Wrong(wrong)
    for field in FIELDS:
        setattr(note, field, said[field])
    note.is_open = note.is_open and note.end_ms is None
    note.save()
    return note


def mistakes(said: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with a description, by field."""
    found: dict[str, str] = {}
    for field, message in (*_of_times(said), *_of_text(said["text"]), *_of_tags(said["tags"]), *_of_watch(said)):
        found.setdefault(field, message)
    return found


def of_kind(kind: Any) -> dict[str, str]:
    """What is wrong with a kind that somebody says."""
    return {} if kind in BY_HAND else {"kind": f"must be one of {', '.join(BY_HAND)}, got {kind!r:.60}"}


def _of_times(said: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    start, end = said["ts_ms"], said["end_ms"]
    for field, value in (("ts_ms", start), ("end_ms", end)):
        is_whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53
        if not is_whole and not (field == "end_ms" and value is None):
            yield field, f"must be epoch milliseconds, got {value!r:.60}"
            return
    if end is not None and end < start:
        yield "end_ms", f"must not be before ts_ms, {start}, got {end}"


def _of_text(text: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST or "\0" in text:
        yield "text", f"must be text of 1 to {LONGEST} characters"


def _of_tags(tags: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(tags, Mapping) or len(tags) > MOST_TAGS:
        yield "tags", f"must be an object of at most {MOST_TAGS} names to values"
        return
    for name, value in tags.items():
        if not isinstance(name, str) or not LABEL.fullmatch(name):
            yield "tags", f"{str(name)[:64]!r} must be letters, digits and _, the first no digit"
        elif not isinstance(value, str) or len(value) > LONGEST_TAG or "\0" in value:
            yield "tags", f"{name} must be text of up to {LONGEST_TAG} characters"


def _of_watch(said: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    watch = said["watch"]
    if not isinstance(watch, str) or (watch and not Watch.objects.filter(name=watch[:101]).exists()):
        yield "watch", f"must be the name of a watch, or empty for all, got {watch!r:.100}"


def reaching(start_ms: int, end_ms: int, watch: str = "", kind: str = "") -> QuerySet[Note]:
    """Those that reach into a window, the newest first; of a watch, and of all; of a kind."""
    ends = Q(end_ms__gte=start_ms) | Q(is_open=True) | Q(end_ms=None, ts_ms__gte=start_ms)
    found = Note.objects.filter(ends, ts_ms__lt=end_ms)
    if watch:
        found = found.filter(watch__in=("", watch))
    return found.filter(kind=kind) if kind else found


def latest() -> list[NoteNow]:
    """The latest few, the newest first."""
    rows = Note.objects.order_by("-ts_ms", "-pk")[:LATEST]
    return [NoteNow(each.pk, each.ts_ms, each.end_ms, each.kind, each.text, each.watch, each.is_open) for each in rows]


def alert_of(note: Note) -> int | None:
    """The number of the alert of ours whose span it is."""
    system, _, number = (note.fingerprint or "").partition(":")
    return int(number) if note.kind == Note.Kind.ALERT and system == "alert" and number.isdecimal() else None


def fired(alert: Alert) -> None:
    """A span begins with an alert of ours."""
    Note.objects.get_or_create(
        fingerprint=f"alert:{alert.pk}",
        defaults={
            "ts_ms": alert.fired_ms or alert.since_ms,
            "is_open": True,
            "kind": Note.Kind.ALERT,
            "text": f"{alert.rule_name}: {alert.text}"[:LONGEST],
            "tags": {name: value[:LONGEST_TAG] for name, value in list(alert.labels.items())[:MOST_TAGS]},
            "watch": alert.watch,
        },
    )


def resolved(alert_id: int, now_ms: int) -> None:
    """The span of an alert of ours ends."""
    Note.objects.filter(fingerprint=f"alert:{alert_id}").update(end_ms=now_ms, is_open=False)
