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


class Shipped:
    """The catalogue that the product comes with: the same for everybody, whatever is stored."""

    def entry(self, kind: str, name: str) -> dict[str, Any]:
        """One entry as a document of its own. Raises NotInCatalogue."""
        if name not in names(kind):
            raise NotInCatalogue(kind, name, names(kind))
        return deepcopy(_entries(kind)[name])

    def profiles(self, model: str) -> list[dict[str, Any]]:
        """Every profile of a model."""
        return [deepcopy(entry) for entry in _entries("profiles").values() if entry["model"] == model]

    def prices(self, hardware: str) -> list[dict[str, Any]]:
        """Every offer of a chip."""
        return [deepcopy(entry) for entry in _entries("prices").values() if entry["hardware"] == hardware]


SHIPPED = Shipped()


def names(kind: str) -> tuple[str, ...]:
    """The names of one kind: `scenarios`, or any kind of entry."""
    return tuple(_entries(kind))


def entry(kind: str, name: str) -> dict[str, Any]:
    """One entry as a document of its own. Raises NotInCatalogue."""
    return SHIPPED.entry(kind, name)


def documents(kind: str) -> list[dict[str, Any]]:
    """Every entry of a kind."""
    return deepcopy(list(_entries(kind).values()))


def published() -> dict[str, Any]:
    """What the paper prints of the case study (table 6) and of other models (table 3), to hold ours against."""
    return deepcopy(_published())


@cache
def _published() -> dict[str, Any]:
    return files.read(HERE / "published.yaml")


@cache
def _entries(kind: str) -> dict[str, dict[str, Any]]:
    """By name. A file holds one entry, or several under `entries`."""
    found = [files.read(path) for path in (HERE / kind).glob("*.yaml")]
    every = [entry for document in found for entry in document.get("entries", [document])]
    return {entry["name"]: entry for entry in sorted(every, key=lambda entry: entry["name"])}
