"""Which model types are read, and how; a table, so that a new one of a known kind is one word."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from planner.importers.models.config import Config
from planner.importers.models.families.attention import (
    CHUNK,
    NOPE,
    behind_flag,
    chunked,
    full,
    gqa,
    must_be_listed,
    nth,
    windowed,
)
from planner.importers.models.families.latent import compressed, mla, sparse
from planner.importers.models.families.linear import bailing, gdn, kimi_linear, lfm2, minimax
from planner.importers.models.families.mamba import (
    bamba,
    falcon_h1,
    granite,
    jamba,
    mamba1,
    mamba2,
    nemotron_h,
    zamba2,
)
from planner.importers.models.families.shapes import gemma, mimo_v2, nas, step
from planner.importers.models.groups import Group
from planner.importers.models.keys import MAX_POSITION, Key

__all__ = ["FAMILIES", "GQA", "Family", "family_of"]

type Builder = Callable[[Config], list[Group]]
"""The layers of a config, one by one; raises DocumentError on what it does not understand."""


@dataclass(frozen=True, slots=True)
class Family:
    """Models that are read alike."""

    build: Builder
    length: Key = MAX_POSITION
    defaults: Mapping[str, int] = field(default_factory=dict)
    """What transformers leaves out of a nested config because its class has it, beside `defaults.of_class`."""


GQA = Family(gqa(full))
_COHERE = Key(MAX_POSITION.ours, ("model_max_length", *MAX_POSITION.names), highest=MAX_POSITION.highest)

_LLAMA = {"num_hidden_layers": 32, "num_attention_heads": 32, "hidden_size": 4096, "max_position_embeddings": 2048}
_QWEN = {**_LLAMA, "max_position_embeddings": 32_768}
_MISTRAL = {**_LLAMA, "max_position_embeddings": 131_072}
_GEMMA3 = {
    "num_hidden_layers": 26,
    "num_attention_heads": 8,
    "hidden_size": 2304,
    "max_position_embeddings": 131_072,
}
_GEMMA3N = {
    "num_hidden_layers": 35,
    "num_attention_heads": 8,
    "hidden_size": 2048,
    "num_kv_shared_layers": 15,
    "max_position_embeddings": 32_768,
}
_GEMMA4 = {
    "num_hidden_layers": 30,
    "num_attention_heads": 8,
    "global_head_dim": 512,
    "hidden_size": 2304,
    "num_kv_shared_layers": 0,
    "max_position_embeddings": 131_072,
}

_BY_READER: tuple[tuple[str, Family], ...] = (
    (
        """llama granite granitemoe granitemoeshared gpt_neox stablelm phi persimmon nemotron olmo olmo2 olmoe flex_olmo
        internlm internlm2 internlm3 baichuan aquila xverse yi deepseek glm glm4 glm4_moe glm4v_moe glm4v
        ernie4_5 ernie4_5_moe hunyuan_v1_dense hunyuan_v1_moe exaone minicpm minimax_m2 seed_oss arcee apertus dbrx mpt
        gpt2 gpt_bigcode gptj codegen bloom opt falcon RefinedWeb RefinedWebModel chatglm qwen jais jais2 bitnet gemma
        solar_open iquestcoder ministral3 grok-1 orion jetmoe qwen3_vl qwen3_vl_moe qwen3_omni_moe arctic hy_v3
        sarvam_moe teleflm bailing_moe helium nanochat aria hunyuan_vl paddleocr_vl glm_ocr ernie4_5_vl_moe chameleon
        hyperclovax granite4_vision granite_docling""",
        GQA,
    ),
    ("cohere", Family(gqa(full), _COHERE)),
    ("mistral mixtral phi3 phimoe starcoder2 ministral phi3_v phi4mm phi4_multimodal", Family(gqa(windowed))),
    (
        """qwen2_moe qwen3_moe qwen2_vl qwen2_5_vl qwen2_5_omni mimo dots1 smollm3 qwen2_audio minicpmv minicpmo""",
        Family(gqa(behind_flag)),
    ),
    ("gemma2 vaultgemma gpt_oss", Family(gqa(nth(2)))),
    ("gemma3", Family(gqa(nth(6)), defaults=_GEMMA3)),
    ("cohere2 exaone4 exaone_moe olmo3 afmoe", Family(gqa(nth(4)))),
    (
        "cohere2_moe cwm laguna mellum granite_swa granitemoe_swa muse_glimmer muse_spark beam",
        Family(gqa(must_be_listed)),
    ),
    ("llama4", Family(gqa(chunked, CHUNK, NOPE))),
    ("gemma3n", Family(gemma(nth(5)), defaults=_GEMMA3N)),
    ("gemma4 gemma4_unified", Family(gemma(nth(6)), defaults=_GEMMA4)),
    ("mimo_v2_flash mimo_v2", Family(mimo_v2)),
    ("step3p5 step3p7", Family(step)),
    ("nemotron-nas deci", Family(nas)),
    ("deepseek_v2 deepseek_v3 kimi_k2 glm4_moe_lite sarvam_mla youtu mistral4 minicpm3 axk1", Family(mla())),
    ("longcat_flash", Family(mla(per_layer=2))),
    ("deepseek_v32 glm_moe_dsa", Family(sparse)),
    ("deepseek_v4", Family(compressed)),
    ("qwen3_next qwen3_5 qwen3_5_moe olmo_hybrid", Family(gdn)),
    ("kimi_linear", Family(kimi_linear)),
    ("minimax minimax_text_01 minimax_m1 MiniMaxText01 MiniMaxM1", Family(minimax)),
    ("bailing_hybrid bailing_moe_linear bailing_moe_v2_5", Family(bailing)),
    ("lfm2 lfm2_moe", Family(lfm2)),
    ("mamba falcon_mamba", Family(mamba1)),
    ("mamba2", Family(mamba2)),
    ("jamba", Family(jamba)),
    ("bamba", Family(bamba)),
    ("granitemoehybrid", Family(granite)),
    ("falcon_h1", Family(falcon_h1)),
    ("nemotron_h", Family(nemotron_h)),
    ("zamba2", Family(zamba2)),
)
FAMILIES: Mapping[str, Family] = {name: family for names, family in _BY_READER for name in names.split()} | {
    "qwen2": Family(gqa(behind_flag), defaults=_QWEN),
    "qwen3": Family(gqa(behind_flag), defaults=_QWEN),
    "llama": Family(gqa(full), defaults=_LLAMA),
    "mistral": Family(gqa(windowed), defaults=_MISTRAL),
}


def family_of(model_type: str) -> Family | None:
    """How models of this type are read; `…_text` is the text part of a model that also sees."""
    return FAMILIES.get(model_type) or FAMILIES.get(model_type.removesuffix("_text"))
