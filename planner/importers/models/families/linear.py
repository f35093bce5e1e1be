"""Hybrids of attention with linear attention that is learned by a delta rule or decays: GDN, KDA, Lightning; LFM2."""

from __future__ import annotations

from collections.abc import Callable

from planner.documents.errors import refuse
from planner.importers.models.config import Config
from planner.importers.models.families.attention import head_size, shape
from planner.importers.models.families.latent import latent_layer
from planner.importers.models.groups import Group, recurrent
from planner.importers.models.keys import HEADS, HIDDEN, LAYERS, Key
from planner.importers.models.layout import FULL_IS_ONE, Kind, every, fitting, listed

INTERVAL = Key("layers", ("full_attention_interval",), highest=10_000)
GROUP_SIZE = Key("layers", ("layer_group_size",), highest=10_000)
KERNEL = Key("layers.conv_kernel", ("linear_conv_kernel_dim", "short_conv_kernel_size"), highest=1000)
KEY_HEADS = Key("layers.conv_channels", ("linear_num_key_heads",))
VALUE_HEADS = Key("layers.state_shape", ("linear_num_value_heads",))
KEY_SIZE = Key("layers.state_shape", ("linear_key_head_dim",))
VALUE_SIZE = Key("layers.state_shape", ("linear_value_head_dim",))
LINEAR_HEADS = Key("layers.state_shape", ("linear_num_heads", "num_kv_heads_for_linear_attn"))
LINEAR_SIZE = Key("layers.state_shape", ("linear_head_dim",))
INNER_HEADS = Key("layers.state_shape", ("num_heads",))
INNER_SIZE = Key("layers.state_shape", ("head_dim",))
CONV = Key("layers.conv_channels", ("conv_dim", *HIDDEN.names))
CONV_KERNEL = Key("layers.conv_kernel", ("conv_L_cache",), highest=1000)


def hybrid(config: Config, kinds: list[Kind], whole: Callable[[], Group], other: Callable[[], Group]) -> list[Group]:
    """Layers with attention and layers with a state; each kind is read only where it occurs. Raises DocumentError."""
    strange = next((at for at, kind in enumerate(kinds) if kind not in (Kind.FULL, Kind.LINEAR, Kind.CONV)), None)
    if strange is not None:
        place = config.place(f"layer_types.{strange}")
        raise refuse(place, None, f"is a layer of {kinds[strange]}, which this model_type does not have")
    config.seen(KERNEL, KEY_HEADS, VALUE_HEADS, KEY_SIZE, VALUE_SIZE, LINEAR_HEADS, LINEAR_SIZE)
    made = {kind: whole() if kind is Kind.FULL else other() for kind in dict.fromkeys(kinds)}
    return [made[kind] for kind in kinds]


# --- gated delta nets --------------------------------------------------------------------------------------------


def gdn(config: Config) -> list[Group]:
    """Qwen3-Next, Qwen3.5, OLMo hybrid: GDN, and full attention in every n-th layer."""
    count = config.whole(LAYERS)
    kinds = listed(config, count) or every(config, count, INTERVAL, Kind.LINEAR)
    config.maybe(INTERVAL)
    return hybrid(config, kinds, shape_layer(config), lambda: _gdn_layer(config))


def shape_layer(config: Config) -> Callable[[], Group]:
    """A layer of full attention, read when it is needed."""
    return lambda: shape(config).layer()


def _gdn_layer(config: Config) -> Group:
    """State of value heads by value and key size; the convolution sees queries, keys and values."""
    keys, values = config.whole(KEY_HEADS), config.whole(VALUE_HEADS)
    key_size, value_size = config.whole(KEY_SIZE), config.whole(VALUE_SIZE)
    channels = 2 * keys * key_size + values * value_size
    return recurrent("gdn", (values, value_size, key_size), channels, config.whole(KERNEL))


# --- Kimi delta attention ----------------------------------------------------------------------------------------


def kimi_linear(config: Config) -> list[Group]:
    """Kimi Linear: KDA, and MLA in the layers that `linear_attn_config` counts from 1 or `layer_types` lists."""
    count = config.whole(LAYERS)
    inner = config.inside("linear_attn_config")
    kinds = _numbered(inner, count) if inner else listed(config, count)
    if not kinds:
        raise config.missing("linear_attn_config.full_attn_layers", "layer_types")
    return hybrid(config, kinds, lambda: latent_layer(config), lambda: _kda_layer(config, inner))


