"""S_kv and Φ_kv of a model against prompt length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from planner.charts.origins import origin, s_kv_origin, weakest
from planner.engine.curves import Array
from planner.engine.kvcache import KV_DTYPES
from planner.engine.throughput import BITS_PER_BYTE
from planner.entries.model import Model
from planner.entries.profile import Profile

type Document = Mapping[str, Any]

SHORTEST_TOKENS = 256.0
LOOKED_AT = (1024.0, 8192.0, 32768.0, 131072.0)
"""Lengths that the paper's tables have: every curve has them too, where it reaches them."""
POINTS = 97
"""Of a curve: a chart has no pixels for more."""


def of_model(model: Document, profiles: Sequence[Document]) -> dict[str, Any]:
    """Charts of a model entry, with those of its `profiles` that are offered."""
    return {"s_kv": s_kv(model), "kv_rate": [kv_rate(model, profile) for profile in profiles]}


def s_kv(document: Document) -> dict[str, Any]:
    """Bytes against tokens by KV dtype and part, what scenarios read, and the points that were measured."""
    model = Model.model_validate(document)
    tokens = lengths(SHORTEST_TOKENS, model.longest_tokens, model.measured.tokens if model.measured else ())
    return {
        "tokens": tokens.tolist(),
        "kv_dtype": model.kv_dtype,
        "block_tokens": model.block_tokens,
        "used_bytes": model.s_kv()(tokens).tolist(),
        "parts": _parts(model, tokens) if model.layers else None,
        "measured": {"tokens": model.measured.tokens, "bytes": model.measured.bytes} if model.measured else None,
        "provenance": {
            "layers": origin(document, "layers") if model.layers else None,
            "measured": origin(document, "measured") if model.measured else None,
        },
    }


def _parts(model: Model, tokens: Array) -> dict[str, dict[str, list[float]]]:
    cache = model.cache()
    return {
        dtype: {
            "block_level_bytes": cache.block_level_bytes(tokens, dtype, model.block_tokens).tolist(),
            "request_level_bytes": cache.request_level_bytes(tokens, dtype).tolist(),
        }
        for dtype in KV_DTYPES
    }


def lengths(shortest: float, longest: float, points: Sequence[float] = ()) -> Array:
    """Lengths in equal ratios that a curve is drawn through, the given points and the paper's lengths among them."""
    low, high = min(shortest, longest, *points), max(shortest, longest, *points)
    usual = [tokens for tokens in LOOKED_AT if low <= tokens <= high]
    return np.unique(np.concatenate([np.geomspace(low, high, POINTS)[1:-1], [low, high], points, usual]))


def kv_rate(model: Document, profile: Document) -> dict[str, Any]:
    """Φ_kv(l) = S_kv(l) / T_prefill(l) of one instance in bit/s (eq. 1), over the measured lengths and beyond."""
    of, by = Model.model_validate(model), Profile.model_validate(profile)
    sizes, times = of.s_kv(), by.prefill.curve()
    points = np.array(by.prefill.tokens)
    tokens = lengths(SHORTEST_TOKENS, points[-1], by.prefill.tokens)
    measured = BITS_PER_BYTE * sizes(points) / np.array(by.prefill.seconds)
    return {
        "profile": profile["name"],
        "title": profile.get("title") or profile["name"],
        "hardware": profile["hardware"],
        "gpus_per_instance": by.gpus_per_instance,
        "tokens": tokens.tolist(),
        "bps": (BITS_PER_BYTE * sizes(tokens) / times(tokens)).tolist(),
        "points": {"tokens": points.tolist(), "bps": measured.tolist()},
        "measured_tokens": [float(points[0]), float(points[-1])],
        "provenance": weakest([s_kv_origin(model), origin(profile, "prefill")]),
    }
