"""Models from a Hugging Face config.json: what each layer keeps of a prompt, and nothing that the file does not say."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from planner.documents.errors import refuse
from planner.entries import check
from planner.entries.model import Model
from planner.importers.base import Choices, Imported
from planner.importers.models.config import plain
from planner.importers.models.reading import NAMES, Found, table_of, understood
from planner.importers.models.report import report, sizes
from planner.importers.tables import slug

__all__ = ["inspect", "read"]


def read(path: Path, choices: Choices) -> Imported:
    """The model that a config describes, checked as the catalogue checks it; nothing is stored.

    `choices`: what the file leaves open, as the assumptions name it (`state_dtype`, `conv_dtype`, `kv_dtype`,
    `windowed_layers`, `last_layers`), figures that it lacks by their own key, `architecture=gqa` for a model type that
    is not known, `unread_keys=ignore`, `name` and `title`. Raises DocumentError naming the field.
    """
    return _read(path, choices)[0]


def inspect(path: Path, choices: Choices) -> dict[str, Any]:
    """What an import would store, and S_kv in bytes at 1K, 8K, 32K and 128K. Raises DocumentError as `read`."""
    return report(*_read(path, choices))


def _read(path: Path, choices: Choices) -> tuple[Imported, Model]:
    found = understood(table_of(path), path.name, choices)
    log = found.log
    document = _document(found, path, choices)
    model = check("models", document)
    if not isinstance(model, Model):
        raise refuse(None, None, "is no model")
    names = {"model_type": found.model_type, "architecture": found.architecture or found.model_type}
    facts = {**{key: plain(name) for key, name in names.items()}, **sizes(model)}
    notes = list(log.notes)
    over = facts["lengths_over_max_position"]
    if over:
        notes.append(f"{', '.join(f'{tokens:,}' for tokens in over)} tokens are more than the model's positions")
    imported = Imported(
        kind="models",
        document=document,
        mapping=tuple(log.mapping),
        assumptions=tuple(log.assumptions),
        notes=tuple(notes),
        facts=facts,
    )
    return imported, model


def _document(found: Found, path: Path, choices: Choices) -> dict[str, Any]:
    source = f"config.json of {plain(found.model_type)}, {plain(path.name)}, sha256 {_digest(path)}{_said(choices)}"
    origin = {"kind": "inferred" if found.forced else "published", "source": source}
    document: dict[str, Any] = {
        "name": choices.get("name") or _name(path, found),
        "title": choices.get("title") or plain(found.title),
        "notes": "\n".join(plain(note) for note in found.log.notes)[:2000],
        "kv_dtype": found.kv_dtype,
        "layers": found.layers,
        "provenance": {"layers": origin},
    }
    if found.max_position_tokens is not None:
        document["max_position_tokens"] = found.max_position_tokens
        document["provenance"]["max_position_tokens"] = dict(origin)
    return document


def _name(path: Path, found: Found) -> str:
    stem = path.name.removesuffix(".gz").removesuffix(".json")
    for tail in ("config", "_", ".", "-"):
        stem = stem.removesuffix(tail)
    title = found.title.rpartition("/")[2]
    return slug(stem) or slug(title) or slug(found.model_type) or "model"


def _said(choices: Choices) -> str:
    """What somebody decided that the file leaves open; it is part of where the figures come from."""
    said = [f"{plain(field, 60)}={plain(value, 60)}" for field, value in choices.items() if field not in NAMES]
    return f"; chosen: {', '.join(said[:10])}" if said else ""


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
