"""What a config leaves open, decided by the user or by a default that is shown: windows, dtypes of states."""

from __future__ import annotations

from collections.abc import Sequence

from planner.documents.errors import refuse
from planner.entries import check
from planner.entries.model import Model
from planner.importers.models.config import Config
from planner.importers.models.groups import Group, together

FLOATS = {
    "float32": "float32",
    "bfloat16": "bf16",
    "float16": "bf16",
    "bf16": "bf16",
    "fp32": "float32",
    "fp16": "bf16",
}
"""Dtypes of files by their width: nothing but the width matters here."""
STATE_DTYPES = ("float32", "bf16")


def settled(config: Config, root: Config, layers: Sequence[Group], longest: int | None) -> list[Group]:
    """The groups of a model, with everything decided that its file leaves open. Raises DocumentError."""
    return _states(config, root, _windows(config, together(layers), longest))


# --- windows -----------------------------------------------------------------------------------------------------


def _windows(config: Config, groups: list[Group], longest: int | None) -> list[Group]:
    log = config.log
    widths = sorted({int(group["window_tokens"]) for group in groups if _has_window(group)})
    if longest and widths and widths[-1] >= longest:
        log.notes.append(f"the window of {widths[-1]:,} tokens is as long as any prompt: full attention")
        groups = [
            _opened(group) if _has_window(group) and group["window_tokens"] >= longest else group for group in groups
        ]
    if any(_has_window(group) for group in groups):
        text = (
            "layers with a window keep its tokens only; vLLM keeps all where its hybrid KVCache manager "
            "is off, as with a KV connector that does not support it"
        )
        if log.choose("windowed_layers", "window", text, ("window", "full")) == "full":
            groups = [_opened(group) for group in groups]
    elif widths and "windowed_layers" in log.choices:
        log.answered.add("windowed_layers")
    return together(groups)


def _has_window(group: Group) -> bool:
    return group["kind"] == "attention" and "window_tokens" in group


def _opened(group: Group) -> Group:
    return {name: value for name, value in group.items() if name != "window_tokens"} if _has_window(group) else group


# --- states ------------------------------------------------------------------------------------------------------


def _states(config: Config, root: Config, groups: list[Group]) -> list[Group]:
    recurring = [group for group in groups if group["kind"] == "recurrent"]
    stateful = [group for group in recurring if group["state_shape"]]
    if any(group["conv_channels"] for group in recurring):
        text = "convolutions keep their inputs in this dtype: bf16 in SGLang, the model's own in vLLM"
        dtype = config.log.choose("conv_dtype", "bf16", text, STATE_DTYPES)
        recurring = [group | {"conv_dtype": dtype} for group in recurring]
    if stateful:
        recurring = _state_dtype(config, root, recurring)
    others = [group for group in groups if group["kind"] != "recurrent"]
    return others + recurring


def _state_dtype(config: Config, root: Config, groups: list[Group]) -> list[Group]:
    log = config.log
    stated = _stated(config)
    if all(group["mechanism"] == "kda" for group in groups):
        log.answered.add("state_dtype")
        if log.choices.get("state_dtype", "float32") != "float32":
            raise refuse("state_dtype", log.choices["state_dtype"], "must be float32: so both engines keep KDA's state")
        log.notes.append("the state of KDA is float32 in SGLang and in vLLM")
        return groups
    own = _own_dtype(config, root)
    sizes = {dtype: _state_bytes(_in(groups, dtype)) for dtype in STATE_DTYPES}
    said = f"the file says {stated}" if stated else "the file does not say"
    text = (
        f"dtype of the recurrent state: {said}; SGLang keeps float32 ({sizes['float32']:,} bytes a request), "
        f"vLLM the model's own, {own} ({sizes[own]:,}), unless the file says otherwise"
    )
    return _in(groups, log.choose("state_dtype", stated or "float32", text, STATE_DTYPES))


def _in(groups: Sequence[Group], dtype: str) -> list[Group]:
    # KDA's state stays float32 in both engines
    return [group if group["mechanism"] == "kda" else group | {"state_dtype": dtype} for group in groups]


def _state_bytes(groups: Sequence[Group]) -> int:
    """Bytes of states and convolutions of one request."""
    model = check("models", {"name": "states", "layers": list(groups)})
    return int(model.cache().state_bytes) if isinstance(model, Model) else 0


def _stated(config: Config) -> str:
    for name in ("mamba_ssm_dtype", "mamba_ssm_cache_dtype"):
        text = config.text(name)
        if text and text != "auto":
            if text not in FLOATS:
                raise refuse(config.place(name), text, f"must be one of {', '.join(FLOATS)}")
            config.took(name, "layers.state_dtype")
            return FLOATS[text]
    return ""


def _own_dtype(config: Config, root: Config) -> str:
    stated = [table.raw(name) for table in (config, root) for name in ("dtype", "torch_dtype")]
    return next((FLOATS[each] for each in stated if isinstance(each, str) and each in FLOATS), "bf16")
