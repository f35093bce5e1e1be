"""Small configs as files, for tests of the importer of models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planner.documents.errors import DocumentError
from planner.importers import models

GQA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "hidden_size": 512,
    "head_dim": 64,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
}


def config(model_type: str = "llama", **changes: Any) -> dict[str, Any]:
    """A plain GQA config of 4 layers, 2 KV heads of 64, with these keys changed; `...` takes one out."""
    table = GQA | {"model_type": model_type, "architectures": ["SomeForCausalLM"]} | changes
    return {key: value for key, value in table.items() if value is not ...}


def written(folder: Path, content: Any, name: str = "config.json") -> Path:
    """The content as a JSON file; text and bytes as they are."""
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def inspected(folder: Path, content: Any, **choices: str) -> dict[str, Any]:
    """What `inspect` prints of the content."""
    return models.inspect(written(folder, content), choices)


def groups(folder: Path, content: Any, **choices: str) -> list[dict[str, Any]]:
    """The groups of layers that would be stored."""
    layers: list[dict[str, Any]] = models.read(written(folder, content), choices).document["layers"]
    return layers


def refused(folder: Path, content: Any, **choices: str) -> str:
    """The one line with which the content is refused."""
    with pytest.raises(DocumentError) as problem:
        models.inspect(written(folder, content), choices)
    message = str(problem.value)
    assert "\n" not in message
    assert len(message) < 2000
    return message


def chosen(report: dict[str, Any]) -> dict[str, str]:
    """The assumptions of a report by their field."""
    return {assumption["field"]: assumption["value"] for assumption in report["assumptions"]}
