"""Annotations as a list, what narrows it, and the form of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django import forms
from django.db.models import QuerySet

from frontend.live_alerts.fields import Described, PairsField, choices
from frontend.live_alerts.rows import at
from monitoring.alerts import notes
from monitoring.alerts.rules import Wrong
from monitoring.models import Note, Watch
from monitoring.replaying import asking

WHEN = "UTC as 2026-11-29 10:00, or ago as -15m, -2h or -3d"
SECOND_MS = 1000


def watches(nothing: str) -> list[tuple[str, str]]:
    """To choose from, or all of them."""
    return choices(((name, name) for name in Watch.objects.values_list("name", flat=True)), nothing)


@dataclass(frozen=True, slots=True)
class NoteRow:
    """An annotation as the list shows it."""

    note: Note
    begin: datetime | None
    end: datetime | None

    @property
    def is_changeable(self) -> bool:
        """Our own alerts tell of themselves."""
        return self.note.kind != Note.Kind.ALERT

    @property
    def alert(self) -> int | None:
        """The number of the alert of ours that it is of."""
        return notes.alert_of(self.note)


def note_row(note: Note) -> NoteRow:
    """With its times."""
    return NoteRow(note, at(note.ts_ms), at(note.end_ms))


class Moment(forms.CharField):
    """A time as it is typed; as epoch milliseconds in the end, or None."""

    def __init__(self, now_ms: int, **more: Any) -> None:
        self.now_ms = now_ms
        super().__init__(required=False, max_length=60, **more)

    def clean(self, value: Any) -> int | None:
        """Raises ValidationError."""
        typed = super().clean(value)
        try:
            return asking.moment("", typed, self.now_ms, 0) if typed else None
        except asking.Refused:
            raise forms.ValidationError(f"must be {WHEN}, got {typed!r}") from None


class Narrowing(Described):
    """Which annotations are listed: those that reach into a time, of a watch and of a kind, with a text."""

    def __init__(self, now_ms: int, *args: Any) -> None:
        self.now_ms = now_ms
        super().__init__(*args)

    def set_up(self) -> None:
        self.fields["text"] = forms.CharField(label="Text", required=False, max_length=100)
        self.fields["kind"] = forms.ChoiceField(choices=choices(Note.Kind.choices, "any"), required=False)
        self.fields["watch"] = forms.ChoiceField(choices=watches("any"), required=False)
        self.fields["start"] = Moment(self.now_ms, label="From", help_text=WHEN)
        self.fields["end"] = Moment(self.now_ms, label="To")
        self.fields["open"] = forms.BooleanField(label="Only what goes on", required=False)

    def found(self) -> QuerySet[Note]:
        """The newest first; none where a field cannot be read."""
        every = Note.objects.all()
        if not self.is_valid():
            return every.none()
        asked = self.cleaned_data
        end_ms = asked["end"] if asked["end"] is not None else notes.END_OF_TIME_MS
        every = notes.reaching(asked["start"] or 0, end_ms, asked["watch"], asked["kind"])
        if asked["text"]:
            every = every.filter(text__icontains=asked["text"])
        return every.filter(is_open=True) if asked["open"] else every


class NoteForm(Described):
    """What may be said of an annotation."""

    def __init__(self, note: Note, now_ms: int, *args: Any, **more: Any) -> None:
        self.note, self.now_ms = note, now_ms
        super().__init__(*args, initial=_initial(note) if note.pk else None, **more)

    def set_up(self) -> None:
        self.fields["text"] = forms.CharField(label="What happened", max_length=notes.LONGEST)
        self.fields["kind"] = forms.ChoiceField(choices=self._kinds(), initial=Note.Kind.NOTE)
        self.fields["ts_ms"] = Moment(self.now_ms, label="From", help_text=f"{WHEN}; empty: now.")
        self.fields["end_ms"] = Moment(self.now_ms, label="To", help_text=f"Empty: {self._without_end()}.")
        self.fields["watch"] = forms.ChoiceField(choices=watches("all"), required=False, help_text="Which deployment.")
        self.fields["tags"] = PairsField(help_text="One on each line, as version=1.4.")

    def _kinds(self) -> list[tuple[str, str]]:
        """Those that may be said, and the one that it has of another system."""
        return [(kind, label) for kind, label in Note.Kind.choices if kind in notes.BY_HAND or kind == self.note.kind]

    def _without_end(self) -> str:
        return "it goes on" if self.note.is_open else "it is of a moment"

    def keep(self, by: str) -> bool:
        """Whether it is stored."""
        given = {**self.cleaned_data, "ts_ms": self._of("ts_ms", self.now_ms), "end_ms": self._of("end_ms", None)}
        self.note.by = self.note.by or by
        try:
            notes.store(self.note, given, self.now_ms)
        except Wrong as problem:
            self.refuse(problem.errors)
            return False
        return True

    def _of(self, name: str, otherwise: int | None) -> int | None:
        """As it was where nobody has changed it: the form shows seconds, and what is stored is finer."""
        typed, stored = self.cleaned_data[name], getattr(self.note, name)
        if typed is None:
            return otherwise
        return stored if stored is not None and typed == stored // SECOND_MS * SECOND_MS else int(typed)


def _initial(note: Note) -> Mapping[str, Any]:
    said = {field: getattr(note, field) for field in notes.FIELDS}
    return {**said, "ts_ms": _written(note.ts_ms), "end_ms": _written(note.end_ms)}


def _written(ms: int | None) -> str:
    return "" if ms is None else datetime.fromtimestamp(ms // SECOND_MS, UTC).strftime("%Y-%m-%d %H:%M:%S")
