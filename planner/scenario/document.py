"""From a name, a file or a request body to a scenario that cannot be wrong, and back to a document."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from planner import catalog
from planner.catalog import files
from planner.documents import paths
from planner.documents.copying import copied
from planner.documents.errors import DocumentError, FieldError, from_validation, refuse
from planner.documents.fields import fields_by_place
from planner.documents.plain import require_plain
from planner.documents.provenance import nearest
from planner.entries.checking import provenance_mistakes
from planner.scenario import references
from planner.scenario.references import Catalogue
from planner.scenario.rules import mistakes
from planner.scenario.schema import SCHEMA_VERSION, Document

SHIPPED = ("case-study-prfaas-pd", "case-study-homogeneous", "case-study-naive")
UNSTATED = {"kind": "user", "source": "stated in the document, without a source"}
SET_BY_HAND = {"kind": "user", "source": "set by hand"}
MOST_OVERRIDES = 100
DECISIONS = ("free", "schema_version", "slo", "prices")
"""Numbers under these do not enter a result."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A validated scenario: `parsed` is its typed form, `raw` the complete document as plain values."""

    parsed: Document
    raw: dict[str, Any]

    @property
    def name(self) -> str:
        """The scenario's own name."""
        return self.parsed.name

    def document(self) -> dict[str, Any]:
        """A copy of the complete document, ready for JSON or YAML."""
        return copied(self.raw)

    def provenance(self, path: str) -> dict[str, str]:
        """Kind and source of the figure at a path: the entry at it, or at the nearest part that holds it."""
        entry = nearest(self.raw, path)
        if entry is not None:
            return {"kind": entry["kind"], "source": entry.get("source", "")}
        return dict(UNSTATED)

    def figures(self) -> list[str]:
        """Paths of every number that a result rests on."""
        used = {key: value for key, value in self.raw.items() if key not in DECISIONS}
        return list(paths.figures(used))


def load(
    name_or_path: str, overrides: Mapping[str, Any] | None = None, catalogue: Catalogue = catalog.SHIPPED
) -> Scenario:
    """A shipped scenario by name, or one from a YAML or JSON file whose names stand in `catalogue`.

    Raises DocumentError.
    """
    if name_or_path in SHIPPED:
        return shipped(name_or_path, overrides, catalogue)
    return parse(source_document(name_or_path), overrides, catalogue)


def shipped(name: str, overrides: Mapping[str, Any] | None = None, catalogue: Catalogue = catalog.SHIPPED) -> Scenario:
    """A shipped scenario, whose own figures are the shipped ones; names that `overrides` set stand in `catalogue`.

    Raises DocumentError.
    """
    return parse(resolve(catalogued(name), catalog.SHIPPED), overrides, catalogue)


def catalogued(name: str) -> dict[str, Any]:
    """A shipped document by name, before references are resolved. Raises DocumentError."""
    try:
        return catalog.entry("scenarios", name)
    except catalog.NotInCatalogue as problem:
        raise refuse("scenario", name, f"is not a shipped scenario; shipped: {', '.join(problem.known)}") from problem


def source_document(name_or_path: str) -> dict[str, Any]:
    """The document of a name or a file, before references are resolved. Raises DocumentError."""
    if name_or_path in catalog.names("scenarios"):
        return catalogued(name_or_path)
    path = Path(name_or_path)
    if not os.path.isfile(path):  # not path.is_file(), which raises on names that no file system takes
        known = ", ".join(catalog.names("scenarios"))
        raise refuse("scenario", name_or_path, f"is neither a shipped or stored scenario nor a file; shipped: {known}")
    try:
        return files.read(path)
    except files.Unreadable as problem:
        raise refuse(None, None, str(problem)) from problem


def parse(
    document: Mapping[str, Any], overrides: Mapping[str, Any] | None = None, catalogue: Catalogue = catalog.SHIPPED
) -> Scenario:
    """A scenario from a document, names looked up in `catalogue` and `overrides` (path to value) applied.

    Raises DocumentError.
    """
    require_plain(document)
    raw = resolve(copied(dict(document)), catalogue)
    if overrides:
        if len(overrides) > MOST_OVERRIDES:
            raise refuse("set", None, f"takes at most {MOST_OVERRIDES} fields; send the document as you want it")
        for path, value in overrides.items():
            require_plain(value, path)
            override(raw, path, value)
        raw = resolve(raw, catalogue)
    try:
        parsed = Document.model_validate(raw)
    except ValidationError as problem:
        raise from_validation(problem, raw, fields_by_place(Document)) from problem
    found = [*mistakes(parsed), *provenance_mistakes(raw)]
    if found:
        raise DocumentError(found)
    return Scenario(parsed, raw)


def complete(given: Any, place: str, catalogue: Catalogue) -> dict[str, Any]:
    """The complete document of a scenario that stands in another document at `place`.

    Raises DocumentError, with paths from the outer one.
    """
    try:
        return parse(table(given), catalogue=catalogue).document()
    except DocumentError as problem:
        told = [
            FieldError(f"{place}.{each.field}" if each.field else place, each.value, each.message)
            for each in problem.told
        ]
        raise DocumentError(told, problem.more) from problem


def table(document: Any) -> Mapping[str, Any]:
    """The document, if it is a table at all. Raises DocumentError."""
    if not isinstance(document, Mapping):
        raise refuse(None, None, "must be a table of fields")
    return document


def override(raw: dict[str, Any], path: str, value: Any, origin: Mapping[str, str] = SET_BY_HAND) -> None:
    """Sets one field in place and notes where it now comes from. Raises DocumentError on a path that leads nowhere."""
    try:
        paths.put(raw, path, value)
    except paths.NoSuchPath as problem:
        raise refuse(path, None, f"leads nowhere; from there: {', '.join(problem.known) or 'nothing'}") from problem
    entries = raw.get("provenance")
    if isinstance(entries, dict) and path.split(".")[0] != "provenance":
        for stale in [key for key in entries if key == path or key.startswith(path + ".")]:
            del entries[stale]
    if path.split(".")[0] not in (*DECISIONS, "name", "title", "description", "provenance"):
        entries = raw.setdefault("provenance", {})
        if isinstance(entries, dict):
            entries[path] = dict(origin)


def resolve(raw: dict[str, Any], catalogue: Catalogue) -> dict[str, Any]:
    """Replaces every reference to the catalogue, in place, by its entry with its provenance. Raises DocumentError."""
    version = raw.get("schema_version", SCHEMA_VERSION)
    if type(version) is not int or version != SCHEMA_VERSION:  # true would pass for 1
        raise refuse("schema_version", version, f"is not known; this version reads {SCHEMA_VERSION}")
    references.resolve(raw, catalogue)
    return raw
