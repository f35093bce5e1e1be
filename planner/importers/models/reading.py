"""From a config.json to the layers of a model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.documents.errors import DocumentError, FieldError, refuse
from planner.importers.base import Choices
from planner.importers.models.config import Config, Log, named, plain
from planner.importers.models.families import FAMILIES, GQA, Family, family_of
from planner.importers.models.families.defaults import of_class
from planner.importers.models.groups import Group
from planner.importers.models.keys import LAYERS, MTP
from planner.importers.models.kv_dtype import kv_dtype
from planner.importers.models.positions import longest_prompt
from planner.importers.models.refused import ENCODER_DECODERS, ENCODERS, UNSERVED, check_servable, unknown
from planner.importers.models.settle import settled
from planner.importers.reading import json_document

LARGEST = 16 * 2**20
NESTED = (
    "thinker_config",
    "text_config",
    "llm_config",
    "language_config",
    "language_model_config",
    "text_model_config",
)
NAMES = ("name", "title")
_TAIL = re.compile(r"(For[A-Z]\w*|LMHeadModel|Model)$")


def _letters(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


_TYPES = {_letters(name): name for name in (*ENCODERS, *ENCODER_DECODERS, *UNSERVED, *FAMILIES)}
"""Model types by what the names of their classes begin with."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a config says of its model."""

    model_type: str
    architecture: str
    title: str
    layers: list[Group]
    max_position_tokens: int | None
    kv_dtype: str
    forced: bool
    log: Log


def table_of(path: Path) -> dict[str, Any]:
    """The table that a JSON file holds; NaN and Infinity, which real ones have, are numbers. Raises DocumentError."""
    document = json_document(path, LARGEST)
    if not isinstance(document, dict):
        raise refuse(path.name, None, f"must be a table of fields as in config.json, is a {type(document).__name__}")
    return document


def understood(table: Mapping[str, Any], file: str, choices: Choices) -> Found:
    """The model behind a config. Raises DocumentError naming the field, or the keys that were not understood."""
    log = Log(choices)
    root = Config(table, "", log)
    text, path = _text_part(table, "")
    model_type, architecture = _types(table, text)
    family, forced = _family(model_type, architecture, text, log)
    config = Config(text, path, log, {**of_class(model_type), **(family.defaults if path else {})})
    layers = family.build(config)
    _check_unread(config)
    longest = longest_prompt(config, family.length, model_type)
    _tell(config, root, file, architecture)
    groups = settled(config, root, layers, longest)
    dtype = kv_dtype(config, root)
    _check_choices(log)
    title = _title(root, config) or architecture or model_type
    return Found(model_type, architecture, title, groups, longest, dtype, forced, log)


# --- which model -------------------------------------------------------------------------------------------------


def _text_part(table: Mapping[str, Any], path: str) -> tuple[Mapping[str, Any], str]:
    """The table that describes the text model: the file's own, or one nested in it, at most three deep."""
    for name in NESTED:
        inner = table.get(name)
        place = f"{path}.{name}" if path else name
        if isinstance(inner, dict) and inner and place.count(".") < 3:
            nested = _text_part(inner, place)
            if any(key in nested[0] for key in LAYERS.names) or not any(key in table for key in LAYERS.names):
                return nested
    return table, path


def _types(root: Mapping[str, Any], text: Mapping[str, Any]) -> tuple[str, str]:
    """Model type and architecture: of the text part, or where it has none the file's."""
    stated = {"model_type": "", "architectures": ""}
    for table in (root, text):
        for name in stated:
            value = table.get(name)
            value = value[0] if name == "architectures" and isinstance(value, list) and value else value
            if value is not None and value != [] and not isinstance(value, str):
                raise refuse(name, value, "must be text" if name == "model_type" else "must be a list of names")
            stated[name] = value or stated[name]
    model_type, architecture = (text[:200] for text in stated.values())
    if not model_type and architecture:
        model_type = _type_of_class(architecture)
    for table in (root, text):
        _check_class(table)
    check_servable(_type_in(root), architecture, root)
    check_servable(model_type, architecture, text)
    if root is not text and family_of(model_type) is None and text.get("model_type") is None:
        model_type = _type_in(root)
    return model_type, architecture


def _type_in(table: Mapping[str, Any]) -> str:
    return str(table.get("model_type") or "")[:200]


