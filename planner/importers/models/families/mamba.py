"""State-space models and their hybrids with attention: Mamba, Jamba, Nemotron-H, Granite 4, Falcon-H1, Zamba2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planner.documents.errors import refuse
from planner.importers.models.config import Config
from planner.importers.models.families.attention import Shape, divided, one_each, shape
from planner.importers.models.groups import Group, recurrent
from planner.importers.models.keys import HEAD_DIM, HEADS, HIDDEN, LAYERS, Key
from planner.importers.models.layout import LETTERS, Kind, lettered, listed

EXPAND = Key("layers.conv_channels", ("mamba_expand", "expand"), highest=1000)
INNER = Key("layers.conv_channels", ("mamba_d_ssm", "intermediate_size"))
STATE = Key("layers.state_shape", ("mamba_d_state", "ssm_state_size", "state_size"))
KERNEL = Key("layers.conv_kernel", ("mamba_d_conv", "conv_kernel"), highest=1000)
SSM_HEADS = Key("layers.state_shape", ("mamba_n_heads", "mamba_num_heads", "n_mamba_heads"))
SSM_SIZE = Key("layers.state_shape", ("mamba_d_head", "mamba_head_dim", "mamba_headdim"))
SSM_GROUPS = Key("layers.conv_channels", ("mamba_n_groups", "n_groups", "mamba_ngroups"))
PURE_HEADS = Key("layers.state_shape", ("num_heads",))
D_SSM = Key("layers.conv_channels", ("mamba_d_ssm",))
OWN_DIM = Key(HEAD_DIM.ours, ("attention_head_dim",))
PERIOD = Key("layers", ("attn_layer_period",), highest=10_000)
OFFSET = Key("layers", ("attn_layer_offset",), lowest=0, highest=10_000)


@dataclass(frozen=True, slots=True)
class Two:
    """Mamba 2: a state of heads by head size by state size; the convolution sees the inputs and two gates a group."""

    heads: int
    size: int
    state: int
    groups: int
    kernel: int
    inner: int

    def layer(self) -> Group:
        """One layer."""
        channels = self.inner + 2 * self.groups * self.state
        return recurrent("mamba2", (self.heads, self.size, self.state), channels, self.kernel)


def mamba2_layer(config: Config, inner: int | None = None) -> Group:
    """A layer of Mamba 2, from keys of any of its models; `inner` where it is not hidden size by expansion."""
    inner = inner or config.whole(HIDDEN) * config.whole(EXPAND)
    config.maybe(EXPAND)
    heads = config.whole(SSM_HEADS)
    if config.raw("mamba_d_head") == "auto":
        size = divided(config, SSM_HEADS.names[0], inner, heads)
        config.took("mamba_d_head", SSM_SIZE.ours, "auto: inner size by heads")
    else:
        size = config.maybe(SSM_SIZE) or divided(config, SSM_HEADS.names[0], inner, heads)
    state, groups = config.whole(STATE), config.whole(SSM_GROUPS)
    return Two(heads, size, state, groups, config.whole(KERNEL), inner).layer()


def mamba1_layer(config: Config, inner: int | None = None) -> Group:
    """A layer of Mamba: a state of channels by state size, and their convolution."""
    inner = inner or config.whole(HIDDEN) * config.whole(EXPAND)
    config.maybe(EXPAND)
    return recurrent("mamba1", (inner, config.whole(STATE)), inner, config.whole(KERNEL))


# --- without attention -------------------------------------------------------------------------------------------


def mamba1(config: Config) -> list[Group]:
    """Mamba and Falcon-Mamba."""
    count = config.whole(LAYERS)
    inner = config.maybe(Key(INNER.ours, ("intermediate_size", "d_inner")))
    return [mamba1_layer(config, inner)] * count


def mamba2(config: Config) -> list[Group]:
    """Mamba 2, Codestral Mamba."""
    count = config.whole(LAYERS)
    inner = config.whole(HIDDEN) * config.whole(EXPAND)
    heads, size, state = config.whole(PURE_HEADS), config.whole(HEAD_DIM), config.whole(STATE)
    layer = Two(heads, size, state, config.whole(SSM_GROUPS), config.whole(KERNEL), inner)
    if heads * size != inner:
        raise refuse(
            config.place("num_heads"), heads, f"times head_dim {size} must be hidden_size times expand, {inner}"
        )
    return [layer.layer()] * count


# --- hybrids -----------------------------------------------------------------------------------------------------


def mixed(config: Config, kinds: list[Kind], attention: Callable[[], Group], state: Callable[[], Group]) -> list[Group]:
    """Every layer's groups; each kind is read only where it occurs. Raises DocumentError."""
    config.seen(STATE, KERNEL, SSM_HEADS, SSM_SIZE, SSM_GROUPS, PERIOD, OFFSET)
    has = set(kinds)
    whole = attention() if has & {Kind.FULL, Kind.BOTH} else None
    recurring = state() if has & {Kind.LINEAR, Kind.BOTH} else None
    if has & {Kind.SLIDING, Kind.CHUNKED, Kind.CONV}:
        raise refuse("layer_types", None, "has windows or convolutions, which this model_type does not have")
    layers: list[Group] = []
    for kind in kinds:
        layers += [whole] if whole and kind in (Kind.FULL, Kind.BOTH) else []
        layers += [recurring] if recurring and kind in (Kind.LINEAR, Kind.BOTH) else []
    return layers


