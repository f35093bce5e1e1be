"""S_kv of a model by part, length and KV dtype: computed from its layers, measured, and how far the two are apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from planner.engine.kvcache import KV_DTYPES, KvDtype
from planner.entries.model import LayerGroup, Model
from planner.models import Entry

LOOKED_AT = (1024.0, 8192.0, 32768.0, 131072.0)
"""Lengths at which models are compared, as the paper's tables do."""
NOT_SHAPE = ("kind", "layers", "mechanism")


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes that a prompt of so many tokens leaves, by part; `measured` where it was, `difference` to it, relative."""

    tokens: float
    block_level: float | None
    request_level: float | None
    computed: float | None
    measured: float | None
    is_extrapolated: bool

    @property
    def difference(self) -> float | None:
        """Computed over measured, less one."""
        return None if self.computed is None or self.measured is None else self.computed / self.measured - 1


@dataclass(frozen=True, slots=True)
class Table:
    """All lengths at one KV dtype."""

    dtype: str
    is_own: bool
    rows: list[Size]


@dataclass(frozen=True, slots=True)
class Layers:
    """One group of layers, and what it keeps in each KV dtype."""

    kind: str
    layers: int
    shape: str
    bytes_per_token: list[float]
    window_bytes: list[float]
    state_bytes: float


@dataclass(frozen=True, slots=True)
class Sizes:
    """What the page of a model shows beside its fields."""

    tables: list[Table]
    layers: list[Layers]
    dtypes: tuple[str, ...] = KV_DTYPES


def sizes(entry: Entry) -> Sizes:
    """The sizes of a stored model. A measured size is of the model's own KV dtype and stands beside that alone."""
    model = Model.model_validate(entry.document)
    wanted = KV_DTYPES if model.layers else (model.kv_dtype,)
    tables = [Table(dtype, dtype == model.kv_dtype, [_size(model, dtype, at) for at in LOOKED_AT]) for dtype in wanted]
    return Sizes(tables, [_layers(group) for group in model.layers])


def _size(model: Model, dtype: KvDtype, tokens: float) -> Size:
    block_level = request_level = computed = measured = None
    if model.layers:
        cache = model.cache()
        block_level = float(cache.block_level_bytes(tokens, dtype, model.block_tokens))
        request_level = float(cache.request_level_bytes(tokens, dtype))
        computed = block_level + request_level
    extrapolated = False
    if model.measured and dtype == model.kv_dtype:
        measured = float(model.measured.curve()(tokens))
        extrapolated = not model.measured.tokens[0] <= tokens <= model.measured.tokens[-1]
    return Size(tokens, block_level, request_level, computed, measured, extrapolated)


def _layers(group: LayerGroup) -> Layers:
    kept = group.group()
    windows = [slope * width for slope, width in (kept.window(dtype) for dtype in KV_DTYPES)]
    per_token = [kept.bytes_per_token(dtype) for dtype in KV_DTYPES]
    mechanism = getattr(group, "mechanism", "")
    kind = f"{group.kind}, {mechanism}" if mechanism else group.kind
    return Layers(kind, group.layers, _shape(group), per_token, windows, kept.state_bytes)


def _shape(group: LayerGroup) -> str:
    """What fixes the bytes, as the document says it."""
    fields: dict[str, Any] = group.model_dump(exclude_defaults=True)
    return ", ".join(
        f"{name.replace('_', ' ')} {_written(value)}" for name, value in fields.items() if name not in NOT_SHAPE
    )


def _written(value: Any) -> str:
    if isinstance(value, list):
        return " × ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else f"{value:,g}" if isinstance(value, float) else str(value)
