"""What the classes of transformers 5.24.0 take for keys that a file leaves out, where no other key implies it."""

from __future__ import annotations

from collections.abc import Mapping

_BY_CLASS: tuple[tuple[str, int | None, int | None, int | None], ...] = (
    # model types, KV heads, size of a head, window: None is what follows from the other keys, or is full attention
    ("afmoe", None, 128, 1024),
    ("bamba falcon_h1 glm4_moe glm4v_moe glm_ocr jamba lfm2 lfm2_moe minimax mixtral phimoe", 8, None, None),
    ("phi4_multimodal qwen2_vl qwen2_5_vl", 8, None, None),
    ("exaone hy_v3 iquestcoder llama4 minimax_m2 ministral3 nemotron_h seed_oss solar_open step3p5", 8, 128, None),
    ("beam", 8, 128, 512),
    ("bitnet", 5, None, None),
    ("chameleon qwen2 stablelm", 32, None, None),
    ("cohere2 olmo3", None, None, 4096),
    ("cohere2_moe", None, 128, 4096),
    ("cwm", 8, 128, 8192),
    ("dbrx", 1, None, None),
    ("ernie4_5 glm glm4 internlm3 paddleocr_vl", 2, 128, None),
    ("ernie4_5_moe ernie4_5_vl_moe granite_docling qwen2_5_omni qwen3_omni_moe smollm3", 4, None, None),
    ("exaone4 exaone_moe", 32, None, 4096),
    ("gemma", 16, 256, None),
    ("gemma2 gemma3 vaultgemma", 4, 256, 4096),
    ("gemma3n", 2, 256, 512),
    ("gemma4", 4, 256, 512),
    ("gemma4_unified", 4, 256, 1024),
    ("glm4v starcoder2", 2, None, None),
    ("gpt_oss", 8, 64, 128),
    ("granite_swa", 4, None, 128),
    ("granitemoe_swa", None, None, 128),
    ("helium", 20, 128, None),
    ("jetmoe", 16, 128, None),
    ("laguna", 8, 128, 512),
    ("mellum", 4, 128, 1024),
    ("mimo_v2_flash", 4, 192, None),
    ("ministral mistral", 8, None, 4096),
    ("muse_glimmer", 2, 128, 2048),
    ("muse_spark", 16, 64, 2048),
    ("qwen2_moe qwen3_vl_moe", 16, None, None),
    ("qwen3 qwen3_vl", 32, 128, None),
    ("qwen3_5", 4, 256, None),
    ("qwen3_5_moe qwen3_next", 2, 256, None),
    ("qwen3_moe", 4, None, None),
    ("sarvam_moe", 4, 64, None),
)
_FURTHER: Mapping[str, Mapping[str, int]] = {
    "falcon": {"multi_query": True},
    "gpt_bigcode": {"multi_query": True},
    "llama4": {"attention_chunk_size": 8192},
}


def _row(*values: int | None) -> dict[str, int]:
    keys = ("num_key_value_heads", "head_dim", "sliding_window")
    return {key: value for key, value in zip(keys, values, strict=True) if value is not None}


_OF_CLASS = {name: _row(*values) for names, *values in _BY_CLASS for name in names.split()}


def of_class(model_type: str) -> dict[str, int]:
    """What the class of a model type takes for keys that its file leaves out."""
    name = model_type if model_type in _OF_CLASS else model_type.removesuffix("_text")
    return {**_OF_CLASS.get(name, {}), **_FURTHER.get(name, {})}
