"""What is refused, and that the one line names the field or the keys that were not understood."""

from __future__ import annotations

import json

import pytest

from planner.documents.errors import DocumentError
from planner.importers import models
from tests.importers.configs import config, inspected, refused

MLA = {"kv_lora_rank": 512, "qk_rope_head_dim": 64}


@pytest.mark.parametrize(
    ("model_type", "architecture"),
    [
        ("bert", "BertModel"),
        ("roberta", "RobertaForMaskedLM"),
        ("xlm-roberta", "XLMRobertaModel"),
        ("brand_new", "NewForMaskedLM"),
    ],
)
def test_encoders_are_refused_as_such(tmp_path, model_type, architecture):
    assert "is an encoder" in refused(tmp_path, config(model_type, architectures=[architecture]))


@pytest.mark.parametrize("changes", [{"model_type": "bart"}, {"is_encoder_decoder": True}, {"model_type": "whisper"}])
def test_encoder_decoders_are_refused_as_such(tmp_path, changes):
    assert "is an encoder-decoder" in refused(tmp_path, config(**changes))


def test_an_encoder_decoder_is_refused_although_its_text_part_looks_like_a_decoder(tmp_path):
    table = {"model_type": "florence2", "is_encoder_decoder": True, "text_config": config()}
    assert "is an encoder-decoder" in refused(tmp_path, table)


@pytest.mark.parametrize("model_type", ["rwkv", "rwkv7", "recurrent_gemma", "retnet", "samba", "gla", "xlstm"])
def test_what_no_engine_serves_is_refused_with_a_reason(tmp_path, model_type):
    message = refused(tmp_path, config(model_type, lru_width=4))
    assert repr(model_type) in message
    assert "neither by vLLM 0.33 nor by SGLang 0.5" in message
    assert "lru_width" in message


def test_an_unknown_model_type_is_refused_with_its_keys_and_the_way_out(tmp_path):
    message = refused(tmp_path, config("brand_new"))
    assert message.startswith("model_type: 'brand_new'")
    assert "num_key_value_heads" in message
    assert "architecture: may be chosen as gqa" in message


@pytest.mark.parametrize(
    "changes", [MLA, {"mamba_d_state": 16}, {"architectures": ["BrandNewForConditionalGeneration"]}]
)
def test_the_way_out_is_not_offered_to_what_is_no_plain_gqa(tmp_path, changes):
    message = refused(tmp_path, config("brand_new", **changes))
    assert "'brand_new'" in message
    assert "gqa" not in message


def test_a_file_without_model_type_and_class_is_refused(tmp_path):
    assert "model_type: is missing" in refused(tmp_path, {"tokenizer_class": "LlamaTokenizer"})
    assert "model_type: is missing" in refused(tmp_path, {})


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        (MLA, "kv_lora_rank"),
        ({"linear_attn_config": {"kda_layers": [1]}}, "linear_attn_config"),
        ({"compress_ratios": [4, 4, 4, 4]}, "compress_ratios"),
        ({"hybrid_override_pattern": "M*M*"}, "hybrid_override_pattern"),
        ({"num_kv_shared_layers": 2}, "num_kv_shared_layers"),
        ({"per_layer_config": {"0": {"head_dim": 2}}}, "per_layer_config"),
        ({"attention_chunk_size": 128}, "attention_chunk_size"),
        ({"full_attention_interval": 4}, "full_attention_interval"),
    ],
)
def test_keys_of_other_architectures_in_a_known_one_are_refused_by_name(tmp_path, changes, key):
    message = refused(tmp_path, config(**changes))
    assert key in message
    assert "unread_keys=ignore" in message
    assert inspected(tmp_path, config(**changes), unread_keys="ignore")["kv_bytes"]
    assert inspected(tmp_path, config(**dict.fromkeys(changes)))["kv_bytes"]


