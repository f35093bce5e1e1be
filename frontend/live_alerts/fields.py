"""Form fields that the forms of alerts share: labels as lines of text, and what was refused beside its field."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms


class PairsField(forms.CharField):
    """Names and values, as lines of name=value."""

    def __init__(self, **more: Any) -> None:
        attrs = {"rows": 3, "class": "input mono", "spellcheck": "false", "placeholder": "name=value"}
        super().__init__(required=False, widget=forms.Textarea(attrs=attrs), max_length=10_000, **more)

    def prepare_value(self, value: Any) -> Any:
        """As it is typed."""
        return "\n".join(f"{name}={said}" for name, said in value.items()) if isinstance(value, Mapping) else value

    def clean(self, value: Any) -> dict[str, str]:
        """As it is stored. Raises ValidationError."""
        found: dict[str, str] = {}
        for line in filter(None, map(str.strip, super().clean(value).splitlines())):
            name, is_there, said = line.partition("=")
            if not is_there:
                raise forms.ValidationError(f"{line[:60]!r} must be name=value, one on each line")
            found[name.strip()] = said.strip()
        return found


class Described(forms.Form):
    """A form whose fields name what describes them."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.set_up()
        for name, field in self.fields.items():
            field.widget.attrs.update({"id": name, "aria-describedby": f"{name}-error {name}-help"})

    def set_up(self) -> None:
        """Adds fields that are not known before."""

    def refuse(self, errors: Mapping[str, str]) -> None:
        """What the API would refuse, beside its field; `spec.` is not part of a field's name here."""
        for path, said in errors.items():
            name = path.removeprefix("spec.")
            self.add_error(name if name in self.fields else None, said)


def choices(values: Iterable[tuple[Any, Any]], nothing: str = "") -> list[tuple[Any, Any]]:
    """Of a list; with a name for none of them, if it may be none."""
    return [*([("", nothing)] if nothing else []), *values]
