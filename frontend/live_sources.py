"""Sources as forms and rows: a label a field, ages and clocks in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms

from monitoring import mappings, registry
from monitoring.models import Source
from monitoring.signals import VALUES

HELP = {
    "datacenter": "Where it stands.",
    "role": "Of engines that do not say it themselves: prfaas is remote prefill, prefill local.",
    "link": "Of what is counted at the gateway of one link.",
    "route": "Of requests that all take one way.",
}


class SourceForm(forms.Form):
    """What may be said of a source."""

    name = forms.CharField(max_length=registry.LONGEST, help_text="Letters, digits, - and _: its address.")

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        for name in registry.LABELS:
            self.fields[name] = _label_field(name)
        choices = [(each.name, f"{each.name}: {each.title}") for each in mappings.known().values()]
        self.fields["systems"] = forms.MultipleChoiceField(
            choices=choices,
            required=False,
            widget=forms.CheckboxSelectMultiple,
            label="Read as",
            help_text="None: all mappings, of which those count that know what comes.",
        )
        for name, field in self.fields.items():
            if name != "systems":
                field.widget.attrs.update({"id": name, "aria-describedby": f"{name}-error {name}-help"})

    @property
    def labels(self) -> dict[str, str]:
        """The labels that are filled in."""
        return {name: self.cleaned_data[name] for name in registry.LABELS if self.cleaned_data.get(name)}

    def clean(self) -> dict[str, Any]:
        """Held to what the API holds it to."""
        cleaned = super().clean() or {}
        wrong = registry.mistakes(cleaned.get("name", "x"), self.labels, cleaned.get("systems", []))
        for field, said in wrong.items():
            self.add_error(field if field in self.fields else None, said)
        return cleaned

    def store(self, source: Source) -> bool:
        """Whether it is stored; not where another source has its name."""
        source.name = self.cleaned_data["name"]
        source.labels, source.systems = self.labels, self.cleaned_data["systems"]
        if Source.objects.filter(name=source.name).exclude(pk=source.pk).exists():
            self.add_error("name", f"{source.name} is the name of another source.")
            return False
        source.save(update_fields=("name", "labels", "systems") if source.pk else None)
        return True


def _label_field(name: str) -> forms.Field:
    help_text = HELP.get(name, "")
    if name not in VALUES:
        return forms.CharField(max_length=registry.LONGEST, required=False, help_text=help_text)
    choices = [("", "not said"), *((value, value) for value in VALUES[name])]
    return forms.ChoiceField(choices=choices, required=False, help_text=help_text)


@dataclass(frozen=True, slots=True)
class Row:
    """A source as the list shows it."""

    source: Source
    state: str
    says: str
    age: str
    skew: str
    reasons: list[tuple[str, int]]


def row(source: Source, now_ms: int) -> Row:
    """The source, with its state at `now_ms`."""
    state, age_ms = registry.state(source, now_ms), registry.age_ms(source, now_ms)
    age = "–" if age_ms is None else duration(age_ms)
    return Row(source, state, registry.STATES[state], age, _skew_s(source.skew_ms), registry.reasons(source))


def _skew_s(skew_ms: int | None) -> str:
    """In seconds, with its sign unless it is none."""
    if skew_ms is None:
        return "–"
    return f"{skew_ms / 1000:+.1f}" if abs(skew_ms) >= 50 else "0.0"


def duration(ms: int) -> str:
    """In the largest unit of which there are two: 90 s, 5 min, 3 h, 12 d."""
    for size_ms, unit in ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min")):
        if ms >= 2 * size_ms:
            return f"{ms // size_ms} {unit}"
    return f"{ms // 1000} s"