@pytest.mark.parametrize(
    "key",
    [
        *("kv_heads", "num_kv_head", "nb_kv_heads", "key_value_heads", "num_heads_kv", "attention.head_count_kv"),
        *("num_gqa_groups", "query_group", "kv_head_dim", "attention_head_size", "dim_head", "v_head_dim", "d_kv"),
        *("hidden_size_per_attention_head", "dim_per_head", "kv_dim", "k_head_dim", "numKeyValueHeads", "use_mqa"),
    ],
)
def test_a_key_that_looks_like_heads_under_a_name_that_no_model_has_is_refused(tmp_path, key):
    table = config(num_key_value_heads=..., **{key: 2})
    assert refused(tmp_path, table).startswith(f"unread_keys: {key}: may change what layers keep")
    assert inspected(tmp_path, table, unread_keys="ignore")["kv_bytes"]


def test_such_a_key_is_refused_among_those_of_attention_too(tmp_path):
    table = config("mpt", num_key_value_heads=..., attn_config={"kv_heads": 2, "attn_impl": "torch"})
    assert "attn_config.kv_heads: may change what layers keep" in refused(tmp_path, table)


@pytest.mark.parametrize(
    ("model_type", "keys"),
    [
        ("nemotron_h", ["hybrid_override_pattern", "layers_block_type"]),
        ("jamba", ["attn_layer_period"]),
        ("qwen3_next", ["layer_types", "full_attention_interval"]),
        ("qwen3_5_moe_text", ["layer_types", "full_attention_interval"]),
        ("olmo_hybrid", ["layer_types"]),
        ("kimi_linear", ["linear_attn_config", "layer_types"]),
        ("minimax_m1", ["attn_type_list", "layer_types"]),
        ("bailing_hybrid", ["layer_group_size"]),
        ("lfm2_moe", ["layer_types", "full_attn_idxs"]),
        ("bamba", ["attn_layer_indices"]),
        ("granitemoehybrid", ["layer_types"]),
        ("zamba2", ["layers_block_type", "hybrid_layer_ids"]),
        ("mimo_v2_flash", ["hybrid_layer_pattern"]),
        ("step3p5", ["layer_types"]),
        ("deepseek_v4", ["compress_ratios"]),
        ("laguna", ["layer_types"]),
        ("nemotron-nas", ["block_configs"]),
        ("deepseek_v3", ["kv_lora_rank"]),
        ("deepseek_v32", ["kv_lora_rank"]),
    ],
)
def test_a_file_that_does_not_say_its_layers_is_refused_with_the_missing_keys(tmp_path, model_type, keys):
    message = refused(tmp_path, config(model_type, mamba_d_state=16))
    assert "is missing" in message
    assert all(key in message for key in keys), message


GDN_KEYS = [
    "linear_num_key_heads",
    "linear_num_value_heads",
    "linear_key_head_dim",
    "linear_value_head_dim",
    "linear_conv_kernel_dim",
]


