"""Every real config is read to the bytes that other programs and hand calculation give, or refused for its reason."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planner.documents.errors import DocumentError
from planner.entries import check
from planner.importers import models
from tests.importers.configs import chosen
from tests.shared_data import SHARED, needs_shared_data

pytestmark = needs_shared_data

LENGTHS = {"1K": "1024", "8K": "8192", "32K": "32768", "128K": "131072"}
CONFIGS = {
    "mimo-v2-flash": "XiaomiMiMo--MiMo-V2-Flash",
    "qwen3.5-397b-a17b": "Qwen--Qwen3.5-397B-A17B",
    "minimax-m2.5": "MiniMaxAI--MiniMax-M2.5",
    "qwen3-235b-a22b": "Qwen--Qwen3-235B-A22B",
    "deepseek-v3": "deepseek-ai--DeepSeek-V3",
    "deepseek-v3.2": "deepseek-ai--DeepSeek-V3.2",
    "deepseek-v4-pro": "deepseek-ai--DeepSeek-V4-Pro",
    "kimi-k2": "moonshotai--Kimi-K2.5",
    "gpt-oss-120b": "openai--gpt-oss-120b",
    "llama-3.1-70b": "meta-llama--Meta-Llama-3.1-70B",
    "nemotron-3-nano-30b": "nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
}


def samples() -> list[dict[str, Any]]:
    if not SHARED.joinpath("samples/index.json").exists():
        return []
    return [
        entry
        for entry in json.loads(SHARED.joinpath("samples/index.json").read_text())["entries"]
        if entry["kind"] == "configs"
    ]


def published() -> dict[str, dict[str, Any]]:
    if not SHARED.joinpath("models.json").exists():
        return {}
    return {model["id"]: model for model in json.loads(SHARED.joinpath("models.json").read_text())["models"]}


COMPUTED = [sample for sample in samples() if sample["expected"] in ("compute", "ask the user")]
REFUSED = [sample for sample in samples() if sample["expected"].startswith("must be refused")]


def of_file(sample: dict[str, Any]) -> str:
    return str(sample["file"]).removeprefix("configs/").removesuffix(".config.json")


def test_every_config_among_the_samples_is_either_computed_or_refused():
    assert len(COMPUTED) + len(REFUSED) == len(samples()) == 21


@pytest.mark.parametrize("sample", COMPUTED, ids=of_file)
def test_a_sample_has_the_bytes_of_the_index(sample):
    found = models.inspect(SHARED / "samples" / sample["file"], {})
    assert {length: found["kv_bytes"]["bf16"][length] for length in sample["S_kv_bytes"]} == sample["S_kv_bytes"]
    assert found["block_level_bytes_per_token"] == sample["kv_bytes_per_token_unbounded_layers"]
    assert found["parts"]["bf16"]["windows"] == sample["windowed_layers"]
    assert found["parts"]["bf16"]["state_bytes"] == sample["fixed_state_bytes_conv_bf16_ssm_fp32"]
    windows = sum(each["bytes_per_token"] * each["window_tokens"] for each in sample["windowed_layers"])
    assert found["request_level_bytes"] == sample["fixed_state_bytes_conv_bf16_ssm_fp32"] + windows
    assert found["max_position_tokens"] == sample["max_position_embeddings"]
    assert found["lengths_over_max_position"] == sample.get("lengths_over_max_position", [])


@pytest.mark.parametrize(
    "sample", [sample for sample in COMPUTED if "fixed_state_bytes_vllm_auto_bf16" in sample], ids=of_file
)
def test_the_dtype_of_the_state_is_a_choice_that_shows_both_sizes(sample):
    path = SHARED / "samples" / sample["file"]
    shown = next(each for each in models.inspect(path, {})["assumptions"] if each["field"] == "state_dtype")
    assert shown["value"] == "float32"
    for key in ("fixed_state_bytes_conv_bf16_ssm_fp32", "fixed_state_bytes_vllm_auto_bf16"):
        assert f"{sample[key]:,}" in shown["text"]
    found = models.inspect(path, {"state_dtype": "bf16"})["kv_bytes"]["bf16"]
    assert found == sample["S_kv_bytes_vllm_default_auto"]


@pytest.mark.parametrize(
    "sample", [each for each in COMPUTED if "S_kv_bytes_if_window_ignored_hybrid_manager_off" in each], ids=of_file
)
def test_windows_can_be_left_out_as_engines_do_without_their_hybrid_manager(sample):
    found = models.inspect(SHARED / "samples" / sample["file"], {"windowed_layers": "full"})
    assert found["kv_bytes"]["bf16"] == sample["S_kv_bytes_if_window_ignored_hybrid_manager_off"]


def test_a_checkpoint_with_scales_for_fp8_kv_is_fp8_and_says_so():
    sample = next(each for each in COMPUTED if "S_kv_bytes_if_checkpoint_fp8_kv" in each)
    found = models.inspect(SHARED / "samples" / sample["file"], {})
    assert found["kv_dtype"] == chosen(found)["kv_dtype"] == "fp8"
    assert found["kv_bytes"]["fp8"] == sample["S_kv_bytes_if_checkpoint_fp8_kv"]
    assert any("kv_cache_scheme" in note for note in found["notes"])


@pytest.mark.parametrize("sample", [each for each in COMPUTED if each["expected"] == "ask the user"], ids=of_file)
def test_a_model_that_may_only_embed_is_computed_with_a_warning(sample):
    assert "task" in chosen(models.inspect(SHARED / "samples" / sample["file"], {}))


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("t5_classdefault", ["'t5'", "encoder-decoder", "is_encoder_decoder"]),
        ("rwkv4_classdefault", ["'rwkv'", "neither by vLLM 0.33 nor by SGLang 0.5"]),
        ("recurrent-gemma_classdefault", ["'recurrent_gemma'", "RG-LRU", "block_types", "attention_window_size"]),
        ("fla_gated_deltanet_1B", ["'gated_deltanet'", "flash-linear-attention", "expand_v", "num_heads"]),
        ("fla_samba_1B", ["'samba'", "flash-linear-attention", "attn", "state_size"]),
    ],
)
def test_a_sample_is_refused_for_its_reason(file, words):
    assert file in {of_file(sample) for sample in REFUSED}
    with pytest.raises(DocumentError) as problem:
        models.inspect(SHARED / "samples/configs" / f"{file}.config.json", {})
    assert all(word in str(problem.value) for word in words), str(problem.value)


# --- published models --------------------------------------------------------------------------------------------


def layers_of(block: dict[str, Any]) -> list[dict[str, Any]]:
    """Groups of the catalogue from a block of the figures."""
    match block["kind"]:
        case "mla":
            return [{"kind": "latent", "kv_lora_rank": block["kv_lora_rank"], "rope_dim": block["qk_rope_head_dim"]}]
        case "dsa_index":
            return [{"kind": "index", "bytes_per_token": block["bytes_per_token_per_layer"]}]
        case "gqa" | "swa":
            sizes = {"kv_heads": block["kv_heads"], "key_dim": block["head_dim_k"], "value_dim": block["head_dim_v"]}
            window = {"window_tokens": block["window"]} if block["kind"] == "swa" else {}
            return [{"kind": "attention", **sizes, **window}]
        case "dsv4":
            common = {"kind": "compressed", "entry_bytes": block["entry_bytes"], "window_tokens": block["window"]}
            four = {"ratio": 4, "layers": block["c4_layers"], "index_bytes": block["index_bytes"], "state_bytes": 81920}
            many = {"ratio": 128, "layers": block["c128_layers"], "state_bytes": 524288}
            none = [{"ratio": 0, "layers": layers} for layers in block.get("other", {}).values()]
            return [common | each for each in (four, many, *none)]
        case mechanism:
            dtypes = {"state_dtype": "float32", "conv_dtype": "bf16"}
            sizes = {name: block[name] for name in ("state_shape", "conv_channels", "conv_kernel")}
            return [{"kind": "recurrent", "mechanism": mechanism, **sizes, **dtypes}]


def built(model: dict[str, Any]) -> Any:
    """An entry from the figures of a model; DeepSeek V3.2 is packed in fp8 as its notes have it."""
    layers = [{"layers": block.get("layers"), **group} for block in model["blocks"] for group in layers_of(block)]
    if model["id"] == "deepseek-v3.2":
        layers[0]["fp8_bytes_per_token"] = 656
    return check("models", {"name": model["id"].replace(".", "-"), "layers": layers})


@pytest.mark.parametrize("dtype", ["bf16", "fp8"])
@pytest.mark.parametrize("name", published())
def test_a_published_model_has_the_bytes_of_the_figures(name, dtype):
    model = published()[name]
    cache = built(model).cache()
    for length, tokens in LENGTHS.items():
        assert float(cache.s_kv(int(tokens), dtype)) == model["S_kv_bytes"][dtype][length]
    assert cache.bytes_per_token(dtype) == pytest.approx(model["kv_bytes_per_token_full_attention"][dtype], abs=6e-4)
    assert cache.state_bytes == model["recurrent_state_bytes_per_request"]
    windows = sum(slope * width for slope, width in cache.windows(dtype))
    assert windows == model["swa_cache_bytes_max"][dtype]


@pytest.mark.parametrize("dtype", ["bf16", "fp8"])
@pytest.mark.parametrize("name", CONFIGS)
def test_the_config_of_a_published_model_gives_the_same_bytes(name, dtype):
    found = models.inspect(SHARED / "hf_configs" / f"{CONFIGS[name]}_config.json", {})
    expected = published()[name]["S_kv_bytes"][dtype]
    assert {length: found["kv_bytes"][dtype][tokens] for length, tokens in LENGTHS.items()} == expected


def test_every_config_that_is_given_belongs_to_a_published_model():
    given = {path.name.removesuffix("_config.json") for path in SHARED.joinpath("hf_configs").glob("*.json")}
    assert given == set(CONFIGS.values())


@pytest.mark.parametrize("path", [*SHARED.glob("hf_configs/*.json")], ids=lambda path: path.stem)
def test_an_import_says_where_its_figures_come_from(path):
    imported = models.read(path, {})
    source = imported.document["provenance"]["layers"]
    assert source["kind"] == "published"
    assert "sha256" in source["source"]
    assert path.name in source["source"]
    theirs = {mapped.theirs.rpartition(".")[2] for mapped in imported.mapping}
    assert theirs & {"num_hidden_layers", "hybrid_override_pattern"}
    assert theirs & {"num_key_value_heads", "kv_lora_rank", "compress_ratios"}
