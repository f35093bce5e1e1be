"""Where each figure of an entry comes from, and what an edit changes of that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from planner.documents import paths
from planner.documents.fields import PROVENANCE_KINDS
from planner.documents.provenance import nearest

type Document = Mapping[str, Any]

NO_SOURCE = "no source given"
NOT_FIGURES = ("provenance", "name")


@dataclass(frozen=True, slots=True)
class Origin:
    """Kind and source of a figure."""

    kind: str
    source: str


UNSTATED = Origin("user", NO_SOURCE)


def origin_of(document: Document, path: str) -> Origin:
    """The entry at a figure's path, or at the nearest part that holds it."""
    found = nearest(document, path)
    return Origin(found["kind"], found.get("source") or NO_SOURCE) if found else UNSTATED


def weakest(origins: Iterable[Origin]) -> Origin:
    """The one that a number computed from several rests on."""
    return max(origins, key=lambda origin: PROVENANCE_KINDS.index(origin.kind), default=UNSTATED)


def figures(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Path and value of everything that a provenance entry can stand for.

    A list is one figure unless its items have names, and so is a curve: the values mean nothing without their lengths.
    """
    if isinstance(value, Mapping) and not _is_curve(value):
        for key, inner in value.items():
            if path or key not in NOT_FIGURES:
                yield from figures(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and _is_named(value):
        for item in value:
            yield from figures(item, f"{path}.{item['name']}")
    elif _has_number(value):
        yield path, value


def _is_curve(value: Mapping[str, Any]) -> bool:
    return sum(isinstance(inner, list) for inner in value.values()) > 1


def _is_named(value: list[Any]) -> bool:
    return bool(value) and all(isinstance(item, Mapping) and isinstance(item.get("name"), str) for item in value)


def _has_number(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_has_number, value.values()))
    if isinstance(value, list):
        return any(map(_has_number, value))
    return value == "unlimited" or (isinstance(value, int | float) and not isinstance(value, bool))


def changed(old: Document, new: Document) -> list[str]:
    """Paths of the figures that `new` has otherwise than `old`; a part of which every figure changed counts as one."""
    before, after = dict(figures(old)), dict(figures(new))
    return _together({path for path, value in after.items() if before.get(path) != value}, set(after))


def every(document: Document) -> list[str]:
    """Paths of all figures, a part at a time."""
    found = {path for path, _ in figures(document)}
    return _together(found, found)


def _together(some: set[str], of: set[str]) -> list[str]:
    """Some of the paths, with the parts in the place of what they hold where nothing else is in them."""
    done: set[str] = set()
    for path in some:
        parts = path.split(".")
        parents = (".".join(parts[:size]) for size in range(1, len(parts)))
        whole = (parent for parent in parents if {each for each in of if each.startswith(parent + ".")} <= some)
        done.add(next(whole, path))
    return sorted(done)


def assigned(document: dict[str, Any], figures: Iterable[str], origin: Origin) -> dict[str, Any]:
    """The document with this origin for these figures; the others keep theirs, and what is gone loses its entry."""
    entries = {
        path: entry for path, entry in (document.get("provenance") or {}).items() if _leads_somewhere(document, path)
    }
    for figure in figures:
        entries = {path: entry for path, entry in entries.items() if not f"{path}.".startswith(f"{figure}.")}
        entries[figure] = {"kind": origin.kind, **({"source": origin.source} if origin.source else {})}
    rest = {key: value for key, value in document.items() if key != "provenance"}
    return {**rest, "provenance": entries} if entries or "provenance" in document else rest


def _leads_somewhere(document: Document, path: str) -> bool:
    try:
        paths.get(document, path)
    except paths.NoSuchPath:
        return False
    return True