@pytest.mark.parametrize("missing", GDN_KEYS)
def test_a_state_of_unknown_shape_is_refused_with_the_missing_key(tmp_path, missing):
    table = config("qwen3_next", full_attention_interval=2, **{key: 4 for key in GDN_KEYS if key != missing})
    assert refused(tmp_path, table).startswith(f"{missing}: is missing")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"num_hidden_layers": 10**6}, ["num_hidden_layers", "1000000", "from 1 to 10,000"]),
        ({"num_hidden_layers": 0}, ["num_hidden_layers: 0", "from 1 to 10,000"]),
        ({"num_hidden_layers": -32}, ["num_hidden_layers: -32"]),
        ({"num_hidden_layers": "32"}, ["num_hidden_layers: '32'", "whole number"]),
        ({"num_hidden_layers": 32.0}, ["num_hidden_layers: 32.0", "whole number"]),
        ({"num_hidden_layers": True}, ["num_hidden_layers: True", "whole number"]),
        ({"num_hidden_layers": [32]}, ["num_hidden_layers: [32]", "whole number"]),
        ({"num_hidden_layers": ...}, ["num_hidden_layers: is missing"]),
        ({"num_key_value_heads": 10**300}, ["num_key_value_heads", "1,000,000"]),
        ({"num_key_value_heads": 16}, ["num_key_value_heads: 16", "at most the 8 query heads"]),
        ({"num_key_value_heads": 3}, ["num_key_value_heads: 3", "must divide the 8 query heads"]),
        ({"num_layers": 5}, ["num_layers: 5", "contradicts num_hidden_layers, 4"]),
        ({"n_head_kv": 4}, ["n_head_kv: 4", "contradicts num_key_value_heads, 2"]),
        ({"head_dim": float("nan")}, ["head_dim: nan", "whole number"]),
        ({"head_dim": float("inf")}, ["head_dim: inf", "whole number"]),
        ({"head_dim": 0}, ["head_dim: 0"]),
        ({"num_query_groups": 4}, ["num_query_groups: 4", "contradicts num_key_value_heads, 2"]),
        ({"group_query_attention": False}, ["group_query_attention: False", "contradicts 2 KV heads for 8"]),
        ({"hidden_size": 513, "head_dim": ...}, ["hidden_size: 513", "multiple of 8 heads"]),
        ({"num_attention_heads": 0}, ["num_attention_heads: 0"]),
        ({"max_position_embeddings": -1}, ["max_position_embeddings: -1"]),
        ({"model_type": ["llama"]}, ["model_type", "must be text"]),
        ({"architectures": [7]}, ["architectures: 7"]),
        ({"layer_types": ["full_attention"] * 3}, ["layer_types", "3 entries for 4 layers"]),
        ({"layer_types": ["full_attention"] * 5}, ["layer_types", "5 entries for 4 layers"]),
        ({"layer_types": ["full_attention"] * 100_000}, ["layer_types", "100,000 entries"]),
        ({"layer_types": ["full_attention"] * 3 + ["warp"]}, ["layer_types.3: 'warp'", "sliding_attention"]),
        ({"layer_types": [None] * 4}, ["layer_types.0", "no kind of layer"]),
        ({"layer_types": [{}] * 4}, ["layer_types.0", "no kind of layer"]),
        ({"layer_types": "full_attention"}, ["layer_types", "must be a list"]),
        ({"layer_types": ["linear_attention"] * 4}, ["layer_types", "recurrent at layer 0"]),
        ({"layer_types": ["sliding_attention"] * 4}, ["sliding_window: is missing"]),
        ({"layer_types": ["sliding_attention"] * 4, "sliding_window": 0}, ["sliding_window: 0", "must be positive"]),
        ({"sliding_window": 128}, ["windowed_layers: must be window or full"]),
        ({"multi_query": "yes"}, ["multi_query: 'yes'", "true or false"]),
        ({"attn_config": [1]}, ["attn_config", "must be a table"]),
    ],
)
def test_wrong_figures_are_refused_by_name(tmp_path, changes, words):
    message = refused(tmp_path, config(**changes))
    assert all(word in message for word in words), message


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (config("exaone4", sliding_window=128, sliding_window_pattern="LXG"), ["sliding_window_pattern: 'LXG'"]),
        (config("exaone4", sliding_window=128, sliding_window_pattern=""), ["sliding_window_pattern"]),
        (config("nemotron_h", hybrid_override_pattern="M*X-"), ["hybrid_override_pattern: 'X'"]),
        (config("nemotron_h", hybrid_override_pattern="M*"), ["2 letters for 4 layers"]),
        (config("nemotron_h", hybrid_override_pattern="M" * 100_000), ["100,000 letters"]),
        (config("deepseek_v4", compress_ratios=[4, 4, 4, 16]), ["compress_ratios.3: 16", "0, 4 or 128"]),
        (
            config("deepseek_v4", compress_ratios=[4] * 4, head_dim=256, qk_rope_head_dim=64, index_head_dim=128),
            ["head_dim: 256", "512 with 64"],
        ),
        (
            config("deepseek_v4", layer_types=["compressed_sparse_attention"] * 4, compress_rates={"x": 2}),
            ["compress_rates.x"],
        ),
        (config("deepseek_v4", layer_types=["full_attention"] * 4), ["layer_types.0"]),
        (
            config("kimi_linear", linear_attn_config={"full_attn_layers": [0], "kda_layers": [1, 2, 3]}, **MLA),
            ["linear_attn_config.full_attn_layers", "1 to 4"],
        ),
        (config("kimi_linear", linear_attn_config={"full_attn_layers": [4], "kda_layers": [1, 2]}, **MLA), ["1 to 4"]),
        (
            config("jamba", attn_layer_period=4, attn_layer_offset=4),
            ["attn_layer_offset: 4", "less than the period, 4"],
        ),
        (
            config("glm_moe_dsa", index_head_dim=128, indexer_types=["full"] * 3 + ["none"], **MLA),
            ["indexer_types.3: 'none'"],
        ),
        (
            config("minimax_m1", attn_type_list=[0] * 4, hidden_size=4, head_dim=...),
            ["hidden_size: 4", "multiple of 8 heads"],
        ),
        (
            config("bamba", attn_layer_indices=[1], mamba_d_head="auto", mamba_n_heads=3, mamba_expand=2),
            ["mamba_n_heads"],
        ),
        (config("lfm2", conv_L_cache=3, full_attn_idxs=[4]), ["full_attn_idxs.0: 4"]),
        (
            config("mamba2", num_heads=3, head_dim=16, state_size=4, n_groups=1, conv_kernel=4, expand=2),
            ["num_heads: 3"],
        ),
        (
            config("gemma3n_text", num_kv_shared_layers=4, sliding_window=8),
            ["num_kv_shared_layers: 4", "none of 4 layers"],
        ),
        (
            config("gemma4_text", sliding_window=8, per_layer_config={"9": {}}),
            ["per_layer_config.9", "none of 4 layers"],
        ),
        (config("nemotron-nas", block_configs=[1] * 4), ["block_configs.0.block"]),
        (
            config("qwen3_next", full_attention_interval=2, mamba_ssm_dtype="int8", **dict.fromkeys(GDN_KEYS, 4)),
            ["mamba_ssm_dtype: 'int8'"],
        ),
        (config("mistral", layer_types=["full_attention"] * 3 + ["conv"]), ["short convolution at layer 3"]),
        (config("deepseek_v3", layer_types=["sliding_attention"] * 4, **MLA), ["layer_types"]),
    ],
)
def test_wrong_layouts_are_refused_by_name(tmp_path, table, words):
    message = refused(tmp_path, table)
    assert all(word in message for word in words), message


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"kv_dtype": "fp4"}, ["kv_dtype: 'fp4'", "bf16, fp8"]),
        ({"nonsense": "1"}, ["nonsense: '1'", "no choice for this file", "kv_dtype"]),
        ({"state_dtype": "float32"}, ["state_dtype", "no choice for this file"]),
        ({"architecture": "gqa"}, ["architecture", "no choice for this file"]),
        ({"num_hidden_layers": "9"}, ["num_hidden_layers", "no choice for this file"]),
        ({"name": "no good name"}, ["name"]),
    ],
)
def test_choices_that_are_not_open_are_refused(tmp_path, choices, words):
    message = refused(tmp_path, config(), **choices)
    assert all(word in message for word in words), message


