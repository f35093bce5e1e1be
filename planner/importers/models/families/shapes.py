"""Models with attention in layers of several shapes: other heads where there is a window, layers that keep nothing."""

from __future__ import annotations

from collections.abc import Callable

from planner.documents.errors import refuse
from planner.importers.models.config import Config
from planner.importers.models.families.attention import CHUNK, Rule, Shape, head_size, kinds_of, shape, window
from planner.importers.models.groups import Group, attention
from planner.importers.models.keys import HEAD_DIM, HEADS, KV_HEADS, LAYERS, VALUE_DIM, Key
from planner.importers.models.layout import SLIDING_IS_ONE, Kind, fitting, listed

SHARED = Key("layers", ("num_kv_shared_layers",), lowest=0, highest=10_000)
GLOBAL_HEADS = Key("layers.kv_heads", ("num_global_key_value_heads",))
GLOBAL_DIM = Key("layers.key_dim, layers.value_dim", ("global_head_dim",))
SLIDING_HEADS = Key("layers.kv_heads", ("swa_num_key_value_heads",))
SLIDING_DIM = Key("layers.key_dim", ("swa_head_dim",))
SLIDING_VALUE = Key("layers.value_dim", ("swa_v_head_dim",))
IN_GROUP = Key("layers.kv_heads", ("n_heads_in_group",))


def gemma(rule: Rule) -> Callable[[Config], list[Group]]:
    """Gemma 3n and 4: global layers of another shape; the last layers read the KVCache of earlier ones."""

    def build(config: Config) -> list[Group]:
        count = config.whole(LAYERS)
        own = count - (config.maybe(SHARED, "these last layers keep nothing of their own") or 0)
        kinds = kinds_of(config, count, rule)
        local, overrides = shape(config), _overrides(config, count)
        everywhere = _global(config, local)
        width = window(config, kinds)
        layers = [local.layer(width) if kind is Kind.SLIDING else everywhere.layer() for kind in kinds]
        for layer, override in overrides.items():
            layers[layer] |= override
        if own < 1:
            raise refuse(config.place(SHARED.names[0]), count - own, f"leaves none of {count} layers a KVCache")
        return layers[:own]

    return build


def _global(config: Config, local: Shape) -> Shape:
    dim = config.maybe(GLOBAL_DIM) or local.key_dim
    heads = config.maybe(GLOBAL_HEADS)
    if config.flag("attention_k_eq_v"):
        # one projection makes both, but normalised apart: the cache has two
        config.took("attention_k_eq_v", "nothing", "keys and values are cached both")
        return Shape(heads or local.kv_heads, dim, dim)
    return Shape(local.kv_heads, dim, dim)


def _overrides(config: Config, count: int) -> dict[int, Group]:
    """What `per_layer_config` says of single layers. Raises DocumentError."""
    table = config.inside("per_layer_config")
    found: dict[int, Group] = {}
    for name in table.table if table else ():
        inner = table.inside(name) if table else None
        if not (name.isascii() and name.isdigit() and len(name) < 6 and int(name) < count):
            raise refuse(config.place(f"per_layer_config.{name[:40]}"), None, f"is none of {count} layers")
        dim, heads = (inner.maybe(HEAD_DIM), inner.maybe(KV_HEADS)) if inner else (None, None)
        if inner and inner.unread():
            raise refuse(inner.unread()[0], None, "is not understood in a single layer")
        found[int(name)] = ({"key_dim": dim, "value_dim": dim} if dim else {}) | ({"kv_heads": heads} if heads else {})
    return found


def mimo_v2(config: Config) -> list[Group]:
    """MiMo-V2: windowed layers with heads of their own, values smaller than keys."""
    count = config.whole(LAYERS)
    kinds = listed(config, count, ("hybrid_layer_pattern",), SLIDING_IS_ONE) or listed(config, count)
    if not kinds:
        raise config.missing("hybrid_layer_pattern", "layer_types")
    config.raw("layer_types")
    config.maybe(CHUNK)
    whole = shape(config, VALUE_DIM)
    heads, key_dim = config.maybe(SLIDING_HEADS), config.maybe(SLIDING_DIM)
    value_dim = config.maybe(SLIDING_VALUE)
    local = Shape(heads or whole.kv_heads, key_dim or whole.key_dim, value_dim or whole.value_dim)
    width = window(config, kinds)
    return [local.layer(width) if kind is Kind.SLIDING else whole.layer() for kind in kinds]


def step(config: Config) -> list[Group]:
    """Step 3.5: windowed layers may have other KV heads; the list goes on with layers of multi-token prediction."""
    count = config.whole(LAYERS)
    types = config.items("layer_types")
    if types is None:
        raise config.missing("layer_types")
    spare = Config({"layer_types": fitting(config, "layer_types", types, count, spare=8)}, config.path, config.log)
    kinds = listed(spare, count)
    whole = shape(config)
    other = config.inside("attention_other_setting")
    local = Shape(
        (other and other.maybe(KV_HEADS)) or whole.kv_heads, (other and other.maybe(HEAD_DIM)) or whole.key_dim, 0
    )
    width = window(config, kinds)
    windowed_layer = Shape(local.kv_heads, local.key_dim, local.key_dim).layer(width)
    return [windowed_layer if kind is Kind.SLIDING else whole.layer() for kind in kinds]


def nas(config: Config) -> list[Group]:
    """Nemotron-NAS: every block says how many query heads share a KV head, or that it has no attention."""
    blocks = config.items("block_configs")
    if blocks is None:
        raise config.missing("block_configs")
    count = config.whole(LAYERS)
    heads = config.whole(HEADS)
    dim = head_size(config, heads)
    layers = []
    for at, block in enumerate(fitting(config, "block_configs", blocks, count)):
        place = f"block_configs.{at}"
        holder = Config({"block": block}, config.place(place), config.log).inside("block")
        inner = holder and holder.inside("attention")
        if inner is None:
            raise refuse(config.place(place), None, "must be a table with `attention`")
        if inner.flag("no_op") or inner.flag("replace_with_linear"):
            continue
        group = inner.whole(IN_GROUP)
        if heads % group:
            raise refuse(config.place(f"{place}.attention.n_heads_in_group"), group, f"must divide {heads} heads")
        if inner.raw("window_length"):
            raise refuse(
                config.place(f"{place}.attention.window_length"), inner.raw("window_length"), "is not understood"
            )
        layers.append(attention(heads // group, dim, dim))
    return layers
