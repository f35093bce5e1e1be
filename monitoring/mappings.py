"""The mappings that hold: those that the product comes with, and what people have put beside them or in their place.

Messages are read by what this process read last; the directory of tokens has it read anew every few seconds.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import lru_cache

from django.db.models import F

from monitoring import mapping
from monitoring.mapping import MappingError
from monitoring.mapping.compiling import Compiled, compiled
from monitoring.mapping.schema import SystemMapping
from monitoring.models import OwnMapping

logger = logging.getLogger(__name__)

type Stamp = tuple[tuple[str, int], ...]
"""Names and revisions of what people have stored: another one, other mappings."""


@dataclass(slots=True)
class _Held:
    """What this process has read last."""

    stamp: Stamp = ()
    own: dict[str, SystemMapping] = field(default_factory=dict)


_held = _Held()


def known() -> dict[str, SystemMapping]:
    """All mappings by name, as they are stored now."""
    return {**mapping.shipped(), **_own(list(OwnMapping.objects.all()))}


def refresh() -> None:
    """Reads what is stored, if it has changed. Raises DatabaseError."""
    stamp = tuple(OwnMapping.objects.order_by("name").values_list("name", "revision"))
    if stamp != _held.stamp:
        _held.own = _own(list(OwnMapping.objects.all()))
        _held.stamp = stamp


def _own(rows: list[OwnMapping]) -> dict[str, SystemMapping]:
    """What today's rules refuse is left out: the shipped one counts in its place."""
    found = {}
    for row in rows:
        try:
            found[row.name] = mapping.parse(row.text)
        except MappingError as refused:
            logger.warning("Mapping %s is not valid any more: %s", row.name, refused)
    return found


def compiled_for(systems: tuple[str, ...]) -> Compiled:
    """The mappings of these names, in their order; all that there are where none is named."""
    return _compiled(_held.stamp, systems)


@lru_cache(maxsize=64)
def _compiled(stamp: Stamp, systems: tuple[str, ...]) -> Compiled:
    every = {**mapping.shipped(), **_held.own}
    return compiled([every[name] for name in systems if name in every] or every.values())


def checked(name: str, text: str) -> SystemMapping:
    """The mapping that a text is, under its name. Raises MappingError."""
    found = mapping.parse(text)
    if found.name != name:
        raise MappingError([f"name: must be {name}, as its address says, got {found.name!r}"])
    return found


def store(name: str, text: str, by: str) -> OwnMapping:
    """Puts a mapping beside the others, or in the place of one. Raises MappingError."""
    checked(name, text)
    if not OwnMapping.objects.filter(name=name).update(text=text, revision=F("revision") + 1, changed_by=by):
        OwnMapping.objects.create(name=name, text=text, changed_by=by)
    return OwnMapping.objects.get(name=name)


def remove(name: str) -> bool:
    """Takes away what was stored under a name, so that a shipped one counts again; whether there was any."""
    return OwnMapping.objects.filter(name=name).delete()[0] > 0


def text_of(name: str) -> str | None:
    """A mapping as YAML, as it was typed or shipped; None where there is none."""
    own = OwnMapping.objects.filter(name=name).first()
    if own:
        return own.text
    path = mapping.FOLDER / f"{name}.yaml"
    return path.read_text(encoding="utf-8") if name in mapping.shipped() and path.is_file() else None