@pytest.mark.parametrize("value", ["float16", "", "Float32"])
def test_a_wrong_dtype_of_the_state_names_those_allowed(tmp_path, value):
    table = config("minimax_m1", attn_type_list=[0, 0, 0, 1])
    assert "must be one of float32, bf16" in refused(tmp_path, table, state_dtype=value)


def test_the_state_of_kda_is_float32_in_every_engine(tmp_path):
    inner = {
        "full_attn_layers": [4],
        "kda_layers": [1, 2, 3],
        "num_heads": 2,
        "head_dim": 16,
        "short_conv_kernel_size": 4,
    }
    table = config("kimi_linear", linear_attn_config=inner, **MLA)
    assert "must be float32" in refused(tmp_path, table, state_dtype="bf16")


def test_a_wrong_architecture_names_the_one_allowed(tmp_path):
    assert "architecture: 'mla' must be one of gqa" in refused(tmp_path, config("brand_new"), architecture="mla")


def test_a_missing_figure_that_is_given_wrongly_is_refused(tmp_path):
    for value in ("many", "-1", "1e3", "99999", "9" * 400):
        assert "num_hidden_layers" in refused(tmp_path, config(num_hidden_layers=...), num_hidden_layers=value)


def test_a_model_that_only_embeds_is_refused_when_somebody_says_so(tmp_path):
    assert "task: 'pooling'" in refused(tmp_path, config(is_causal=False), task="pooling")


