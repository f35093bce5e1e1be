"""What the product ships with: models, hardware, traffic and scenarios as YAML, each figure with its source."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

from planner.catalog import files

HERE = Path(__file__).parent


class NotInCatalogue(LookupError):
    """No such entry; `known` has the names there are."""

    def __init__(self, kind: str, name: str, known: tuple[str, ...]) -> None:
        super().__init__(f"no {kind} of that name; known: {', '.join(known)}")
        self.known = known


@cache
def names(kind: str) -> tuple[str, ...]:
    """The names of one kind: `scenarios`, `models`, `hardware` or `traffic`."""
    return tuple(sorted(path.stem for path in (HERE / kind).glob("*.yaml")))


def entry(kind: str, name: str) -> dict[str, Any]:
    """One entry as a document of its own. Raises NotInCatalogue."""
    if name not in names(kind):
        raise NotInCatalogue(kind, name, names(kind))
    return deepcopy(_read(kind, name))


def published() -> dict[str, Any]:
    """What the paper prints of the case study (table 6) and of other models (table 3), to hold ours against."""
    return deepcopy(_read("", "published"))


@cache
def _read(kind: str, name: str) -> dict[str, Any]:
    return files.read(HERE / kind / f"{name}.yaml")
