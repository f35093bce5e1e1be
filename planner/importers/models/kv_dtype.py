"""What a config says of the dtype of the KVCache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planner.documents.errors import refuse
from planner.importers.models.config import Config, plain

TABLES = ("quantization_config", "compression_config", "quantization")
KEYS = ("kv_cache_dtype", "kv_cache_quant_algo", "kv_cache_scheme")
BF16 = frozenset({"bfloat16", "bf16", "float16", "fp16", "half"})
"""Nothing but the width matters here."""
FP8 = ("fp8", "float8")
OTHER = "other"


def kv_dtype(config: Config, root: Config) -> str:
    """bf16, or fp8 where the checkpoint asks for it, so that engines left on `auto` take fp8.

    Raises DocumentError where two places of the file ask for different dtypes and nobody chose one.
    """
    log = config.log
    asked = {place: said for table in (root, config) for place, said in _asked(table)}
    kinds = {place: _kind(said) for place, said in asked.items()}
    told = " and ".join(f"{place} says {_words(said)}" for place, said in asked.items())
    if len(set(kinds.values())) > 1 and "kv_dtype" not in log.choices:
        raise refuse("kv_dtype", None, f"must be bf16 or fp8: {told}, which contradict each other")
    kind = next(iter(kinds.values()), "")
    text = f"{told}: engines left on auto keep KV in {kind}"
    if not asked:
        text = "the file does not say: engines left on auto keep KV in the model's dtype"
    elif OTHER in kinds.values():
        text = f"{told}, which is neither bf16 nor fp8 and is not computed here: bf16 is taken, and is too large"
        log.notes.append(text)
    elif kind == "fp8":
        log.notes.append(f"{text}, half the bytes of bf16")
    return log.choose("kv_dtype", "fp8" if kind == "fp8" else "bf16", text, ("bf16", "fp8"))


def _asked(table: Config) -> Iterator[tuple[str, Any]]:
    """Places where the file asks for a dtype, and what stands there; auto asks for none."""
    inner = {f"{name}.": table.table.get(name) for name in TABLES}
    for prefix, holder in {"": table.table, **inner}.items():
        for key in KEYS:
            said = holder.get(key) if isinstance(holder, dict) else None
            if said and said != "auto":
                table.took(f"{prefix}{key}", "kv_dtype")
                yield table.place(f"{prefix}{key}"), said


def _kind(said: Any) -> str:
    if isinstance(said, dict):
        return "fp8" if said.get("num_bits") == 8 and said.get("type") == "float" else OTHER
    word = str(said).lower()
    return "bf16" if word in BF16 else "fp8" if word.startswith(FP8) else OTHER


def _words(said: Any) -> str:
    if isinstance(said, dict):
        return plain(f"{said.get('num_bits')}-bit {said.get('type')}", 40)
    return plain(str(said), 40)
