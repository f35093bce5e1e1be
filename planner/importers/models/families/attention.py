"""Models whose layers all have attention of some kind: MHA, GQA, MQA, with sliding windows or without."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planner.documents.errors import refuse
from planner.importers.models.config import Config
from planner.importers.models.groups import Group, attention
from planner.importers.models.keys import HEAD_DIM, HEADS, HIDDEN, KV_HEADS, LAYERS, WINDOW, Key
from planner.importers.models.layout import (
    FULL_IS_ONE,
    LOCAL_GLOBAL,
    Kind,
    every,
    fitting,
    listed,
)

type Rule = Callable[[Config, int], list[Kind]]
"""The kinds of a model's layers where its file has no list of them."""

CHUNK = Key("layers.window_tokens", ("attention_chunk_size",), highest=1_000_000_000)
PATTERN = Key(
    "layers", ("sliding_window_pattern", "_sliding_window_pattern", "global_attn_every_n_layers"), highest=10_000
)
NOPE = Key("layers", ("no_rope_layer_interval",), highest=10_000)
FIRST_SLIDING = Key("layers", ("max_window_layers",), lowest=0)


@dataclass(frozen=True, slots=True)
class Shape:
    """KV heads of a layer, and the size of a key and of a value."""

    kv_heads: int
    key_dim: int
    value_dim: int

    def layer(self, window: int | None = None) -> Group:
        """One layer of this shape."""
        return attention(self.kv_heads, self.key_dim, self.value_dim, window)


def shape(config: Config, value_key: Key | None = None) -> Shape:
    """Heads and their sizes. Raises DocumentError.

    What `head_dim` says beats hidden size by heads: they differ in Mistral Nemo, Qwen3, Gemma.
    """
    heads = config.whole(HEADS)
    kv_heads = _kv_heads(config, heads)
    key_dim = head_size(config, heads)
    return Shape(kv_heads, key_dim, (config.maybe(value_key) if value_key else None) or key_dim)


def head_size(config: Config, heads: int) -> int:
    """What the file says, or the hidden size by heads. Raises DocumentError."""
    return config.maybe(HEAD_DIM) or divided(config, HIDDEN.names[0], config.whole(HIDDEN, "divided by heads"), heads)


def divided(config: Config, name: str, size: int, heads: int) -> int:
    """The share of each head. Raises DocumentError where there is no whole one."""
    if size % heads:
        raise refuse(config.place(name), size, f"is no multiple of {heads} heads, and their size is not given")
    return size // heads


def _kv_heads(config: Config, heads: int) -> int:
    if config.flag("multi_query") and not config.flag("new_decoder_architecture"):
        for name in KV_HEADS.names:
            config.raw(name)  # the flag overrules them in both engines
        config.took("multi_query", KV_HEADS.ours, "one key and one value for all heads")
        return 1
    if config.raw("multi_query_attention") is False:
        config.raw("multi_query_group_num")
        return heads
    inner = config.inside("attn_config")
    if inner and inner.raw("attn_type") == "multiquery_attention":
        return 1
    found = (inner and inner.maybe(KV_HEADS)) or one_each(config, heads)
    if inner and inner.unread():
        raise refuse(inner.unread()[0], None, "may change what layers keep, and is not understood in attn_config")
    if found > heads:
        raise refuse(config.place(KV_HEADS.names[0]), found, f"must be at most the {heads} query heads")
    if config.raw("group_query_attention") is False and found != heads:
        message = f"contradicts {found} KV heads for {heads} query heads: one of them is wrong"
        raise refuse(config.place("group_query_attention"), False, message)
    if heads % found:
        raise refuse(config.place(KV_HEADS.names[0]), found, f"must divide the {heads} query heads, which share them")
    return found


def one_each(config: Config, heads: int) -> int:
    """KV heads, one for each query head where the file does not say."""
    return config.maybe(KV_HEADS, usual=heads, why="no key for KV heads: one for each query head") or heads


def window(config: Config, kinds: list[Kind]) -> int | None:
    """Tokens of the sliding window, if any layer has one. Raises DocumentError where the file does not tell it."""
    if Kind.SLIDING not in kinds:
        config.seen(WINDOW)
        return None
    tokens = config.whole(WINDOW)
    if not tokens:
        raise refuse(config.place(WINDOW.names[0]), tokens, "must be positive: there are layers with a window")
    return tokens


# --- rules -------------------------------------------------------------------------------------------------------


