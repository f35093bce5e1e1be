"""What `inspect` prints of a config."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

from planner.engine.kvcache import KV_DTYPES, KvCache, KvDtype
from planner.entries.model import Model
from planner.importers.base import Imported

LENGTHS = (1024, 8192, 32768, 131072)


def sizes(model: Model) -> dict[str, Any]:
    """S_kv at four lengths and in its two parts, in bytes, for each KV dtype; windows are full in the second part."""
    cache = model.cache()
    longest = model.max_position_tokens
    return {
        "kv_bytes": {
            dtype: {str(tokens): exact(float(cache.s_kv(tokens, dtype))) for tokens in LENGTHS} for dtype in KV_DTYPES
        },
        "block_level_bytes_per_token": exact(cache.bytes_per_token("bf16")),
        "request_level_bytes": exact(_full(cache, "bf16")),
        "parts": {dtype: _parts(cache, dtype) for dtype in KV_DTYPES},
        "max_position_tokens": None if longest is None else exact(longest),
        "lengths_over_max_position": [tokens for tokens in LENGTHS if longest is not None and tokens > longest],
    }


def _full(cache: KvCache, dtype: KvDtype) -> float:
    return cache.state_bytes + sum(slope * width for slope, width in cache.windows(dtype))


def _parts(cache: KvCache, dtype: KvDtype) -> dict[str, Any]:
    slopes: Counter[float] = Counter()
    for slope, width in cache.windows(dtype):
        slopes[width] += slope  # type: ignore[assignment] # a sum of exact floats
    windows = [{"bytes_per_token": exact(slopes[width]), "window_tokens": exact(width)} for width in sorted(slopes)]
    return {
        "block_level_bytes_per_token": exact(cache.bytes_per_token(dtype)),
        "request_level_bytes": exact(_full(cache, dtype)),
        "state_bytes": exact(cache.state_bytes),
        "windows": windows,
    }


def report(imported: Imported, model: Model) -> dict[str, Any]:
    """Everything that an import would store and how it was read."""
    return {
        "name": imported.document["name"],
        **imported.facts,
        "kv_dtype": model.kv_dtype,
        "layers": imported.document["layers"],
        "assumptions": [asdict(assumption) for assumption in imported.assumptions],
        "mapping": [asdict(mapped) for mapped in imported.mapping],
        "notes": list(imported.notes),
    }


def exact(value: float) -> int | float:
    """A whole number as such."""
    return int(value) if float(value).is_integer() else value
