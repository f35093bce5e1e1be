"""What differs between two documents, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from frontend import figures
from frontend.catalogue.units import unit_of, written

LONGEST = 160
"""Characters of a value that are shown in a difference."""


@dataclass(frozen=True, slots=True)
class Change:
    """One field before and after, as people read it."""

    path: str
    old: str
    new: str

    @property
    def kind(self) -> str:
        """added, removed or changed."""
        if self.old == figures.NONE:
            return "added"
        return "removed" if self.new == figures.NONE else "changed"


def differences(old: Any, new: Any) -> list[Change]:
    """Every field that differs, in the new document's order and then the old one's, sources last."""
    before, after = dict(_fields(old)), dict(_fields(new))
    different = [path for path in {**after, **before} if before.get(path) != after.get(path)]
    different.sort(key=lambda path: path.startswith("provenance"))
    return [Change(path, shown(path, before.get(path)), shown(path, after.get(path))) for path in different]


def _fields(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Path and value of every leaf; provenance is one leaf a figure, a list of plain values is one leaf."""
    if isinstance(value, Mapping) and value and not path.startswith("provenance."):
        for key, inner in value.items():
            yield from _fields(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        for index, item in enumerate(value):
            name = item.get("name", index) if isinstance(item, Mapping) else index
            yield from _fields(item, f"{path}.{name}")
    else:
        yield path, value


def shown(path: str, value: Any) -> str:
    """A field's value with its unit, cut where it is long."""
    if value is None or value in ("", {}, []):
        return figures.NONE
    text = _text(path, value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _text(path: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        unit = unit_of(path)
        return f"{written(value, unit)} {unit.text}".rstrip()
    if isinstance(value, list):
        unit = unit_of(path)
        numbers = (written(item, unit) if isinstance(item, int | float) else str(item) for item in value)
        return f"{', '.join(numbers)} {unit.text}".rstrip()
    if isinstance(value, Mapping):
        return ": ".join(str(part) for part in (value.get("kind"), value.get("source")) if part)
    return str(value)
