"""MLA, with the index of sparse attention or without, and what DeepSeek V4 makes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from planner.documents.errors import refuse
from planner.importers.models.config import Config, whole
from planner.importers.models.families.attention import full, gqa
from planner.importers.models.groups import Group, latent
from planner.importers.models.keys import (
    HEAD_DIM,
    HEADS,
    KV_HEADS,
    KV_LORA_RANK,
    LAYERS,
    ROPE_DIM,
    VALUE_DIM,
    WINDOW,
    Key,
)
from planner.importers.models.layout import Kind, fitting, listed

INDEX_DIM = Key("layers.bytes_per_token", ("index_head_dim",))
SCALED = 128
"""Elements of fp8 that share one scale of four bytes."""


def mla(per_layer: int = 1) -> Callable[[Config], list[Group]]:
    """A reader of models where all layers have MLA, `per_layer` times each."""

    def build(config: Config) -> list[Group]:
        if config.raw("kv_lora_rank") is None and config.raw("use_mla") is False:
            return gqa(full)(config)  # the small ones of DeepSeek-VL2
        count = config.whole(LAYERS)
        _only_full(config, count)
        return [latent_layer(config)] * (count * per_layer)

    return build


def latent_layer(config: Config, fp8_bytes: int | None = None) -> Group:
    """One layer of MLA. Its KV heads and head_dim say nothing of its cache. Raises DocumentError."""
    for key in (HEADS, KV_HEADS, HEAD_DIM, VALUE_DIM):
        for name in key.names:
            config.raw(name)
    config.raw("qk_head_dim")
    if config.table.get("num_key_value_heads") is not None:
        config.took("num_key_value_heads", "nothing", "MLA keeps one latent vector for all heads")
    return latent(config.whole(KV_LORA_RANK), config.whole(ROPE_DIM), fp8_bytes)


def _only_full(config: Config, count: int) -> None:
    if any(kind is not Kind.FULL for kind in listed(config, count)):
        raise refuse(
            config.place("layer_types"), None, "has other layers than full attention, which this model_type has not"
        )


# --- sparse ------------------------------------------------------------------------------------------------------


def sparse(config: Config) -> list[Group]:
    """DeepSeek V3.2 and GLM-5: MLA, and index keys in fp8 whatever the dtype of the KVCache.

    In fp8 SGLang packs an entry of 512 + 64 as 656 bytes: latent in fp8, its scales, rotary part in bf16.
    """
    count = config.whole(LAYERS)
    _only_full(config, count)
    rank, rope = config.whole(KV_LORA_RANK), config.whole(ROPE_DIM)
    layer = latent_layer(config, rank + scales(rank) + 2 * rope)
    dim = config.whole(INDEX_DIM, "in fp8, with a scale of 4 bytes")
    index: Group = {"kind": "index", "layers": 1, "bytes_per_token": dim + scales(dim)}
    return [layer] * count + [index] * _indexed(config, count)


def scales(dim: int) -> int:
    """Bytes of the scales of `dim` elements in fp8."""
    return 4 * -(-dim // SCALED)


def _indexed(config: Config, count: int) -> int:
    types = config.items("indexer_types")
    if types is None:
        return count
    types = fitting(config, "indexer_types", types, count)
    strange = next((at for at, each in enumerate(types) if each not in ("full", "shared")), None)
    if strange is not None:
        raise refuse(config.place(f"indexer_types.{strange}"), types[strange], "must be full or shared")
    if "shared" not in types:
        return count
    text = "layers that take their choice of tokens from another keep no index of their own"
    kept = config.log.choose("shared_index_layers", "nothing", text, ("nothing", "own index"))
    return types.count("full") if kept == "nothing" else count


# --- compressed --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Packing:
    """DeepSeek V4 as SGLang 0.5.23 packs it (`deepseek_v4_memory_pool.py`, `deepseek_v4_compress_state.py`)."""

    head_dim: int
    rope_dim: int
    index_dim: int

    @property
    def entry_bytes(self) -> int:
        """Without positions in fp8, rotary part in bf16, eight bytes of scales: 584 of 512 + 64."""
        return self.head_dim + self.rope_dim + 8

    def layer(self, ratio: int, window: int) -> Group:
        """A layer that keeps one entry for `ratio` tokens; at ratio 4 groups overlap, and an index chooses among them.

        The compressor keeps key and score of a group in float32, at ratio 4 of two groups twice as wide.
        """
        wide = {0: 0, 4: 2 * 4 * 2 * (self.head_dim + self.index_dim), 128: 128 * self.head_dim}[ratio]
        group: dict[str, Any] = {"kind": "compressed", "layers": 1, "ratio": ratio, "entry_bytes": self.entry_bytes}
        if ratio == 4:
            group["index_bytes"] = self.index_dim + scales(self.index_dim)
        return group | {"window_tokens": window, "state_bytes": wide * 2 * 4}


RATIOS = {"compressed_sparse_attention": 4, "heavily_compressed_attention": 128, "sliding_attention": 0}


def compressed(config: Config) -> list[Group]:
    """DeepSeek V4: every layer compresses by its own ratio, and keeps a window beside."""
    count = config.whole(LAYERS)
    ratios = _ratios(config, count)
    for key in (HEADS, KV_HEADS):
        config.maybe(key)
    packing = Packing(config.whole(HEAD_DIM), config.whole(ROPE_DIM), config.whole(INDEX_DIM))
    if (packing.head_dim, packing.rope_dim) != (512, 64):
        message = f"with qk_rope_head_dim {packing.rope_dim}: how entries are packed is known for 512 with 64 only"
        raise refuse(config.place("head_dim"), packing.head_dim, message)
    config.log.notes.append("one packed layout whatever the KV dtype: bf16 and fp8 have the same size")
    config.log.notes.append("the compressor's state is taken as float32, not online at ratio 128")
    width = config.whole(WINDOW)
    return [packing.layer(ratio, width) for ratio in ratios]


def _ratios(config: Config, count: int) -> list[int]:
    ratios = config.items("compress_ratios")
    name = "compress_ratios"
    if ratios is None:
        name = "layer_types"
        types, rates = config.items(name), config.inside("compress_rates")
        if types is None:
            raise config.missing("compress_ratios", "layer_types")
        _expected_rates(rates)
        ratios = [RATIOS.get(each, each) if isinstance(each, str) else each for each in types]
    else:
        config.raw("layer_types")
    found = []
    for at, ratio in enumerate(fitting(config, name, ratios, count)):
        if isinstance(ratio, bool) or ratio not in (0, 4, 128):
            raise refuse(config.place(f"{name}.{at}"), ratio, "must be 0, 4 or 128: no other compression is known")
        found.append(whole(config.place(f"{name}.{at}"), ratio, 0, 128))
    config.took(name, "layers.ratio")
    return found


def _expected_rates(rates: Config | None) -> None:
    for name, value in rates.table.items() if rates else ():
        if RATIOS.get(name) != value:
            raise refuse(rates.place(name) if rates else name, value, "is a compression that is not known")
