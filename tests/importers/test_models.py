"""Configs of every architecture, small and made here; what layers keep follows from the shapes by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planner.importers import models
from tests.importers.configs import chosen, config, groups, inspected, written

NO_KV_HEADS = {"num_key_value_heads": ...}
GDN = {
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 32,
    "linear_conv_kernel_dim": 4,
}
MLA = {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "q_lora_rank": None, "v_head_dim": 128, "qk_nope_head_dim": 128}
MAMBA2 = {
    "mamba_n_heads": 8,
    "mamba_d_head": 128,
    "mamba_d_state": 16,
    "mamba_d_conv": 4,
    "mamba_expand": 2,
    "mamba_n_groups": 1,
}
SLIDING, FULL, LINEAR = "sliding_attention", "full_attention", "linear_attention"


def per_token(found: dict[str, Any]) -> int:
    return int(found["block_level_bytes_per_token"])


def windows(found: dict[str, Any]) -> list[tuple[int, int]]:
    return [(each["bytes_per_token"], each["window_tokens"]) for each in found["parts"]["bf16"]["windows"]]


def layers(found: list[dict[str, Any]]) -> list[tuple[str, int, float | None]]:
    return [(each.get("mechanism") or each["kind"], each["layers"], each.get("window_tokens")) for each in found]


# --- heads -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "elements"),
    [
        ({}, 2 * (64 + 64)),
        ({"head_dim": 100}, 2 * (100 + 100)),
        ({"head_dim": None}, 2 * (64 + 64)),
        (NO_KV_HEADS, 8 * (64 + 64)),
        ({"num_key_value_heads": None}, 8 * (64 + 64)),
        ({"use_cache": False}, 2 * (64 + 64)),
        ({"sliding_window": None}, 2 * (64 + 64)),
    ],
)
def test_the_heads_of_a_llama_are_read_as_engines_read_them(tmp_path, changes, elements):
    assert per_token(inspected(tmp_path, config(**changes))) == 4 * elements * 2


@pytest.mark.parametrize(
    ("table", "elements"),
    [
        ({"model_type": "gpt2", "n_layer": 3, "n_head": 4, "n_embd": 64, "n_positions": 1024}, 3 * 4 * 2 * 16),
        ({"model_type": "gpt_bigcode", "n_layer": 3, "n_head": 4, "n_embd": 64, "multi_query": True}, 3 * 1 * 2 * 16),
        (
            {
                "model_type": "falcon",
                "num_hidden_layers": 2,
                "num_attention_heads": 8,
                "hidden_size": 64,
                "multi_query": True,
                "num_kv_heads": 4,
                "new_decoder_architecture": True,
            },
            2 * 4 * 2 * 8,
        ),
        (
            {
                "model_type": "falcon",
                "num_hidden_layers": 2,
                "num_attention_heads": 8,
                "hidden_size": 64,
                "multi_query": True,
                "num_kv_heads": 8,
            },
            2 * 1 * 2 * 8,
        ),
        (
            {
                "model_type": "chatglm",
                "num_layers": 2,
                "num_attention_heads": 8,
                "hidden_size": 64,
                "kv_channels": 16,
                "multi_query_attention": True,
                "multi_query_group_num": 2,
                "seq_length": 8192,
            },
            2 * 2 * 2 * 16,
        ),
        (
            {"model_type": "dbrx", "n_layers": 2, "n_heads": 8, "d_model": 64, "attn_config": {"kv_n_heads": 2}},
            2 * 2 * 2 * 8,
        ),
        (
            {"model_type": "mpt", "n_layers": 2, "n_heads": 8, "d_model": 64, "attn_config": {"attn_type": "x"}},
            2 * 8 * 2 * 8,
        ),
        (
            {
                "model_type": "mpt",
                "n_layers": 2,
                "n_heads": 8,
                "d_model": 64,
                "attn_config": {"attn_type": "multiquery_attention"},
            },
            2 * 1 * 2 * 8,
        ),
    ],
    ids=lambda table: table.get("model_type") if isinstance(table, dict) else "",
)
def test_older_names_of_the_same_figures_are_understood(tmp_path, table, elements):
    assert per_token(inspected(tmp_path, table)) == elements * 2


def test_nemotron_nas_has_its_heads_block_by_block(tmp_path):
    def block(in_group: int | None, **attention: Any) -> dict[str, Any]:
        return {"attention": {"n_heads_in_group": in_group, "no_op": False, "replace_with_linear": False, **attention}}

    blocks = [block(2), block(4), block(None, no_op=True), block(None, replace_with_linear=True)]
    found = inspected(tmp_path, config("nemotron-nas", block_configs=blocks, **{"num_key_value_heads": None}))
    assert per_token(found) == (4 + 2) * 2 * 64 * 2


# --- windows -----------------------------------------------------------------------------------------------------

ONE = 2 * (64 + 64) * 2
"""Bytes a token of one of the small layers."""


@pytest.mark.parametrize(
    ("model_type", "changes", "whole", "windowed"),
    [
        ("mistral", {"sliding_window": 4096}, 0, 4),
        ("mistral", {"sliding_window": None}, 4, 0),
        ("mixtral", {"sliding_window": 4096}, 0, 4),
        ("phi3", {"sliding_window": 131072}, 4, 0),
        ("starcoder2", {"sliding_window": 4096, "use_sliding_window": False}, 4, 0),
        ("qwen2", {"sliding_window": 4096, "use_sliding_window": False, "max_window_layers": 2}, 4, 0),
        ("qwen2", {"sliding_window": 4096, "use_sliding_window": True, "max_window_layers": 3}, 3, 1),
        ("qwen2_moe", {"sliding_window": 0, "use_sliding_window": True}, 4, 0),
        ("gemma2", {"sliding_window": 4096}, 2, 2),
        ("gpt_oss", {"sliding_window": 4096}, 2, 2),
        ("gemma3_text", {"sliding_window": 4096, "sliding_window_pattern": 4}, 1, 3),
        ("gemma3_text", {"sliding_window": 4096, "_sliding_window_pattern": 2}, 2, 2),
        ("cohere2", {"sliding_window": 4096}, 1, 3),
        ("cohere2", {"sliding_window": 4096, "sliding_window_pattern": 2}, 2, 2),
        ("exaone4", {"sliding_window": 4096, "sliding_window_pattern": "LLLG"}, 1, 3),
        ("exaone4", {"sliding_window": 4096, "sliding_window_pattern": "LG"}, 2, 2),
        ("exaone4", {"sliding_window": 4096, "sliding_window_pattern": "LLL"}, 1, 3),
        ("exaone4", {"sliding_window": None, "sliding_window_pattern": None}, 4, 0),
        ("afmoe", {"sliding_window": 4096, "global_attn_every_n_layers": 2}, 2, 2),
        ("olmo3", {"sliding_window": 4096, "layer_types": [SLIDING, FULL, FULL, FULL]}, 3, 1),
        ("qwen3", {"sliding_window": 4096, "layer_types": [FULL, FULL, FULL, SLIDING]}, 3, 1),
        ("laguna", {"sliding_window": 4096, "layer_types": [FULL, SLIDING] * 2}, 2, 2),
        ("minimax_m2", {"attn_type_list": [1, 1, 1, 1]}, 4, 0),
    ],
)
def test_the_layers_with_a_window_are_those_of_the_class(tmp_path, model_type, changes, whole, windowed):
    found = inspected(tmp_path, config(model_type, **changes))
    assert per_token(found) == whole * ONE
    assert windows(found) == ([(windowed * ONE, 4096)] if windowed else [])
    assert ("windowed_layers" in chosen(found)) == bool(windowed)
    assert found["request_level_bytes"] == windowed * ONE * 4096


def test_a_window_in_a_class_without_windows_is_asked_for_and_never_guessed(tmp_path):
    table = config(sliding_window=4096)
    assert windows(inspected(tmp_path, table, windowed_layers="window")) == [(4 * ONE, 4096)]
    assert per_token(inspected(tmp_path, table, windowed_layers="full")) == 4 * ONE


def test_llama_4_sees_chunks_where_it_has_rotary_positions(tmp_path):
    table = config("llama4_text", attention_chunk_size=8192, no_rope_layers=[1, 0, 1, 1])
    assert windows(inspected(tmp_path, table)) == [(3 * ONE, 8192)]
    table = config("llama4_text", attention_chunk_size=8192, no_rope_layers=[], no_rope_layer_interval=2)
    assert windows(inspected(tmp_path, table)) == [(2 * ONE, 8192)]
    assert windows(inspected(tmp_path, config("llama4_text", attention_chunk_size=None, no_rope_layers=[1] * 4))) == []


def test_gemma_4_has_other_heads_in_global_layers_and_caches_keys_and_values_both(tmp_path):
    table = config(
        "gemma4_text",
        head_dim=64,
        sliding_window=512,
        layer_types=[SLIDING, SLIDING, SLIDING, FULL],
        global_head_dim=128,
        num_global_key_value_heads=1,
        attention_k_eq_v=True,
    )
    found = inspected(tmp_path, table)
    assert (per_token(found), windows(found)) == (1 * (128 + 128) * 2, [(3 * ONE, 512)])
    found = inspected(tmp_path, table | {"attention_k_eq_v": False})
    assert per_token(found) == 2 * (128 + 128) * 2


def test_layers_that_share_the_cache_of_earlier_ones_keep_nothing(tmp_path):
    table = config("gemma3n_text", head_dim=64, sliding_window=512, layer_types=[SLIDING, FULL, SLIDING, FULL])
    assert per_token(inspected(tmp_path, table | {"num_kv_shared_layers": 2})) == ONE
    assert windows(inspected(tmp_path, table | {"num_kv_shared_layers": 2})) == [(ONE, 512)]
    assert per_token(inspected(tmp_path, table | {"num_kv_shared_layers": 0})) == 2 * ONE


def test_single_layers_may_have_a_shape_of_their_own(tmp_path):
    table = config("gemma4_text", head_dim=64, sliding_window=512, layer_types=[SLIDING, FULL] * 2, global_head_dim=64)
    table["per_layer_config"] = {"03": {"head_dim": 128, "num_key_value_heads": 1}}
    found = inspected(tmp_path, table)
    assert per_token(found) == ONE + 1 * (128 + 128) * 2


def test_mimo_v2_has_other_heads_in_windows_and_values_smaller_than_keys(tmp_path):
    table = config(
        "mimo_v2_flash",
        head_dim=192,
        v_head_dim=128,
        sliding_window=128,
        hybrid_layer_pattern=[0, 1, 1, 1],
        swa_num_key_value_heads=4,
        swa_head_dim=96,
        swa_v_head_dim=64,
    )
    found = inspected(tmp_path, table)
    assert per_token(found) == 2 * (192 + 128) * 2
    assert windows(found) == [(3 * 4 * (96 + 64) * 2, 128)]


def test_step_3_5_says_its_heads_elsewhere_and_lists_layers_that_only_predict(tmp_path):
    table = config(
        "step3p5",
        num_key_value_heads=...,
        num_attention_groups=2,
        head_dim=64,
        sliding_window=512,
        attention_other_setting={"num_attention_groups": 4, "num_attention_heads": 96, "head_dim": 64},
        layer_types=[FULL, SLIDING, SLIDING, SLIDING, SLIDING, SLIDING, SLIDING],
    )
    found = inspected(tmp_path, table)
    assert (per_token(found), windows(found)) == (ONE, [(3 * 2 * ONE, 512)])
    assert any("3 entries for layers of multi-token prediction" in note for note in found["notes"])


# --- latent ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model_type", ["deepseek_v2", "deepseek_v3", "kimi_k2", "glm4_moe_lite"])
def test_mla_ignores_kv_heads_and_a_null_q_lora_rank(tmp_path, model_type):
    found = inspected(tmp_path, config(model_type, head_dim=64, num_nextn_predict_layers=1, **MLA))
    assert per_token(found) == 4 * 576 * 2
    assert found["parts"]["fp8"]["block_level_bytes_per_token"] == 4 * 576
    assert any("multi-token prediction" in note for note in found["notes"])


def test_longcat_has_mla_twice_a_layer(tmp_path):
    table = config("longcat_flash", num_hidden_layers=..., num_layers=4, **MLA)
    assert per_token(inspected(tmp_path, table)) == 8 * 576 * 2


def test_a_deepseek_without_mla_is_plain_attention(tmp_path):
    assert per_token(inspected(tmp_path, config("deepseek_v2", kv_lora_rank=None, use_mla=False))) == 4 * ONE


@pytest.mark.parametrize("model_type", ["deepseek_v32", "glm_moe_dsa"])
def test_sparse_attention_keeps_index_keys_in_fp8_beside(tmp_path, model_type):
    found = inspected(tmp_path, config(model_type, index_head_dim=128, index_n_heads=32, index_topk=2048, **MLA))
    assert per_token(found) == 4 * (576 * 2 + 132)
    assert found["parts"]["fp8"]["block_level_bytes_per_token"] == 4 * (656 + 132)


def test_layers_that_share_an_index_keep_none_unless_somebody_says_so(tmp_path):
    table = config("glm_moe_dsa", index_head_dim=128, indexer_types=["full", "shared", "shared", "full"], **MLA)
    assert per_token(inspected(tmp_path, table)) == 4 * 576 * 2 + 2 * 132
    assert per_token(inspected(tmp_path, table, shared_index_layers="own index")) == 4 * (576 * 2 + 132)


V4 = {"head_dim": 512, "qk_rope_head_dim": 64, "index_head_dim": 128, "sliding_window": 128, "num_key_value_heads": 1}


@pytest.mark.parametrize(
    "layout",
    [
        {"compress_ratios": [0, 128, 4, 4, 0], "num_nextn_predict_layers": 1},
        {
            "layer_types": [
                "sliding_attention",
                "heavily_compressed_attention",
                "compressed_sparse_attention",
                "compressed_sparse_attention",
            ],
            "compress_rates": {"compressed_sparse_attention": 4, "heavily_compressed_attention": 128},
        },
    ],
)
def test_deepseek_v4_packs_entries_layer_by_layer(tmp_path, layout):
    found = inspected(tmp_path, config("deepseek_v4", **V4, **layout))
    assert found["block_level_bytes_per_token"] == 2 * (584 + 132) / 4 + 584 / 128
    assert found["parts"]["bf16"] == found["parts"]["fp8"]
    assert found["parts"]["bf16"]["state_bytes"] == 2 * 81_920 + 524_288
    assert windows(found) == [(4 * 584, 128)]


# --- recurrent ---------------------------------------------------------------------------------------------------

GDN_STATE = 4 * 32 * 16 * 4 + (2 * 2 * 16 + 4 * 32) * 3 * 2


@pytest.mark.parametrize("model_type", ["qwen3_next", "qwen3_5_text", "qwen3_5_moe_text", "olmo_hybrid"])
def test_gated_delta_nets_come_from_the_list_or_the_interval(tmp_path, model_type):
    interval = inspected(tmp_path, config(model_type, full_attention_interval=2, **GDN))
    assert (per_token(interval), interval["request_level_bytes"]) == (2 * ONE, 2 * GDN_STATE)
    listed = inspected(tmp_path, config(model_type, layer_types=[LINEAR, LINEAR, LINEAR, FULL], **GDN))
    assert (per_token(listed), listed["request_level_bytes"]) == (ONE, 3 * GDN_STATE)


KIMI = config("kimi_linear", head_dim=72, **MLA)


def test_kimi_linear_counts_its_layers_from_1(tmp_path):
    inner = {"full_attn_layers": [4], "kda_layers": [1, 2, 3], "num_heads": 2, "head_dim": 16}
    table = KIMI | {"linear_attn_config": inner | {"short_conv_kernel_size": 4}}
    found = inspected(tmp_path, table)
    assert per_token(found) == 576 * 2
    assert found["request_level_bytes"] == 3 * (2 * 16 * 16 * 4 + 3 * 2 * 16 * 3 * 2)
    assert "state_dtype" not in chosen(found)
    newer = KIMI | {"linear_num_heads": 2, "linear_head_dim": 16, "linear_conv_kernel_dim": 4}
    same = inspected(tmp_path, newer | {"layer_types": [LINEAR, LINEAR, LINEAR, FULL]})
    assert same["kv_bytes"] == found["kv_bytes"]


@pytest.mark.parametrize("model_type", ["minimax_text_01", "minimax_m1", "minimax"])
def test_lightning_attention_keeps_heads_by_size_by_size_and_no_convolution(tmp_path, model_type):
    found = inspected(tmp_path, config(model_type, attn_type_list=[0, 0, 0, 1]))
    assert (per_token(found), found["request_level_bytes"]) == (ONE, 3 * 8 * 64 * 64 * 4)
    assert "conv_dtype" not in chosen(found)


def test_ring_2_5_has_mla_at_the_end_of_every_group_of_eight(tmp_path):
    table = config(
        "bailing_hybrid",
        num_hidden_layers=80,
        num_attention_heads=64,
        num_key_value_heads=64,
        hidden_size=8192,
        head_dim=128,
        layer_group_size=8,
        num_kv_heads_for_linear_attn=64,
        **MLA,
    )
    found = inspected(tmp_path, table)
    assert layers(found["layers"]) == [("latent", 10, None), ("lightning", 70, None)]
    assert found["kv_bytes"]["bf16"] == {
        "1024": 305397760,
        "8192": 387973120,
        "32768": 671088640,
        "131072": 1803550720,
    }


def test_layers_that_fill_no_group_are_a_choice_because_programs_differ(tmp_path):
    table = config("bailing_moe_linear", num_hidden_layers=5, layer_group_size=2, head_dim=64)
    assert layers(groups(tmp_path, table)) == [("attention", 2, None), ("lightning", 3, None)]
    assert layers(groups(tmp_path, table, last_layers="full")) == [("attention", 3, None), ("lightning", 2, None)]


def test_ring_with_a_short_convolution_is_kda(tmp_path):
    table = config("bailing_hybrid", layer_group_size=4, short_conv_kernel_size=4, head_dim=64, **MLA)
    assert layers(groups(tmp_path, table)) == [("latent", 1, None), ("kda", 3, None)]


@pytest.mark.parametrize("layout", [{"full_attn_idxs": [2]}, {"layer_types": ["conv", "conv", FULL, "conv"]}])
def test_lfm2_keeps_the_inputs_of_its_convolutions(tmp_path, layout):
    found = inspected(tmp_path, config("lfm2", conv_L_cache=3, **layout))
    assert (per_token(found), found["request_level_bytes"]) == (ONE, 3 * 2 * 512 * 2)


MAMBA2_STATE = 8 * 128 * 16 * 4 + (1024 + 2 * 16) * 3 * 2


@pytest.mark.parametrize(
    ("model_type", "layout", "whole", "recurring"),
    [
        ("bamba", {"attn_layer_indices": [1]}, 1, 3),
        ("granitemoehybrid", {"layer_types": ["mamba", "attention", "mamba", "mamba"]}, 1, 3),
        ("granitemoehybrid", {"layer_types": ["attention"] * 4}, 4, 0),
        ("granitemoehybrid", {"layers_block_type": ["mamba"] * 4}, 0, 4),
        ("falcon_h1", {}, 4, 4),
        ("falcon_h1", {"mamba_d_ssm": 1024, "mamba_expand": 9}, 4, 4),
    ],
)
def test_hybrids_with_mamba_2(tmp_path, model_type, layout, whole, recurring):
    found = inspected(tmp_path, config(model_type, **MAMBA2 | layout))
    assert (per_token(found), found["request_level_bytes"]) == (whole * ONE, recurring * MAMBA2_STATE)


def test_a_head_size_of_auto_is_the_inner_size_by_heads(tmp_path):
    table = config("bamba", attn_layer_indices=[1], **MAMBA2 | {"mamba_d_head": "auto"})
    assert inspected(tmp_path, table)["request_level_bytes"] == 3 * MAMBA2_STATE


def test_nemotron_h_has_a_letter_for_each_layer(tmp_path):
    shape = {"mamba_num_heads": 8, "mamba_head_dim": 16, "ssm_state_size": 32, "n_groups": 2, "conv_kernel": 4}
    table = config("nemotron_h", num_hidden_layers=5, hybrid_override_pattern="M*-EM", expand=2, **shape)
    found = inspected(tmp_path, table)
    state = 8 * 16 * 32 * 4 + (8 * 16 + 2 * 2 * 32) * 3 * 2
    assert (per_token(found), found["request_level_bytes"]) == (ONE, 2 * state)
    blocks = config("nemotron_h", num_hidden_layers=..., layers_block_type=["mamba", "attention", "mlp"], **shape)
    assert inspected(tmp_path, blocks)["request_level_bytes"] == state


def test_zamba2_shares_weights_and_not_caches(tmp_path):
    shape = {"n_mamba_heads": 8, "mamba_headdim": 128, "mamba_d_state": 16, "mamba_d_conv": 4, "mamba_ngroups": 1}
    table = config("zamba2", num_key_value_heads=8, mamba_expand=2, **shape)
    for layout in ({"layers_block_type": ["mamba", "hybrid", "mamba", "hybrid"]}, {"hybrid_layer_ids": [1, 3]}):
        found = inspected(tmp_path, table | layout)
        assert (per_token(found), found["request_level_bytes"]) == (2 * 8 * 2 * 128 * 2, 4 * MAMBA2_STATE)


def test_jamba_has_attention_once_a_period(tmp_path):
    shape = {"mamba_d_state": 16, "mamba_d_conv": 4, "mamba_expand": 2, "mamba_dt_rank": 256}
    found = inspected(tmp_path, config("jamba", attn_layer_period=4, attn_layer_offset=2, **shape))
    assert (per_token(found), found["request_level_bytes"]) == (ONE, 3 * (1024 * 16 * 4 + 1024 * 3 * 2))


@pytest.mark.parametrize("model_type", ["mamba", "falcon_mamba"])
def test_mamba_keeps_nothing_that_grows(tmp_path, model_type):
    table = {"model_type": model_type, "num_hidden_layers": 2, "hidden_size": 64, "expand": 2}
    found = inspected(tmp_path, table | {"state_size": 16, "conv_kernel": 4})
    assert (per_token(found), found["request_level_bytes"]) == (0, 2 * (128 * 16 * 4 + 128 * 3 * 2))
    assert found["kv_bytes"]["bf16"]["1024"] == found["kv_bytes"]["fp8"]["131072"] > 0


def test_mamba_2_alone_has_heads_and_groups(tmp_path):
    table = {"model_type": "mamba2", "num_hidden_layers": 2, "hidden_size": 64, "expand": 2, "num_heads": 8}
    found = inspected(tmp_path, table | {"head_dim": 16, "state_size": 32, "n_groups": 2, "conv_kernel": 4})
    assert found["request_level_bytes"] == 2 * (8 * 16 * 32 * 4 + (128 + 2 * 2 * 32) * 3 * 2)


# --- what a file leaves open -------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["mamba_ssm_dtype", "mamba_ssm_cache_dtype"])
def test_a_dtype_of_the_state_in_the_file_is_taken_and_can_still_be_changed(tmp_path, key):
    table = config("qwen3_next", full_attention_interval=4, **GDN, **{key: "bfloat16"})
    assert chosen(inspected(tmp_path, table))["state_dtype"] == "bf16"
    changed = inspected(tmp_path, table, state_dtype="float32")
    assert changed["request_level_bytes"] == 3 * GDN_STATE


def test_every_assumption_can_be_answered_with_what_it_says(tmp_path):
    tables = [
        config("qwen3_next", full_attention_interval=4, **GDN),
        config("gemma2", sliding_window=4096),
        config("bailing_moe_linear", num_hidden_layers=5, layer_group_size=2),
        {"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "sliding_window": 1024}},
        config("qwen3", is_causal=False),
    ]
    for table in tables:
        first = inspected(tmp_path, table)
        again = inspected(tmp_path, table, **chosen(first))
        assert again["kv_bytes"] == first["kv_bytes"]
        assert again["assumptions"] == first["assumptions"]


@pytest.mark.parametrize(
    "name", ["num_kv_heads", "n_kv_heads", "n_kv_head", "num_query_groups", "n_query_groups", "n_head_kv"]
)
def test_kv_heads_are_read_under_every_name_whose_meaning_is_certain(tmp_path, name):
    found = inspected(tmp_path, config(**NO_KV_HEADS, **{name: 2}))
    assert per_token(found) == 4 * ONE
    assert "num_key_value_heads" not in chosen(found)


@pytest.mark.parametrize("name", ["d_head", "head_size", "kv_channels"])
def test_the_size_of_a_head_is_read_under_every_name_whose_meaning_is_certain(tmp_path, name):
    assert per_token(inspected(tmp_path, config(head_dim=..., **{name: 96}))) == 4 * 2 * (96 + 96) * 2


@pytest.mark.parametrize("left_out", [NO_KV_HEADS, {"num_key_value_heads": None}])
def test_a_kv_head_for_each_query_head_is_an_assumption_that_can_be_changed(tmp_path, left_out):
    table = config(**left_out)
    (said,) = [each for each in inspected(tmp_path, table)["assumptions"] if each["field"] == "num_key_value_heads"]
    assert (said["value"], said["text"]) == ("8", "no key for KV heads: one for each query head")
    assert per_token(inspected(tmp_path, table, num_key_value_heads="2")) == 4 * ONE


def test_every_field_is_assumed_once_and_keeps_what_somebody_said(tmp_path):
    table = config("mistral", **NO_KV_HEADS)
    for choices in ({}, {"sliding_window": "1024", "num_key_value_heads": "4"}):
        found = inspected(tmp_path, table, **choices)
        fields = [each["field"] for each in found["assumptions"]]
        assert sorted(set(fields)) == sorted(fields)
        assert {name: chosen(found)[name] for name in choices} == choices
    assert windows(found) == [(2 * 4 * ONE, 1024)]


def test_what_transformers_leaves_out_of_a_nested_config_is_its_classes_and_said(tmp_path):
    table = {"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "num_hidden_layers": 6}}
    found = inspected(tmp_path, table)
    said = chosen(found)
    assert (said["num_key_value_heads"], said["head_dim"], said["sliding_window_pattern"]) == ("4", "256", "6")
    assert (per_token(found), windows(found)) == (4 * 2 * 256 * 2, [(5 * 4 * 2 * 256 * 2, 4096)])
    assert per_token(inspected(tmp_path, table, num_key_value_heads="8")) == 8 * 2 * 256 * 2
    shared = {"model_type": "gemma3n", "text_config": {"model_type": "gemma3n_text"}}
    assert sum(group["layers"] for group in groups(tmp_path, shared)) == 35 - 15
    assert sum(group["layers"] for group in groups(tmp_path, shared, num_kv_shared_layers="0")) == 35


def test_figures_that_the_file_lacks_can_be_given(tmp_path):
    table = config(num_hidden_layers=...)
    assert per_token(inspected(tmp_path, table, num_hidden_layers="4")) == 4 * ONE


def test_an_unknown_model_type_is_plain_gqa_when_somebody_says_so(tmp_path):
    table = config("brand_new", architectures=["BrandNewForCausalLM"])
    imported = models.read(written(tmp_path, table), {"architecture": "gqa"})
    assert imported.document["layers"] == [
        {"kind": "attention", "layers": 4, "kv_heads": 2, "key_dim": 64, "value_dim": 64}
    ]
    assert imported.document["provenance"]["layers"]["kind"] == "inferred"
    assert "architecture=gqa" in imported.document["provenance"]["layers"]["source"]


def test_a_file_without_a_model_type_is_known_by_its_class(tmp_path):
    table = config(architectures=["Qwen3MoeForCausalLM"])
    del table["model_type"]
    assert inspected(tmp_path, table)["model_type"] == "qwen3_moe"


@pytest.mark.parametrize(
    "name", ["text_config", "llm_config", "language_config", "thinker_config.text_config", "thinker_config"]
)
def test_the_text_part_is_found_where_multimodal_models_have_it(tmp_path, name):
    table: dict[str, Any] = config("qwen3", head_dim=64)
    for part in reversed(name.split(".")):
        table = {part: table}
    vision = {"num_hidden_layers": 27, "num_attention_heads": 16, "hidden_size": 1152, "model_type": "vision"}
    found = inspected(tmp_path, {"model_type": "whatever_vl", "vision_config": vision, **table})
    assert per_token(found) == 4 * ONE
    assert any(mapped["theirs"] == f"{name}.num_hidden_layers" for mapped in found["mapping"])


def test_lengths_beyond_the_models_positions_are_told(tmp_path):
    found = inspected(tmp_path, config(max_position_embeddings=8192))
    assert found["max_position_tokens"] == 8192
    assert found["lengths_over_max_position"] == [32768, 131072]
    assert any("more than the model's positions" in note for note in found["notes"])
    assert inspected(tmp_path, config("cohere", model_max_length=131072))["max_position_tokens"] == 131072


def test_infinity_and_nan_among_other_keys_do_not_matter(tmp_path):
    found = inspected(tmp_path, '{"time_step_limit": [0.0, Infinity], "x": NaN, "model_type": "gpt2", "n_layer": 1,'
                                '"n_head": 2, "n_embd": 8}')  # fmt: skip
    assert per_token(found) == 2 * 2 * 4 * 2


def test_a_name_and_a_title_can_be_chosen_and_are_made_otherwise(tmp_path):
    path = written(tmp_path, config(_name_or_path="some/Model-7B"), "Some--Model_7B_config.json")
    imported = models.read(path, {})
    assert (imported.document["name"], imported.document["title"]) == ("some-model-7b", "some/Model-7B")
    named = models.read(path, {"name": "mine", "title": "My own"})
    assert (named.document["name"], named.document["title"]) == ("mine", "My own")
    assert models.read(written(tmp_path, config(_name_or_path="some/Model-7B")), {}).document["name"] == "model-7b"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_any_encoding_with_a_mark_is_read(tmp_path, encoding):
    assert per_token(inspected(tmp_path, json.dumps(config()).encode(encoding))) == 4 * ONE


@pytest.mark.parametrize(
    ("model_type", "left_out", "per_token_bytes", "told"),
    [
        # 4 layers of 8 query heads in files of 512 dimensions: heads x size x 2 tensors x 2 bytes x layers
        ("llama", "num_key_value_heads", 8 * 64 * 16, {}),
        ("mixtral", "num_key_value_heads", 8 * 64 * 16, {"num_key_value_heads": "8"}),
        ("qwen3", "head_dim", 2 * 128 * 16, {"head_dim": "128"}),
        ("gemma", "head_dim", 2 * 256 * 16, {"head_dim": "256"}),
        ("falcon", "multi_query", 64 * 16, {"multi_query": "true"}),
        ("gpt_bigcode", "multi_query", 64 * 16, {"multi_query": "true"}),
    ],
)
def test_what_a_file_leaves_out_is_what_its_class_takes_and_said_so(
    tmp_path, model_type, left_out, per_token_bytes, told
):
    found = inspected(tmp_path, config(model_type, **{left_out: ...}))
    assert per_token(found) == per_token_bytes
    assumed = {each["field"]: each["value"] for each in found["assumptions"]}
    assert {name: assumed.get(name) for name in told} == told


def test_windows_that_a_file_leaves_out_are_those_of_its_class(tmp_path):
    assert groups(tmp_path, config("mistral"))[0]["window_tokens"] == 4096
    assert {group.get("window_tokens") for group in groups(tmp_path, config("gpt_oss"))} == {None, 128}


def test_what_a_class_takes_can_be_overruled(tmp_path):
    table = config("mixtral", num_key_value_heads=...)
    assert per_token(inspected(tmp_path, table, num_key_value_heads="4")) == 4 * 64 * 16
    assert per_token(inspected(tmp_path, config("falcon"), multi_query="false")) == 2 * 64 * 16


def test_blooms_first_files_name_their_width_in_their_own_way(tmp_path):
    table = config("bloom", hidden_size=..., num_attention_heads=..., num_key_value_heads=..., head_dim=...)
    found = inspected(tmp_path, table | {"n_embed": 512, "n_head": 8})
    assert per_token(found) == 8 * 64 * 16