def jamba(config: Config) -> list[Group]:
    """Jamba: Mamba layers, and one of attention in every period."""
    count = config.whole(LAYERS)
    kinds = listed(config, count)
    period, offset = config.maybe(PERIOD), config.maybe(OFFSET)
    if not kinds and (period is None or offset is None):
        raise config.missing(*(key.names[0] for key, got in ((PERIOD, period), (OFFSET, offset)) if got is None))
    if not kinds and not (offset or 0) < (period or 1):
        raise refuse(config.place(OFFSET.names[0]), offset, f"must be less than the period, {period}")
    if not kinds:
        kinds = [Kind.FULL if layer % (period or 1) == offset else Kind.LINEAR for layer in range(count)]
    return mixed(config, kinds, lambda: shape(config).layer(), lambda: mamba1_layer(config))


def bamba(config: Config) -> list[Group]:
    """Bamba: attention in the layers of `attn_layer_indices`."""
    count = config.whole(LAYERS)
    kinds = listed(config, count)
    indices = config.numbers("attn_layer_indices", 0, count - 1)
    if not kinds and indices is None:
        raise config.missing("attn_layer_indices", "layer_types")
    kinds = kinds or [Kind.FULL if layer in (indices or ()) else Kind.LINEAR for layer in range(count)]
    return mixed(config, kinds, lambda: shape(config).layer(), lambda: mamba2_layer(config))


def granite(config: Config) -> list[Group]:
    """Granite 4: Mamba 2 and attention as listed; in the small ones of them every layer may be one or the other."""
    count = config.whole(LAYERS)
    kinds = listed(config, count)
    if not kinds:
        raise config.missing("layer_types", "layers_block_type")
    return mixed(config, kinds, lambda: shape(config).layer(), lambda: mamba2_layer(config))


def falcon_h1(config: Config) -> list[Group]:
    """Falcon-H1: attention and Mamba 2 side by side in every layer; mamba_d_ssm overrules the expansion."""
    count = config.whole(LAYERS)
    return mixed(
        config,
        [Kind.BOTH] * count,
        lambda: shape(config).layer(),
        lambda: mamba2_layer(config, config.maybe(D_SSM)),
    )


def nemotron_h(config: Config) -> list[Group]:
    """Nemotron-H: a pattern of Mamba 2 (M), attention (*), and layers that keep nothing (- and E)."""
    count = config.maybe(LAYERS)
    kinds = lettered(config, "hybrid_override_pattern", LETTERS, count)
    blocks = config.items("layers_block_type")
    if not kinds and blocks:
        kinds = listed(config, count or len(blocks))
    if not kinds:
        raise config.missing("hybrid_override_pattern", "layers_block_type")
    return mixed(config, kinds, lambda: shape(config).layer(), lambda: _nemotron_layer(config))


def _nemotron_layer(config: Config) -> Group:
    """Its inner size is that of its heads; `expand` and `intermediate_size` say other things in this model."""
    return mamba2_layer(config, config.whole(SSM_HEADS) * config.whole(SSM_SIZE))


def zamba2(config: Config) -> list[Group]:
    """Zamba2: Mamba 2 everywhere; hybrid layers also call attention, whose weights are shared, not its cache."""
    count = config.whole(LAYERS)
    kinds = listed(config, count)
    hybrids = config.numbers("hybrid_layer_ids", 0, count - 1)
    if not kinds and hybrids is None:
        raise config.missing("layers_block_type", "hybrid_layer_ids")
    kinds = kinds or [Kind.BOTH if layer in (hybrids or ()) else Kind.LINEAR for layer in range(count)]
    return mixed(config, kinds, lambda: _zamba2_attention(config), lambda: mamba2_layer(config))


def _zamba2_attention(config: Config) -> Group:
    """Attention sees the layer's input beside the embeddings: twice the hidden size."""
    heads = config.whole(HEADS)
    size = config.maybe(OWN_DIM) or divided(config, HIDDEN.names[0], 2 * config.whole(HIDDEN), heads)
    for name in ("kv_channels", "attention_hidden_size"):
        config.raw(name)  # half of it, of the embedding's part alone
    return Shape(one_each(config, heads), size, size).layer()
