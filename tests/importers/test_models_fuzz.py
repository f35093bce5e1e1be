"""Spoilt configs of every architecture are read or refused, and nothing else happens."""

from __future__ import annotations

import json
import random
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.documents.errors import DocumentError
from planner.importers import models
from tests.examples import examples
from tests.importers.configs import config, inspected, written

MLA = {"kv_lora_rank": 512, "qk_rope_head_dim": 64}
GDN_KEYS = [
    "linear_num_key_heads",
    "linear_num_value_heads",
    "linear_key_head_dim",
    "linear_value_head_dim",
    "linear_conv_kernel_dim",
]
SEEDS: list[dict[str, Any]] = [
    config(
        "gemma4_text", sliding_window=64, layer_types=["sliding_attention", "full_attention"] * 2, global_head_dim=128
    ),
    config("qwen3_next", full_attention_interval=2, **dict.fromkeys(GDN_KEYS, 4)),
    config("deepseek_v32", index_head_dim=128, indexer_types=["full"] * 4, **MLA),
    config(
        "deepseek_v4",
        compress_ratios=[0, 4, 128, 4],
        head_dim=512,
        qk_rope_head_dim=64,
        index_head_dim=128,
        sliding_window=8,
    ),
    config(
        "kimi_linear",
        linear_attn_config={
            "full_attn_layers": [4],
            "kda_layers": [1, 2, 3],
            "num_heads": 2,
            "head_dim": 4,
            "short_conv_kernel_size": 4,
        },
        **MLA,
    ),
    config(
        "nemotron_h",
        hybrid_override_pattern="M*-E",
        mamba_num_heads=2,
        mamba_head_dim=4,
        ssm_state_size=4,
        n_groups=1,
        conv_kernel=4,
    ),
    config("bailing_hybrid", layer_group_size=3, **MLA),
    config(
        "step3p5",
        sliding_window=8,
        layer_types=["full_attention"] * 4,
        attention_other_setting={"num_attention_groups": 2},
    ),
    config("nemotron-nas", block_configs=[{"attention": {"n_heads_in_group": 2}}] * 4, num_key_value_heads=None),
    config("mimo_v2_flash", sliding_window=8, hybrid_layer_pattern=[0, 1, 1, 0], swa_head_dim=8),
    config("llama4_text", attention_chunk_size=64, no_rope_layers=[1, 0, 1, 0]),
    config("jamba", attn_layer_period=2, attn_layer_offset=1, mamba_d_state=4, mamba_d_conv=4, mamba_expand=2),
    config(
        "zamba2",
        hybrid_layer_ids=[1],
        mamba_d_state=4,
        mamba_d_conv=4,
        mamba_expand=2,
        n_mamba_heads=2,
        mamba_ngroups=1,
    ),
    config("lfm2", conv_L_cache=3, full_attn_idxs=[1]),
    config(
        "dbrx", attn_config={"kv_n_heads": 2}, quantization_config={"kv_cache_scheme": {"num_bits": 8, "type": "float"}}
    ),
    {"model_type": "llava", "text_config": config("exaone4", sliding_window=8, sliding_window_pattern="LG")},
]
ODD: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1,
    2,
    3,
    7,
    10**6,
    10**18,
    10**300,
    0.5,
    float("inf"),
    float("nan"),
    "",
    "4",
    "M*",
    "full_attention",
    "\ud800",
    [],
    {},
    [None],
    ["full_attention"] * 4,
    [0, 1, 0, 1],
    [[]],
    {"a": 1},
    [{}],
    {"num_heads": "x"},
    [10**9] * 4,
    "x" * 3000,
]


def mutated(table: Any, dice: random.Random) -> Any:
    """The table with a value somewhere in it changed, taken out, or moved to another key."""
    table = json.loads(json.dumps(table))
    for _ in range(dice.randint(1, 3)):
        holder = table
        while True:
            keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            if not keys:
                break
            key = dice.choice(keys)
            if isinstance(holder[key], dict | list) and dice.random() < 0.6:
                holder = holder[key]
                continue
            roll = dice.random()
            if roll < 0.75:
                holder[key] = deepcopy(dice.choice(ODD))
            elif roll < 0.9 and isinstance(holder, dict):
                del holder[key]
            elif isinstance(holder, dict):
                other = dice.choice([name for seed in SEEDS for name in seed])
                holder[other] = holder.pop(key)
            break
    return table


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("configs")


@examples(300)
@given(table=st.sampled_from(SEEDS), dice=st.randoms(use_true_random=False))
def test_a_spoilt_config_is_read_or_refused_and_nothing_else(folder, table, dice):
    path = written(folder, mutated(table, dice))
    try:
        found = models.inspect(path, {})
    except DocumentError as problem:
        line = str(problem)
    else:
        line = json.dumps(found, ensure_ascii=False)
        assert all(size > 0 for sizes in found["kv_bytes"].values() for size in sizes.values())
        assert found["kv_bytes"]["bf16"]["1024"] <= found["kv_bytes"]["bf16"]["131072"]
    assert line.isprintable()
    assert line.encode()


def test_the_seeds_themselves_are_read(tmp_path):
    for table in SEEDS:
        assert inspected(tmp_path, table)["layers"]
