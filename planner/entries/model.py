"""What is served: the layers that fix its KVCache, or sizes that somebody measured, or both."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from planner.documents.fields import Points, Positive, Table, Text, Tokens
from planner.engine import kvcache
from planner.engine.curves import Curve, LinearCurve
from planner.entries.base import Entry
from planner.entries.profile import Measured

LONGEST_TOKENS = 2**20
"""Up to which S_kv is computed where the model does not say how many tokens it takes."""

Layers = Annotated[int, Field(ge=1, le=10_000)]
Size = Annotated[int, Field(ge=1, le=10_000_000)]
Dtype = Literal["float32", "bf16"]


class KvSize(Measured):
    """S_kv: bytes of KVCache that a prompt of so many tokens leaves."""

    bytes: Points

    @field_validator("bytes")
    @classmethod
    def _never_falls(cls, sizes: list[float]) -> list[float]:
        for shorter, longer in pairwise(sizes):
            if longer < shorter:
                raise ValueError(f"falls from {shorter:,g} to {longer:,g}: a longer prompt leaves no smaller KVCache")
        return sizes

    @property
    def values(self) -> list[float]:
        """S_kv in bytes."""
        return self.bytes


class AttentionLayers(Table):
    """MHA, GQA or MQA; with `window_tokens`, sliding-window attention."""

    kind: Literal["attention"]
    layers: Layers
    kv_heads: Size
    key_dim: Size
    value_dim: Size
    window_tokens: Tokens | None = None

    def group(self) -> kvcache.Group:
        """The engine's group."""
        return kvcache.Attention(self.layers, self.kv_heads, self.key_dim, self.value_dim, self.window_tokens)


class LatentLayers(Table):
    """MLA; `fp8_bytes_per_token` where an engine packs its fp8 entries in another way."""

    kind: Literal["latent"]
    layers: Layers
    kv_lora_rank: Size
    rope_dim: Annotated[int, Field(ge=0, le=10_000_000)]
    fp8_bytes_per_token: Positive | None = None

    def group(self) -> kvcache.Group:
        """The engine's group."""
        return kvcache.Latent(self.layers, self.kv_lora_rank, self.rope_dim, self.fp8_bytes_per_token)


class IndexLayers(Table):
    """Index keys of sparse attention, of one size in every KV dtype."""

    kind: Literal["index"]
    layers: Layers
    bytes_per_token: Positive

    def group(self) -> kvcache.Group:
        """The engine's group."""
        return kvcache.Index(self.layers, self.bytes_per_token)


class CompressedLayers(Table):
    """One packed entry every `ratio` tokens beside a window; ratio 0 keeps the window only."""

    kind: Literal["compressed"]
    layers: Layers
    ratio: Annotated[int, Field(ge=0, le=1_000_000)]
    entry_bytes: Positive
    index_bytes: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    window_tokens: Tokens
    state_bytes: Annotated[float, Field(ge=0, le=1e12)] = 0.0
    """Of the compressor, a layer."""

    def group(self) -> kvcache.Group:
        """The engine's group."""
        return kvcache.Compressed(
            self.layers, self.ratio, self.entry_bytes, self.index_bytes, self.window_tokens, self.state_bytes
        )


class RecurrentLayers(Table):
    """Linear attention, state-space layers or short convolutions: a state that does not grow."""

    kind: Literal["recurrent"]
    layers: Layers
    mechanism: Text = ""
    """As `kda`, `gdn`, `lightning`, `mamba2`."""
    state_shape: Annotated[list[Size], Field(max_length=5)] = []
    state_dtype: Dtype = "float32"
    conv_channels: Annotated[int, Field(ge=0, le=10_000_000)] = 0
    conv_kernel: Annotated[int, Field(ge=1, le=1000)] = 1
    conv_dtype: Dtype = "bf16"

    def group(self) -> kvcache.Group:
        """The engine's group."""
        return kvcache.Recurrent(
            self.layers,
            tuple(self.state_shape),
            self.state_dtype,
            self.conv_channels,
            self.conv_kernel,
            self.conv_dtype,
        )


LayerGroup = Annotated[
    AttentionLayers | LatentLayers | IndexLayers | CompressedLayers | RecurrentLayers, Field(discriminator="kind")
]


class Model(Entry):
    """A model: what it keeps for a request, and how long a prompt may be."""

    total_parameters: Positive | None = None
    active_parameters: Positive | None = None
    max_position_tokens: Tokens | None = None
    kv_dtype: kvcache.KvDtype = "bf16"
    block_tokens: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    """Tokens of a block of block-level KVCache; 1 is without rounding."""
    layers: Annotated[list[LayerGroup], Field(max_length=200)] = []
    measured: KvSize | None = None

    @model_validator(mode="after")
    def _has_a_cache(self) -> Self:
        if self.layers:
            self.cache()
        elif self.measured is None:
            raise ValueError("needs layers, from which S_kv is computed, or measured sizes")
        return self

    def cache(self) -> kvcache.KvCache:
        """The engine's cache. Raises ValueError where there are no layers, or none that keeps anything."""
        return kvcache.cache([group.group() for group in self.layers])

    def s_kv(self) -> Curve:
        """S_kv in bytes at the model's own KV dtype: measured where it was measured, or else from the layers."""
        if self.measured is not None:
            return self.measured.curve()
        return LinearCurve(*self.cache().points(self.kv_dtype, self.longest_tokens))

    @property
    def longest_tokens(self) -> float:
        """The longest prompt that S_kv is computed for."""
        return self.max_position_tokens or LONGEST_TOKENS