def test_more_kinds_of_layers_than_the_catalogue_takes_are_refused(tmp_path):
    blocks = [{"attention": {"n_heads_in_group": 1}}] * 300
    table = config("gemma4_text", num_hidden_layers=300, sliding_window=8, num_key_value_heads=1, block=blocks)
    table["per_layer_config"] = {str(layer): {"head_dim": layer + 1} for layer in range(300)}
    del table["block"]
    assert "more than 200 kinds of layers" in refused(tmp_path, table)


# --- files -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", ["is empty"]),
        ("null", ["must be a table of fields"]),
        ("[1, 2]", ["must be a table of fields", "list"]),
        ("model_type: llama\nnum_hidden_layers: 4\n", ["line 1", "is no JSON"]),
        ('{"model_type": "llama",\n "num_hidden_layers": }', ["line 2", "is no JSON"]),
        ('{"model_type": "llama"', ["is no JSON"]),
        ('{"model_type": "llama", "model_type": "qwen3"}', ["'model_type' twice"]),
        ('{"text_config": {"a": 1, "a": 2}}', ["'a' twice"]),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", ["nested too deep"]),
        ('{"model_type": "llama", "num_hidden_layers": ' + "9" * 5000 + "}", ["thousands of digits"]),
        (b"\xff\xfe{\x00}", ["UTF-16"]),
        (b"\x80\x81\x82", ["is not UTF-8"]),
        (b'{"model_type": "ll\x00ama"}', ["NUL byte"]),
        (b"PK\x03\x04rubbish", ["ZIP"]),
    ],
)
def test_files_that_are_no_config_are_refused_in_one_line(tmp_path, content, words):
    message = refused(tmp_path, content)
    assert all(word in message for word in words), message


def test_a_file_of_more_than_16_mib_is_refused(tmp_path):
    assert "longer than 16 MiB" in refused(tmp_path, '{"a": "' + "x" * (16 * 2**20) + '"}')
    assert "larger than 16 MiB" in refused(tmp_path, "[" + "1,\n" * (6 * 2**20) + "1]")


def test_a_file_that_is_not_there_is_refused(tmp_path):
    for path in (tmp_path / "nothing.json", tmp_path):
        with pytest.raises(DocumentError):
            models.inspect(path, {})


def test_broken_unicode_is_refused_wherever_it_stands(tmp_path):
    assert "has broken Unicode" in refused(tmp_path, config("llama", _name_or_path="\ud800"))


@pytest.mark.parametrize("text", ["a\nb", "\x1b[31m", "x" * 10_000, "𝕏"])
def test_odd_text_reaches_no_message_and_no_document(tmp_path, text):
    table = config("brand_new", architectures=[f"{text}ForCausalLM"], _name_or_path=text)
    table["model_type"] = text
    assert refused(tmp_path, table).isprintable()
    found = inspected(tmp_path, table, architecture="gqa")
    assert json.dumps(found, ensure_ascii=False).encode()
    assert len(found["model_type"]) <= 200
