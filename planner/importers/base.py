"""What every importer gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

type Choices = Mapping[str, str]
"""What the user said instead of an assumption, by the assumption's field."""


@dataclass(frozen=True, slots=True)
class Assumption:
    """What the file does not say and the importer therefore took: `choices` are what it could be instead."""

    field: str
    value: str
    text: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mapped:
    """A field of theirs, what it became, and how."""

    theirs: str
    ours: str
    how: str = ""


@dataclass(frozen=True, slots=True)
class Imported:
    """An entry as it would be stored, before it is; nothing is stored by importing."""

    kind: str
    document: dict[str, Any]
    mapping: tuple[Mapped, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    notes: tuple[str, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    """What `inspect` prints beside: statistics, sizes."""
