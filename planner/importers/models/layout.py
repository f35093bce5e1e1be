"""Which layer is of which kind: from a list in the file, or from a rule that the file parametrises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from planner.documents.errors import refuse
from planner.importers.models.config import Config
from planner.importers.models.keys import MTP, Key


class Kind(StrEnum):
    """What a layer is, as far as its cache goes."""

    FULL = "full attention"
    SLIDING = "sliding window"
    CHUNKED = "chunked attention"
    LINEAR = "recurrent"
    CONV = "short convolution"
    BOTH = "attention and recurrent"
    NONE = "no cache"


WORDS: Mapping[str, Kind] = {
    "full_attention": Kind.FULL,
    "attention": Kind.FULL,
    "global": Kind.FULL,
    "indexed_attention": Kind.FULL,
    "sliding_attention": Kind.SLIDING,
    "local": Kind.SLIDING,
    "chunked_attention": Kind.CHUNKED,
    "linear_attention": Kind.LINEAR,
    "mamba": Kind.LINEAR,
    "mamba2": Kind.LINEAR,
    "conv": Kind.CONV,
    "short_conv": Kind.CONV,
    "hybrid": Kind.BOTH,
    "mlp": Kind.NONE,
    "moe": Kind.NONE,
}
LETTERS: Mapping[Any, Kind] = {"M": Kind.LINEAR, "*": Kind.FULL, "-": Kind.NONE, "E": Kind.NONE}
LOCAL_GLOBAL: Mapping[Any, Kind] = {"L": Kind.SLIDING, "G": Kind.FULL}
FULL_IS_ONE: Mapping[Any, Kind] = {1: Kind.FULL, 0: Kind.LINEAR}
SLIDING_IS_ONE: Mapping[Any, Kind] = {1: Kind.SLIDING, 0: Kind.FULL}

LISTS = ("layer_types", "layers_block_type")


def listed(config: Config, count: int, names: Sequence[str] = LISTS, words: Mapping[Any, Kind] = WORDS) -> list[Kind]:
    """The kind of each layer from the first of these lists that the file has, empty where it has none.

    Raises DocumentError on a kind that is not known, and on a list that does not fit the number of layers.
    """
    found: list[Kind] = []
    for name in names:
        items = config.items(name)
        if items and not found:
            found = [_kind(f"{config.place(name)}.{at}", item, words) for at, item in enumerate(items)]
            found = fitting(config, name, found, count)
            config.took(name, "layers", _summary(found))
    return found


def fitting[T](config: Config, name: str, items: list[T], count: int, spare: int = 0) -> list[T]:
    """The items of the `count` layers; behind them may stand those of layers that predict further tokens, at most.

    Raises DocumentError.
    """
    further = max(config.maybe(MTP) or 0, spare)
    if not count <= len(items) <= count + further:
        raise refuse(config.place(name), None, f"has {len(items):,} entries for {count:,} layers")
    if len(items) > count:
        config.log.notes.append(
            f"{name} has {len(items) - count} entries for layers of multi-token prediction: left out"
        )
    return items[:count]


def _kind(place: str, item: Any, words: Mapping[Any, Kind]) -> Kind:
    hashable = item if isinstance(item, str | int) and not isinstance(item, bool) else None
    if hashable not in words:
        raise refuse(place, item, f"is no kind of layer that is known here: {', '.join(str(word) for word in words)}")
    return words[hashable]


def lettered(config: Config, name: str, letters: Mapping[Any, Kind], count: int | None) -> list[Kind]:
    """The kind of each layer from a word of letters; empty where the file has none. Raises DocumentError."""
    word = config.text(name)
    if len(word) > 10_000:
        raise refuse(config.place(name), None, f"has {len(word):,} letters; at most 10,000 layers are read")
    found = [_kind(config.place(name), letter, letters) for letter in word]
    if found and count is not None and len(found) != count:
        raise refuse(config.place(name), None, f"has {len(found):,} letters for {count:,} layers")
    if found:
        config.took(name, "layers", _summary(found))
    return found


def every(config: Config, count: int, key: Key, others: Kind, default: int | None = None) -> list[Kind]:
    """Full attention in every n-th layer, `others` between.

    Without an n in the file it is the one that the model's class takes, said as an assumption. Raises DocumentError
    where there is no such class either.
    """
    if default is not None:
        config.defaults = {key.names[0]: default, **config.defaults}
    interval = config.maybe(key)
    if interval is None:
        raise config.missing(LISTS[0], *key.names)
    return [Kind.FULL if (layer + 1) % interval == 0 else others for layer in range(count)]


def _summary(kinds: Sequence[Kind]) -> str:
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in Kind if kind in kinds)