def _type_of_class(architecture: str) -> str:
    """The model type whose class has this name, empty where there is none: LlamaForCausalLM is llama's."""
    return _TYPES.get(_letters(_TAIL.sub("", architecture)), "")


def _check_class(table: Mapping[str, Any]) -> None:
    """Raises DocumentError where a table names a class that is known to be of another model type.

    Types that are read alike may name each other's class, as kimi_k2 does DeepSeek V3's.
    """
    named_type, classes = table.get("model_type"), table.get("architectures")
    for architecture in classes if isinstance(classes, list) and isinstance(named_type, str) else ():
        of_its_class = _type_of_class(architecture[:200]) if isinstance(architecture, str) else ""
        alike = [(family_of(each), of_class(each)) for each in (str(named_type), of_its_class)]
        if of_its_class and family_of(str(named_type)) and alike[0] != alike[1]:
            message = f"contradicts model_type {plain(str(named_type), 60)}: it is the class of {of_its_class}"
            raise refuse("architectures", plain(architecture), message)


def _family(model_type: str, architecture: str, text: Mapping[str, Any], log: Log) -> tuple[Family, bool]:
    family = family_of(model_type)
    if family is not None:
        return family, False
    if "architecture" not in log.choices:
        raise unknown(model_type, architecture, text)
    name = plain(model_type or architecture) or "this model"
    what = f"{name} is not known here: read as plain GQA because somebody said so"
    log.choose("architecture", "", what, ("gqa",))
    return GQA, True


# --- what was not read -------------------------------------------------------------------------------------------


def _check_unread(config: Config) -> None:
    """Raises DocumentError where keys that may change the KVCache were not read, unless the user ignores them."""
    places = config.unread()
    if not places:
        return
    if "unread_keys" not in config.log.choices:
        why = "may change what layers keep, and not understood in this model_type; unread_keys=ignore leaves them out"
        raise refuse("unread_keys", None, f"{named(places)}: {why}")
    config.log.choose("unread_keys", "ignore", f"left out: {named(places)}", ("ignore",))


def _check_choices(log: Log) -> None:
    """Raises DocumentError where somebody chose what is not open here."""
    known = {each.field for each in log.assumptions}
    found = [
        FieldError(name, value, f"is no choice for this file; open are: {', '.join(sorted(known)) or 'none'}")
        for name, value in log.choices.items()
        if name not in log.answered and name not in NAMES
    ]
    if found:
        raise DocumentError(found)


# --- beside the layers -------------------------------------------------------------------------------------------


def _title(*tables: Config) -> str:
    stated = (table.raw(name) for table in tables for name in ("_name_or_path", "name_or_path"))
    return plain(next((each for each in stated if isinstance(each, str) and each.strip()), ""))


def _tell(config: Config, root: Config, file: str, architecture: str) -> None:
    """Notes on what is in the file and deliberately not counted, and on what the file cannot say."""
    log = config.log
    further = config.maybe(MTP)
    if further:
        log.notes.append(
            f"{further} layer(s) of multi-token prediction are not counted: they add KV when they are used"
        )
    if config.raw("use_cache") is False:
        log.notes.append("use_cache is false in the file: a training setting, engines keep a KVCache all the same")
    if "max_position_embeddings" not in config.table and config.raw("model_max_length"):
        log.notes.append("model_max_length is the tokenizer's limit and not taken for one of positions")
    for hint in _pooling(file, root, architecture):
        text = f"{hint}: perhaps a model that embeds or ranks and decodes nothing; the file cannot tell"
        if log.choose("task", "generation", text, ("generation", "pooling")) == "pooling":
            raise refuse("task", "pooling", "decodes nothing: its KVCache is of no use to any other machine")
        break


def _pooling(file: str, root: Config, architecture: str) -> Iterator[str]:
    for where, name in (("the file's name", file), ("_name_or_path", root.raw("_name_or_path"))):
        if isinstance(name, str) and any(word in name.lower() for word in ("embed", "rerank", "reward", "gte-", "e5-")):
            yield f"{where} is {name[:80]!r}"
    if root.raw("is_causal") is False:
        yield "is_causal is false"
    pools = ("ForSequenceClassification", "ForTokenClassification", "Model", "ForTextEncoding")
    if architecture.endswith(pools) and not architecture.endswith("LMHeadModel"):
        yield f"its class is {architecture}"