def _numbered(inner: Config, count: int) -> list[Kind]:
    whole, linear = (inner.numbers(name, 0, 10_000) or [] for name in ("full_attn_layers", "kda_layers"))
    if not whole and not linear:
        return []
    if sorted(whole + linear) != list(range(1, count + 1)):
        message = f"and kda_layers must have each of the layers 1 to {count} once"
        raise refuse(inner.place("full_attn_layers"), None, message)
    inner.took("full_attn_layers", "layers", "counted from 1")
    return [Kind.FULL if layer in whole else Kind.LINEAR for layer in range(1, count + 1)]


def _kda_layer(config: Config, inner: Config | None) -> Group:
    if inner:
        return kda(inner.whole(INNER_HEADS), inner.whole(INNER_SIZE), inner.whole(KERNEL))
    return kda(config.whole(LINEAR_HEADS), config.whole(LINEAR_SIZE), config.whole(KERNEL))


def kda(heads: int, size: int, kernel: int) -> Group:
    """A layer of KDA: queries, keys and values each have their own convolution."""
    return recurrent("kda", (heads, size, size), 3 * heads * size, kernel)


# --- Lightning attention -----------------------------------------------------------------------------------------


def minimax(config: Config) -> list[Group]:
    """MiniMax-Text-01 and M1: Lightning attention, full where `attn_type_list` has a 1. There is no convolution."""
    count = config.whole(LAYERS)
    kinds = listed(config, count, ("attn_type_list",), FULL_IS_ONE) or listed(config, count)
    if not kinds:
        raise config.missing("attn_type_list", "layer_types")
    heads = config.whole(HEADS)
    size = head_size(config, heads)
    return hybrid(config, kinds, shape_layer(config), lambda: recurrent("lightning", (heads, size, size)))


def bailing(config: Config) -> list[Group]:
    """Ring and Ling: Lightning attention or KDA, with full attention (GQA, or MLA since 2.5) at the end of a group."""
    count = config.whole(LAYERS)
    kinds = listed(config, count) or _grouped(config, count)
    config.raw("layer_group_size")
    is_latent = config.raw("kv_lora_rank") is not None
    # in files with MLA, head_dim may be the rotary part of the heads; linear layers then have a size of their own
    heads = config.maybe(LINEAR_HEADS) or config.whole(HEADS)
    size = config.maybe(LINEAR_SIZE) or head_size(config, config.whole(HEADS))
    kernel = config.maybe(KERNEL)
    linear = kda(heads, size, kernel) if kernel else recurrent("lightning", (heads, size, size))
    attention = (lambda: latent_layer(config)) if is_latent else shape_layer(config)
    return hybrid(config, kinds, attention, lambda: linear)


def _grouped(config: Config, count: int) -> list[Kind]:
    if isinstance(config.raw("layer_group_size"), list):
        ones = fitting(config, "layer_group_size", config.numbers("layer_group_size", highest=1) or [], count)
        config.took("layer_group_size", "layers", "1 is linear")
        return [Kind.LINEAR if one else Kind.FULL for one in ones]
    kinds = every(config, count, GROUP_SIZE, Kind.LINEAR)
    rest = count % config.whole(GROUP_SIZE)
    if rest:
        text = f"the last {rest} layers fill no group: linear in transformers and vLLM, full attention in other ports"
        if config.log.choose("last_layers", "linear", text, ("linear", "full")) == "full":
            kinds[-rest:] = [Kind.FULL] * rest
    return kinds


# --- short convolutions ------------------------------------------------------------------------------------------


def lfm2(config: Config) -> list[Group]:
    """LFM2: short convolutions between layers of full attention; their inputs are all the state there is."""
    count = config.whole(LAYERS)
    kinds = listed(config, count) or _at(config, "full_attn_idxs", count, Kind.CONV)
    config.raw("full_attn_idxs")
    if not kinds:
        raise config.missing("layer_types", "full_attn_idxs")
    if Kind.LINEAR in kinds:
        raise refuse(config.place("layer_types"), None, "has recurrent layers, which this model_type does not have")
    channels, kernel = config.whole(CONV), config.whole(CONV_KERNEL)
    return hybrid(config, kinds, shape_layer(config), lambda: recurrent("short_conv", (), channels, kernel))


def _at(config: Config, name: str, count: int, others: Kind) -> list[Kind]:
    places = config.numbers(name, 0, count - 1)
    if places is None:
        return []
    config.took(name, "layers", "counted from 0")
    return [Kind.FULL if layer in places else others for layer in range(count)]
