"""S_kv: bytes of state that a request leaves behind, from the layers of its model (01, section 2 of the paper).

Two parts. Block-level state grows with the prompt and is reusable in whole blocks; request-level state (recurrent
states, sliding windows) does not grow beyond a bound and is reusable only where the cached length matches exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from planner.engine.curves import Array

type KvDtype = Literal["bf16", "fp8"]
KV_DTYPES: tuple[KvDtype, ...] = ("bf16", "fp8")
BYTES = {"bf16": 2, "fp8": 1, "float32": 4}


class Group(Protocol):
    """Layers that are alike."""

    def bytes_per_token(self, dtype: KvDtype) -> float:
        """Bytes that every token adds, in all layers of the group."""

    def window(self, dtype: KvDtype) -> tuple[float, float]:
        """Bytes a token and tokens of a sliding window, in all layers of the group; (0, 0) without one."""

    @property
    def state_bytes(self) -> float:
        """Bytes that do not depend on the length, in all layers of the group."""


@dataclass(frozen=True, slots=True)
class Attention:
    """MHA, GQA or MQA: a key and a value for each KV head; with a window, of its tokens only."""

    layers: int
    kv_heads: int
    key_dim: int
    value_dim: int
    window_tokens: float | None = None
    state_bytes: float = 0.0

    def _token(self, dtype: KvDtype) -> float:
        return self.layers * self.kv_heads * (self.key_dim + self.value_dim) * BYTES[dtype]

    def bytes_per_token(self, dtype: KvDtype) -> float:
        """0 with a window."""
        return 0.0 if self.window_tokens else self._token(dtype)

    def window(self, dtype: KvDtype) -> tuple[float, float]:
        """See `Group`."""
        return (self._token(dtype), self.window_tokens) if self.window_tokens else (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Latent:
    """MLA: one compressed vector and one rotary key for all heads. `fp8_bytes` where fp8 is packed in another way."""

    layers: int
    kv_lora_rank: int
    rope_dim: int
    fp8_bytes: float | None = None
    state_bytes: float = 0.0

    def bytes_per_token(self, dtype: KvDtype) -> float:
        """Of all layers."""
        plain = (self.kv_lora_rank + self.rope_dim) * BYTES[dtype]
        return self.layers * (self.fp8_bytes if dtype == "fp8" and self.fp8_bytes else plain)

    def window(self, dtype: KvDtype) -> tuple[float, float]:
        """None."""
        return 0.0, 0.0


@dataclass(frozen=True, slots=True)
class Index:
    """Keys by which sparse attention chooses tokens: of one size, whatever the dtype of the KVCache."""

    layers: int
    token_bytes: float
    state_bytes: float = 0.0

    def bytes_per_token(self, dtype: KvDtype) -> float:
        """Of all layers."""
        return self.layers * self.token_bytes

    def window(self, dtype: KvDtype) -> tuple[float, float]:
        """None."""
        return 0.0, 0.0


@dataclass(frozen=True, slots=True)
class Compressed:
    """One packed entry for every `ratio` tokens, a window of uncompressed entries, and the compressor's state.

    The packing is the same whatever the dtype of the KVCache; ratio 0 keeps the window only.
    """

    layers: int
    ratio: int
    entry_bytes: float
    index_bytes: float
    window_tokens: float
    layer_state_bytes: float

    @property
    def state_bytes(self) -> float:
        """Of the compressors."""
        return self.layers * self.layer_state_bytes

    def bytes_per_token(self, dtype: KvDtype) -> float:
        """Of all layers, the steps of whole entries smoothed."""
        return self.layers * (self.entry_bytes + self.index_bytes) / self.ratio if self.ratio else 0.0

    def window(self, dtype: KvDtype) -> tuple[float, float]:
        """See `Group`."""
        return self.layers * self.entry_bytes, self.window_tokens


@dataclass(frozen=True, slots=True)
class Recurrent:
    """KDA, GDN, Lightning, Mamba: a state of fixed shape, and the last inputs of a short convolution."""

    layers: int
    state_shape: tuple[int, ...]
    state_dtype: str
    conv_channels: int = 0
    conv_kernel: int = 1
    conv_dtype: str = "bf16"

    @property
    def state_bytes(self) -> float:
        """Of all layers; a convolution over k inputs keeps k - 1 of them."""
        state = prod(self.state_shape) * BYTES[self.state_dtype] if self.state_shape else 0
        return float(self.layers * (state + self.conv_channels * (self.conv_kernel - 1) * BYTES[self.conv_dtype]))

    def bytes_per_token(self, dtype: KvDtype) -> float:
        """None."""
        return 0.0

    def window(self, dtype: KvDtype) -> tuple[float, float]:
        """None."""
        return 0.0, 0.0


@dataclass(frozen=True, slots=True)
class KvCache:
    """What all layers of a model keep for one request, all of it: no split over GPUs."""

    groups: tuple[Group, ...]

    def bytes_per_token(self, dtype: KvDtype) -> float:
        """Slope of the block-level part in bytes a token."""
        return sum(group.bytes_per_token(dtype) for group in self.groups)

    def windows(self, dtype: KvDtype) -> list[tuple[float, float]]:
        """Bytes a token and tokens of each sliding window."""
        return [window for group in self.groups if (window := group.window(dtype))[1]]

    @property
    def state_bytes(self) -> float:
        """Recurrent states and the like."""
        return sum(group.state_bytes for group in self.groups)

    def block_level_bytes(self, tokens: ArrayLike, dtype: KvDtype, block_tokens: int = 1) -> Array:
        """Bytes that grow with the prompt, its length rounded up to whole blocks; same shape as `tokens`.

        Blocks of 1 round nothing, not even lengths between two tokens, as means are.
        """
        at = np.asarray(tokens, dtype=float)
        held = at if block_tokens == 1 else np.ceil(at / block_tokens) * block_tokens
        size: Array = self.bytes_per_token(dtype) * held
        return size

    def request_level_bytes(self, tokens: ArrayLike, dtype: KvDtype) -> Array:
        """States, and of each window what the prompt fills; same shape as `tokens`."""
        at = np.asarray(tokens, dtype=float)
        size: Array = np.full(at.shape, self.state_bytes)
        for slope, width in self.windows(dtype):
            size = size + slope * np.minimum(at, width)
        return size

    def s_kv(self, tokens: ArrayLike, dtype: KvDtype, block_tokens: int = 1) -> Array:
        """Both parts in bytes; same shape as `tokens`."""
        size: Array = self.block_level_bytes(tokens, dtype, block_tokens) + self.request_level_bytes(tokens, dtype)
        return size

    def points(self, dtype: KvDtype, longest: float) -> tuple[Array, Array]:
        """Lengths and sizes between which straight lines are exact, from 1 token to `longest`, blocks not rounded.

        There are two points at least: a shorter `longest` is taken as 2.
        """
        end = max(float(longest), 2.0)
        bends = [width for _, width in self.windows(dtype) if 1 < width < end]
        at = np.unique(np.array([1.0, *bends, end]))
        return at, self.s_kv(at, dtype)


def cache(groups: Sequence[Group]) -> KvCache:
    """The cache of a model. Raises ValueError where no layer keeps anything."""
    made = KvCache(tuple(groups))
    if not float(made.s_kv(1.0, "fp8")) > 0:
        raise ValueError("no layer keeps any state; at least one group must")
    return made
