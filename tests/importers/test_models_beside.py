"""What a config says beside its layers: the longest prompt, the dtype of the KVCache, the class."""

from __future__ import annotations

import pytest

from tests.importers.configs import chosen, config, inspected, refused

MLA = {"kv_lora_rank": 512, "qk_rope_head_dim": 64}


# --- the longest prompt ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scaling", "longest"),
    [
        ({"rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}}, 131072),
        ({"rope_parameters": {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 32768}}, 131072),
        ({"rope_parameters": {"full_attention": {"rope_type": "yarn", "factor": 4}}}, 131072),
        ({"rope_scaling": {"rope_type": "linear", "factor": 2.0}}, 65536),
        ({"rope_scaling": {"rope_type": "dynamic", "factor": 2}}, 65536),
        ({"rope_scaling": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 4096}}, 32768),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 8, "original_max_position_embeddings": 8192}}, 32768),
        ({"rope_scaling": {"type": "longrope", "factor": 8}}, 32768),
        ({"rope_scaling": {"type": "su", "factor": 8}}, 32768),
        ({"rope_scaling": {"type": "yarn", "factor": None}}, 32768),
        ({"rope_scaling": {"mrope_section": [16, 24, 24], "type": "mrope"}}, 32768),
        ({"rope_scaling": None}, 32768),
    ],
)
def test_the_longest_prompt_is_what_vllm_derives_and_never_shorter_than_the_positions(tmp_path, scaling, longest):
    table = config(max_position_embeddings=32768, **scaling)
    found = inspected(tmp_path, table)
    assert found["max_position_tokens"] == longest
    assert any("as vLLM derives it" in note for note in found["notes"]) == (longest > 32768)
    if longest > 32768:
        assert chosen(found)["max_position_tokens"] == str(longest)
        assert inspected(tmp_path, table, max_position_tokens="32768")["max_position_tokens"] == 32768


def test_the_positions_of_gemma_3_are_scaled_already(tmp_path):
    table = config("gemma3_text", sliding_window=512, rope_scaling={"rope_type": "linear", "factor": 8.0})
    assert inspected(tmp_path, table)["max_position_tokens"] == 131072


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rope_scaling": {"type": "yarn", "factor": "4"}}, ["rope_scaling.factor: '4'", "above 0"]),
        (
            {"rope_scaling": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 1.5}},
            ["rope_scaling.original_max_position_embeddings: 1.5", "whole number"],
        ),
    ],
)
def test_a_scaling_that_cannot_be_is_refused_by_name(tmp_path, changes, words):
    message = refused(tmp_path, config(**changes))
    assert all(word in message for word in words), message


# --- the dtype of the KVCache ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "dtype"),
    [
        ("fp8", "fp8"),
        ("fp8_e4m3", "fp8"),
        ("fp8_e5m2", "fp8"),
        ("auto", "bf16"),
        ("bfloat16", "bf16"),
        ("float16", "bf16"),
    ],
)
def test_the_dtype_that_a_file_asks_for_by_name_is_taken(tmp_path, asked, dtype):
    found = inspected(tmp_path, config(kv_cache_dtype=asked))
    assert chosen(found)["kv_dtype"] == found["kv_dtype"] == dtype
    (text,) = [each["text"] for each in found["assumptions"] if each["field"] == "kv_dtype"]
    assert ("does not say" in text) == (asked == "auto")
    assert (f"kv_cache_dtype says {asked}" in text) == (asked != "auto")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"quantization_config": {"kv_cache_quant_algo": "NVFP4"}},
            "quantization_config.kv_cache_quant_algo says NVFP4",
        ),
        ({"quantization": {"kv_cache_quant_algo": "INT8"}}, "quantization.kv_cache_quant_algo says INT8"),
        ({"kv_cache_quant_algo": "INT8"}, "kv_cache_quant_algo says INT8"),
        (
            {"quantization_config": {"kv_cache_scheme": {"num_bits": 4, "type": "int"}}},
            "kv_cache_scheme says 4-bit int",
        ),
        ({"kv_cache_dtype": "int4"}, "kv_cache_dtype says int4"),
    ],
)
def test_a_dtype_that_is_not_computed_is_named_in_the_assumption_and_in_a_note(tmp_path, changes, told):
    found = inspected(tmp_path, config(**changes))
    (text,) = [each["text"] for each in found["assumptions"] if each["field"] == "kv_dtype"]
    assert told in text
    assert "neither bf16 nor fp8" in text
    assert text in found["notes"]
    assert found["kv_dtype"] == "bf16"


@pytest.mark.parametrize("place", ["root", "text"])
@pytest.mark.parametrize(
    ("quantisation", "dtype"),
    [
        ({"kv_cache_scheme": {"num_bits": 8, "type": "float"}}, "fp8"),
        ({"kv_cache_quant_algo": "FP8"}, "fp8"),
        ({"kv_cache_scheme": {"num_bits": 8, "type": "int"}}, "bf16"),
        ({"kv_cache_scheme": {"num_bits": 4, "type": "float"}}, "bf16"),
        ({"kv_cache_scheme": None, "quant_method": "fp8"}, "bf16"),
    ],
)
def test_scales_for_the_cache_make_auto_mean_fp8(tmp_path, place, quantisation, dtype):
    table = config(quantization_config=quantisation)
    found = inspected(tmp_path, table if place == "root" else {"model_type": "llava", "text_config": table})
    assert chosen(found)["kv_dtype"] == found["kv_dtype"] == dtype
    assert inspected(tmp_path, table, kv_dtype="bf16")["kv_dtype"] == "bf16"


def test_two_dtypes_of_the_cache_in_one_file_are_refused_unless_one_is_chosen(tmp_path):
    table = config(kv_cache_dtype="bfloat16", quantization_config={"kv_cache_quant_algo": "FP8"})
    told = "kv_cache_dtype says bfloat16 and quantization_config.kv_cache_quant_algo says FP8, which contradict"
    assert told in refused(tmp_path, table)
    assert inspected(tmp_path, table, kv_dtype="fp8")["kv_dtype"] == "fp8"


# --- the class -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model_type", "architecture", "whose"),
    [
        ("llama", "DeepseekV3ForCausalLM", "deepseek_v3"),
        ("llama", "MambaForCausalLM", "mamba"),
        ("llama", "GPT2LMHeadModel", "gpt2"),
        ("mistral", "T5ForConditionalGeneration", "t5"),
        ("qwen3", "Qwen3_5MoeForCausalLM", "qwen3_5_moe"),
    ],
)
def test_a_class_of_another_model_type_is_refused(tmp_path, model_type, architecture, whose):
    told = f"architectures: '{architecture}' contradicts model_type {model_type}: it is the class of {whose}"
    table = config(model_type, architectures=[architecture])
    assert told in refused(tmp_path, table)
    assert told in refused(tmp_path, {"model_type": "some_vl", "text_config": table})


def test_a_class_of_a_type_that_is_read_alike_contradicts_nothing(tmp_path):
    found = inspected(tmp_path, config("kimi_k2", architectures=["DeepseekV3ForCausalLM"], **MLA))
    assert found["block_level_bytes_per_token"] == 4 * 576 * 2
