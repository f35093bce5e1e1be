"""Groups of layers as the catalogue stores them, made layer by layer and then put together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from planner.documents.errors import refuse

MOST = 200
"""Groups that a model of the catalogue may have."""

type Group = dict[str, Any]
"""One layer, or several alike: what `planner.entries.model` calls a group."""


def attention(kv_heads: int, key_dim: int, value_dim: int, window: int | None = None) -> Group:
    """A layer that keeps a key and a value for each KV head; of the last `window` tokens only, if there is one."""
    group = {"kind": "attention", "layers": 1, "kv_heads": kv_heads, "key_dim": key_dim, "value_dim": value_dim}
    return group | ({"window_tokens": window} if window else {})


def latent(kv_lora_rank: int, rope_dim: int, fp8_bytes: int | None = None) -> Group:
    """A layer of MLA."""
    group = {"kind": "latent", "layers": 1, "kv_lora_rank": kv_lora_rank, "rope_dim": rope_dim}
    return group | ({"fp8_bytes_per_token": fp8_bytes} if fp8_bytes else {})


def recurrent(mechanism: str, shape: Iterable[int] = (), conv_channels: int = 0, conv_kernel: int = 1) -> Group:
    """A layer with a state of this shape and the inputs of a short convolution."""
    return {
        "kind": "recurrent",
        "layers": 1,
        "mechanism": mechanism,
        "state_shape": list(shape),
        "state_dtype": "float32",
        "conv_channels": conv_channels,
        "conv_kernel": conv_kernel,
        "conv_dtype": "bf16",
    }


def together(layers: Iterable[Group]) -> list[Group]:
    """Layers that are alike as one group, in the order of their first layer. Raises DocumentError on too many kinds."""
    found: dict[str, Group] = {}
    for layer in layers:
        alike = repr([(name, value) for name, value in sorted(layer.items()) if name != "layers"])
        if alike in found:
            found[alike]["layers"] += layer["layers"]
        elif len(found) == MOST:
            raise refuse("layers", None, f"has more than {MOST} kinds of layers")
        else:
            found[alike] = dict(layer)
    return list(found.values())
