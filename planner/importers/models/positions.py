"""The longest prompt of a model: its positions, and what scaled rotary embeddings make of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from planner.documents.errors import refuse
from planner.importers.models.config import Config, whole
from planner.importers.models.keys import Key

COUNTED_ALREADY = ("su", "longrope", "llama3", "default")
"""Scalings that vLLM multiplies by nothing: files count the longer positions already, or none are scaled."""
MOST = 1_000_000_000


def longest_prompt(config: Config, key: Key, model_type: str) -> int | None:
    """Tokens, None where the file does not say; scaled positions are an assumption. Raises DocumentError.

    vLLM multiplies what YaRN was made from (`original_max_position_embeddings`), or the positions, by the factor
    (`_get_and_verify_max_len`); SGLang takes the positions as they stand.
    """
    stated = config.maybe(key)
    found = [] if "gemma3" in model_type else [each for each in _scaled(config, stated) if each[1] > (stated or 0)]
    if not found:
        return stated
    how, tokens = max(found, key=lambda each: each[1])
    text = f"{how} make {tokens:,} tokens, as vLLM derives it; max_position_embeddings is {stated or 'not there'}"
    config.log.notes.append(text)
    return int(config.log.choose(key.ours, str(tokens), text, [str(each) for each in (tokens, stated) if each]))


def _scaled(config: Config, stated: int | None) -> Iterator[tuple[str, int]]:
    """How long prompts may be by each scaling of the file, and by what."""
    for scaling in _scalings(config):
        word = scaling.raw("rope_type") or scaling.raw("type") or "default"
        factor = _factor(scaling)
        if word in COUNTED_ALREADY or factor is None:
            continue
        name = "original_max_position_embeddings"
        original = scaling.raw(name) if word == "yarn" else None
        base = stated if original is None else whole(scaling.place(name), original, 1, MOST)
        if base:
            yield f"{scaling.path}: {base:,} positions times {factor:g} ({str(word)[:40]})", _times(base, factor)


def _scalings(config: Config) -> Iterator[Config]:
    """The scaling of all layers, or one for each kind of layer."""
    for name in ("rope_scaling", "rope_parameters"):
        table = config.inside(name) if isinstance(config.table.get(name), dict) else None
        if table is not None:
            yield table
            yield from (inner for key in table.table if (inner := _inner(table, key)) is not None)


def _inner(table: Config, key: str) -> Config | None:
    return table.inside(key) if isinstance(table.table[key], dict) else None


def _factor(scaling: Config) -> float | None:
    """What the positions are multiplied by, None where nothing is said. Raises DocumentError."""
    value: Any = scaling.raw("factor")
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number and math.isfinite(value) and 0 < value <= 1e6):
        raise refuse(scaling.place("factor"), value, "must be a number above 0")
    return float(value)


def _times(base: int, factor: float) -> int:
    return min(int(base * factor), MOST)
