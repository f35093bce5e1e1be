"""From a document that somebody wrote to an entry that cannot be wrong."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from planner.documents import paths
from planner.documents.errors import DocumentError, FieldError, from_validation, refuse
from planner.documents.fields import fields_by_place
from planner.documents.plain import require_plain
from planner.entries.base import Entry
from planner.entries.hardware import Hardware
from planner.entries.link import Link
from planner.entries.measurement import Measurement
from planner.entries.model import Model
from planner.entries.price import Price
from planner.entries.profile import Profile
from planner.entries.traffic import Traffic

RESERVED = ("new",)
"""Names that the pages of a kind use themselves."""
NEED_SOURCE = ("measured", "published")
"""Kinds of evidence that rest on something outside, which a source has to name."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of entry: its schema, and which fields name entries of other kinds."""

    schema: type[Entry]
    references: Mapping[str, str]


KINDS: Mapping[str, Kind] = {
    "hardware": Kind(Hardware, {}),
    "models": Kind(Model, {}),
    "profiles": Kind(Profile, {"model": "models", "hardware": "hardware"}),
    "traffic": Kind(Traffic, {}),
    "links": Kind(Link, {}),
    "prices": Kind(Price, {"hardware": "hardware"}),
    "measurements": Kind(Measurement, {"hardware": "hardware"}),
}


def check(kind: str, document: Any) -> Entry:
    """The entry that a document is. Raises DocumentError with every mistake."""
    if not isinstance(document, Mapping):
        raise refuse(None, None, "must be a table of fields")
    entry = _parsed(KINDS[kind].schema, document)
    found = list(provenance_mistakes(document))
    if found:
        raise DocumentError(found)
    return entry


def check_naming(name: str, title: str) -> None:
    """Raises DocumentError where no entry may be called so."""
    _parsed(Entry, {"name": name, "title": title})


def _parsed(schema: type[Entry], document: Mapping[str, Any]) -> Entry:
    require_plain(document)
    if document.get("name") in RESERVED:
        raise refuse("name", document["name"], "is an address of its own; choose another")
    try:
        return schema.model_validate(deepcopy(dict(document)))
    except ValidationError as problem:
        raise from_validation(problem, document, fields_by_place(schema)) from problem


def provenance_mistakes(raw: Mapping[str, Any]) -> list[FieldError]:
    """Provenance of something that is not there helps nobody: most likely its path is misspelt. Evidence that nobody
    can look up is none."""
    found = []
    for path, origin in (raw.get("provenance") or {}).items():
        if origin["kind"] in NEED_SOURCE and not origin.get("source", "").strip():
            told = f"is missing: {path} is said to be {origin['kind']}, so name the publication or measurement"
            found.append(FieldError(f"provenance.{path}.source", None, told))
        try:
            paths.get(raw, path)
        except paths.NoSuchPath as problem:
            found.append(
                FieldError(f"provenance.{path}", None, f"leads nowhere; from there: {', '.join(problem.known)}")
            )
    return found
