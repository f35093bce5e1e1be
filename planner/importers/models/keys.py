"""The figures that a config is asked for, and the names under which files have them."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Key:
    """A whole number: what it becomes, the names that it goes by, and what it may be."""

    ours: str
    names: tuple[str, ...]
    lowest: int = 1
    highest: int = 1_000_000
    agree: bool = True
    """Whether two of the names in one file must say the same."""


LAYERS = Key("layers", ("num_hidden_layers", "n_layer", "n_layers", "num_layers"), highest=10_000)
HEADS = Key("query heads", ("num_attention_heads", "n_head", "n_heads", "num_heads"))
KV_HEADS = Key(
    "layers.kv_heads",
    (
        "num_key_value_heads",
        "num_kv_heads",
        "n_kv_heads",  # Meta's and Mistral's params.json
        "n_kv_head",  # nanochat
        "n_head_kv",
        "kv_n_heads",
        "num_query_groups",  # Megatron
        "n_query_groups",  # LitGPT
        "multi_query_group_num",
        "num_attention_groups",
    ),
)
HIDDEN = Key("hidden size", ("hidden_size", "n_embd", "n_embed", "d_model"))
HEAD_DIM = Key(
    "layers.key_dim, layers.value_dim", ("head_dim", "kv_channels", "attention_head_dim", "d_head", "head_size")
)
VALUE_DIM = Key("layers.value_dim", ("v_head_dim",))
WINDOW = Key("layers.window_tokens", ("sliding_window", "sliding_window_size"), lowest=0, highest=1_000_000_000)
KV_LORA_RANK = Key("layers.kv_lora_rank", ("kv_lora_rank",))
ROPE_DIM = Key("layers.rope_dim", ("qk_rope_head_dim",), lowest=0)
MAX_POSITION = Key(
    "max_position_tokens",
    ("max_position_embeddings", "n_positions", "max_sequence_length", "seq_length", "max_seq_len", "n_ctx"),
    highest=1_000_000_000,
    agree=False,  # Qwen's seq_length is what it was trained with
)
MTP = Key(
    "nothing",
    ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules", "mtp_num_layers"),
    lowest=0,
    highest=1000,
)

ABOUT_THE_CACHE = re.compile(
    r"kv|cache|window|recurrent|ssm|mamba|latent|compress|hybrid|lora_rank|conv|cross_att|lru_|layer_types|block_types?$"
    r"|attn|attention_(types?|heads|window|chunk)|layers_block|state_(size|dim)|linear|interval|index|expand|loop"
    r"|head_dim|num_(key_value_)?heads|num_hidden_layers"
)
"""Keys that have to do with what a layer keeps, as far as their names go: told where a model type is not known."""

CHANGES_THE_CACHE = re.compile(
    r"^((swa_)?kv_lora_rank|linear_(num_(key_|value_)?heads|(key_|value_)?head_dim|attn_config)|num_linear_.*heads"
    r"|mamba_(d_state|num_heads|n_heads|layers?)|n_mamba_heads|ssm_state_size|state_size|compress_(ratios|rates)"
    r"|index_(head_dim|kpool|topk_freq|topk_pattern|topk_blocks|skip_topk_offset)|indexer_types|hybrid_(override|layer)_.*"
    r"|attn_type_list|full_attn(_idxs|_layers|ention_interval)|full_attention_(interval|layers)|attn_layer_(period|offset|indices)"
    r"|layer_group_size|num_kv_shared_layers|kv_source_layers|cross_attention_layers|cross_layer_interval"
    r"|attention_(chunk_size|window_size|types|other_setting)|_?sliding_window(_pattern|_size|s)?|(local_)?window(_size|_length)?"
    r"|(mlp_)?layers_block_type|layer_types|block_types|conv_L_cache|conv_kernel(_size)?|short_conv_kernel_size"
    r"|global_(head_dim|attn_every_n_layers)|num_global_key_value_heads|swa_(head_dim|v_head_dim|num_key_value_heads)"
    r"|per_layer_config|block_configs|lru_width|attn|n_recurrent_.*|num_loops?|loop_.*|number_of_conv_states"
    r"|.*(kv_heads|key_value_heads|head_dim|groups)_per_layer|.*kv_shar.*|share_kv.*|yoco.*|use_cla|cli_factor)$"
)
"""Keys that are known to change what a layer keeps in the models that have them."""


LIKE_HEADS = re.compile(
    r".*(kv|key_?value|k_v)_?(n_|num_)?(attention_|attn_)?(heads?|groups?)(_.*)?"
    r"|(.*_)?(num|n|nb)?_?heads?_(count_)?(kv|key_value)s?|(.*_)?query_?groups?(_.*)?"
    r"|(.*_)?(gqa|mqa)(_.*)?|(use_)?(multi|grouped|group)_query(_.*)?|(.*_)?heads?_(per|in)_(kv|group|query).*"
    r"|((self_)?(attention|attn)_|kv_|(qk_?|k|v|key|value|query)_)?(head_?(size|dim|dims|width)|dim_head|d_head)"
    r"|d_(k|v|kv|qk)|kv_(dim|size|hidden_size|width)|(.*_)?(size|dim|dims|channels|width)_per_(attention_)?head",
    re.IGNORECASE,
)
"""Keys that by their look say how many KV heads there are, or how large a head is, under a name that no model has."""


def changes_the_cache(name: str, value: object) -> bool:
    """Whether a key that nobody has read may change the KVCache: it does in some model, and it is not switched off."""
    off = value is None or value is False or value == 0 or value in ([], {}, "")
    if off or name in (*KV_HEADS.names, *HEAD_DIM.names):  # unread where no layer has attention of that kind
        return False
    return bool(CHANGES_THE_CACHE.match(name) or LIKE_HEADS.fullmatch(name.replace(".", "_").replace("-", "_")))
