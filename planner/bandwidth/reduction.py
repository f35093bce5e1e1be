"""Why a hybrid of MLA and linear attention keeps so much less KVCache than GQA, by its two factors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.engine.kvcache import BYTES, Attention, Latent
from planner.entries.model import AttentionLayers, LatentLayers, Model, RecurrentLayers


@dataclass(frozen=True, slots=True)
class Reduction:
    """Bytes a token at the hybrid's KV dtype, and the factors that follow; nothing else is assumed than is named."""

    layers: int
    latent_layers: int
    kv_lora_rank: int
    rope_dim: int
    latent_layer_bytes: float
    """Of one MLA layer."""
    kv_heads: int
    """Of the reference's GQA."""
    reference_dims: tuple[int, int]
    """Key and value of one head of the reference."""
    reference_layer_bytes: float
    """Of one GQA layer of the reference as it is."""
    own_dims: tuple[int, int]
    """Key and value of one head of the hybrid: its linear layers' head, and the rotary part of its MLA for the key."""
    own_layer_bytes: float
    """Of one GQA layer with the reference's number of KV heads, each of the hybrid's own dimensions."""
    state_bytes: float
    """What the hybrid's linear layers keep for a request of any length instead."""

    @property
    def attention(self) -> float:
        """MLA against GQA of the same heads, in one layer."""
        return self.own_layer_bytes / self.latent_layer_bytes

    @property
    def reference_attention(self) -> float:
        """MLA against the reference's GQA, in one layer."""
        return self.reference_layer_bytes / self.latent_layer_bytes

    @property
    def ratio(self) -> float:
        """All layers against those that keep something of every token."""
        return self.layers / self.latent_layers

    @property
    def total(self) -> float:
        """Both factors: GQA in every layer against MLA in a few, a token."""
        return self.attention * self.ratio

    @property
    def reference_total(self) -> float:
        """The same against layers as the reference has them."""
        return self.reference_attention * self.ratio


def reduction(hybrid: Mapping[str, Any], reference: Mapping[str, Any]) -> Reduction | None:
    """The factors of a stored model against a stored reference; None unless it is MLA among linear layers with heads
    of a known shape, and the reference GQA."""
    model, other = Model.model_validate(hybrid), Model.model_validate(reference)
    latent = [group for group in model.layers if isinstance(group, LatentLayers)]
    linear = [group for group in model.layers if isinstance(group, RecurrentLayers) and len(group.state_shape) == 3]
    dense = [group for group in other.layers if isinstance(group, AttentionLayers) and not group.window_tokens]
    if len(latent) != 1 or not linear or len(latent) + len(linear) != len(model.layers) or not dense:
        return None
    (mla,), gqa, (_, key, value) = latent, dense[0], linear[0].state_shape
    own = (key + mla.rope_dim, value)
    return Reduction(
        layers=sum(group.layers for group in model.layers),
        latent_layers=mla.layers,
        kv_lora_rank=mla.kv_lora_rank,
        rope_dim=mla.rope_dim,
        latent_layer_bytes=Latent(1, mla.kv_lora_rank, mla.rope_dim).bytes_per_token("bf16"),
        kv_heads=gqa.kv_heads,
        reference_dims=(gqa.key_dim, gqa.value_dim),
        reference_layer_bytes=Attention(1, gqa.kv_heads, gqa.key_dim, gqa.value_dim).bytes_per_token("bf16"),
        own_dims=own,
        own_layer_bytes=float(gqa.kv_heads * sum(own) * BYTES["bf16"]),
        state_bytes=model.cache().state_bytes,
    )