def full(config: Config, count: int) -> list[Kind]:
    """Full attention everywhere. A window in the file is none of this class's: the user has to say what it means."""
    if not config.maybe(WINDOW) or config.raw("use_sliding_window") is False:
        return [Kind.FULL] * count
    if "windowed_layers" not in config.log.choices:
        place = config.place("sliding_window")
        message = f"must be window or full: {place} says a window, and the class of this model_type has none"
        raise refuse("windowed_layers", None, message)
    return [Kind.SLIDING] * count


def windowed(config: Config, count: int) -> list[Kind]:
    """A sliding window in every layer, if the file has one: Mistral 7B v0.1; null is full attention, as in v0.3."""
    on = config.maybe(WINDOW) and config.flag("use_sliding_window", default=True)
    return [Kind.SLIDING if on else Kind.FULL] * count


def behind_flag(config: Config, count: int) -> list[Kind]:
    """Qwen2: windows only where use_sliding_window is true, and from layer max_window_layers on."""
    if not (config.flag("use_sliding_window") and config.maybe(WINDOW)):
        config.raw("sliding_window")
        if config.table.get("sliding_window"):  # 32768 in Qwen2.5 and MiMo, and switched off
            config.took("sliding_window", "nothing", "use_sliding_window is not true: full attention")
        return [Kind.FULL] * count
    first = config.whole(FIRST_SLIDING)
    return [Kind.SLIDING if layer >= first else Kind.FULL for layer in range(count)]


def nth(default: int, key: Key = PATTERN) -> Rule:
    """Full attention in every n-th layer, windows between; n may stand in the file, else it is the class's own."""

    def rule(config: Config, count: int) -> list[Kind]:
        if config.raw("sliding_window") is None and "sliding_window" in config.table:
            return [Kind.FULL] * count
        name = PATTERN.names[0]
        if isinstance(config.table.get(name), str):
            letters = [LOCAL_GLOBAL.get(letter) for letter in config.text(name)[:10_000]]
            if not letters or None in letters:
                raise refuse(config.place(name), config.text(name), "must be a number, or letters L and G")
            config.took(name, "layers", "repeated; the last layer has full attention")
            kinds = [letters[layer % len(letters)] or Kind.FULL for layer in range(count)]
            return [*kinds[:-1], Kind.FULL]
        return every(config, count, key, Kind.SLIDING, default)

    return rule


def chunked(config: Config, count: int) -> list[Kind]:
    """Llama 4: layers with rotary positions see chunks, those without see everything."""
    roped = config.numbers("no_rope_layers", highest=1)
    if config.maybe(CHUNK) is None:
        return [Kind.FULL] * count
    if roped:
        config.took("no_rope_layers", "layers", "0 has full attention, 1 sees chunks")
        return [Kind.CHUNKED if each else Kind.FULL for each in fitting(config, "no_rope_layers", roped, count)]
    return every(config, count, NOPE, Kind.CHUNKED, 4)


def must_be_listed(config: Config, count: int) -> list[Kind]:
    """No rule: the list has to be in the file. Raises DocumentError."""
    raise config.missing("layer_types")


# --- models ------------------------------------------------------------------------------------------------------


def kinds_of(config: Config, count: int, rule: Rule) -> list[Kind]:
    """The kinds of all layers, every one of them some attention. Raises DocumentError."""
    kinds = listed(config, count) or listed(config, count, ("attn_type_list",), FULL_IS_ONE) or rule(config, count)
    for name in PATTERN.names:
        config.raw(name)  # with a list in the file they say the same again
    known = {Kind.FULL, Kind.SLIDING, Kind.CHUNKED}
    strange = next((layer for layer, kind in enumerate(kinds) if kind not in known), None)
    if strange is not None:
        message = f"has {kinds[strange]} at layer {strange}, and this model_type has attention everywhere"
        raise refuse(config.place("layer_types"), None, message)
    return kinds


def gqa(rule: Rule = full, *said_elsewhere: Key) -> Callable[[Config], list[Group]]:
    """A reader of models whose layers differ by their windows at most.

    A list of layers in the file says what `said_elsewhere` would.
    """

    def build(config: Config) -> list[Group]:
        count = config.whole(LAYERS)
        kinds = kinds_of(config, count, rule)
        heads = shape(config)
        widths = {
            Kind.FULL: None,
            Kind.SLIDING: window(config, kinds),
            Kind.CHUNKED: config.whole(CHUNK) if Kind.CHUNKED in kinds else None,
        }
        config.seen(*said_elsewhere)
        return [heads.layer(widths[kind]) for kind in kinds]

    return build
