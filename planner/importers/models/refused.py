"""What keeps no KVCache that could be planned with, or that no engine serves; each with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.documents.errors import DocumentError, FieldError, refuse
from planner.importers.models.config import named
from planner.importers.models.keys import ABOUT_THE_CACHE, WINDOW, changes_the_cache

_ENCODERS = """
    bert roberta xlm-roberta xlm-roberta-xl camembert electra albert distilbert deberta deberta-v2 mpnet modernbert
    nomic_bert new gte longformer big_bird ernie ernie_m xlm xlnet mobilebert megatron-bert roformer rembert
    squeezebert funnel fnet canine esm esmc convbert nystromformer xmod ibert flaubert layoutlm layoutlmv2
    layoutlmv3 luke bert-generation data2vec-text roberta-prelayernorm roc_bert eurobert neobert bert_japanese
    jina_embeddings_v3 clip siglip siglip2 vit dinov2 dinov3_vit wav2vec2 hubert
"""
_ENCODER_DECODERS = """
    t5 mt5 umt5 byt5 longt5 switch_transformers bart mbart pegasus pegasus_x marian m2m_100 blenderbot
    blenderbot-small led prophetnet bigbird_pegasus mvp plbart whisper t5gemma t5gemma2 encoder-decoder
    vision-encoder-decoder speech-encoder-decoder florence2 seamless_m4t seamless_m4t_v2 nllb-moe fsmt udop
    pix2struct moonshine kosmos-2 trocr musicgen
"""
_RESEARCH = """
    samba gated_deltanet gated_deltaproduct delta_net gla hgrn hgrn2 gsa linear_attn abc lightnet nsa mesa_net
    deltaformer path_attn forgetting_transformer comba log_linear_mamba2 transformer kda
"""

ENCODERS = frozenset(_ENCODERS.split())
ENCODER_DECODERS = frozenset(_ENCODER_DECODERS.split())
UNSERVED: Mapping[str, str] = {
    "rwkv": "RWKV keeps a state of its own kind",
    "recurrent_gemma": "its RG-LRU layers and the repeated block_types are of no other model",
    "retnet": "retention is a mechanism of its own",
    **dict.fromkeys(_RESEARCH.split(), "a research model of flash-linear-attention"),
    "xlstm": "xLSTM keeps a state of its own kind",
    "zamba": "its Mamba layers are split into heads as no other model's",
    "mllama_text_model": "its cross-attention layers (cross_attention_layers) keep the image's states",
}


_OF_GQA = frozenset((*WINDOW.names, "layer_types"))


def check_servable(model_type: str, architecture: str, config: Mapping[str, Any]) -> None:
    """Raises DocumentError on a model that leaves no KVCache, or one that neither engine serves."""
    name = model_type or architecture
    if model_type in ENCODERS or architecture.endswith("ForMaskedLM"):
        raise refuse("model_type", name, "is an encoder: it generates nothing and keeps no KVCache")
    if model_type in ENCODER_DECODERS or config.get("is_encoder_decoder") is True:
        message = "is an encoder-decoder (is_encoder_decoder): its cross-attention is no KVCache of the prompt"
        raise refuse("model_type", name, message)
    reason = UNSERVED.get("rwkv" if model_type.startswith("rwkv") else model_type)
    if reason:
        keys = named(["model_type", *cache_keys(config)])
        message = f"is served neither by vLLM 0.33 nor by SGLang 0.5: {reason}. Not understood: {keys}"
        raise refuse("model_type", name, message)


def cache_keys(config: Mapping[str, Any]) -> list[str]:
    """Keys of a config that tell what its layers keep, as far as their names go."""
    off = ("use_cache", "chunk_size_feed_forward")
    return [
        key for key, value in config.items() if value is not None and key not in off and ABOUT_THE_CACHE.search(key)
    ]


def unknown(model_type: str, architecture: str, config: Mapping[str, Any]) -> DocumentError:
    """The refusal of a model type that is in no table, with what was not understood and what would help."""
    keys = named(cache_keys(config)) or "there is no key on attention at all"
    what = "is no model type that is known here, and nothing is guessed" if model_type else "is missing"
    found = [FieldError("model_type", model_type or None, f"{what}. Not understood: {keys}")]
    strange = [key for key, value in config.items() if key not in _OF_GQA and changes_the_cache(key, value)]
    if architecture.endswith("ForCausalLM") and not strange:
        found.append(FieldError("architecture", None, "may be chosen as gqa, if all layers have plain GQA"))
    return DocumentError(found)
