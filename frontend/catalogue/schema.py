"""What a form of a kind asks for, read off its schema: leaves that are typed, parts, and choices between parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAliasType, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from frontend.catalogue.units import PLAIN, Unit, unit_of
from planner.entries import KINDS

type Widget = Literal["text", "area", "number", "select", "reference", "switch", "numbers", "rows", "points", "yaml"]
type Node = Leaf | Group | Choice

APART = ("provenance",)
"""Fields with a section of their own."""
LAST = ("notes",)


@dataclass(frozen=True, slots=True)
class Column:
    """One number of a line."""

    name: str
    unit: Unit
    required: bool


@dataclass(frozen=True, slots=True)
class Leaf:
    """One input. `path` is where its value stands in the document, `key` what the input is called."""

    path: str
    key: str
    widget: Widget
    required: bool = False
    whole: bool = False
    unit: Unit = PLAIN
    options: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    default: str = ""

    @property
    def name(self) -> str:
        """The field in the table that holds it."""
        return self.path.rsplit(".", 1)[-1]


@dataclass(frozen=True, slots=True)
class Group:
    """A part of a document: left out of it where nothing of it is filled in."""

    path: str
    key: str
    members: tuple[Node, ...]
    required: bool = False

    @property
    def name(self) -> str:
        """The field in the table that holds it."""
        return self.path.rsplit(".", 1)[-1]


@dataclass(frozen=True, slots=True)
class Option:
    """One of the forms that a part may have: a table told by its tag, or one plain value."""

    tag: str
    members: tuple[Node, ...]
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """A part that is one of several tables, which `tag_field` tells apart."""

    path: str
    key: str
    tag_field: str
    options: tuple[Option, ...]
    required: bool = False
    default: str = ""
    """The tag of what is meant where nothing is chosen."""

    @property
    def name(self) -> str:
        """The field in the table that holds it."""
        return self.path.rsplit(".", 1)[-1]

    def chosen(self, value: Any) -> str:
        """The tag of the option that a value of the document is; empty where it is none."""
        if isinstance(value, dict):
            return str(value.get(self.tag_field, ""))
        plain = next((option.tag for option in self.options if option.plain), "")
        return "" if value is None else plain


@cache
def nodes(kind: str) -> tuple[Node, ...]:
    """All inputs of a kind, the notes last."""
    known = KINDS[kind]
    found = [
        Leaf(node.path, node.key, "reference", node.required, options=(known.references[node.path],))
        if isinstance(node, Leaf) and node.path in known.references
        else node
        for node in _members(known.schema, "", "")
        if node.path not in APART
    ]
    return tuple(sorted(found, key=lambda node: node.path in LAST))


def _members(table: type[BaseModel], path: str, key: str, skip: str = "") -> tuple[Node, ...]:
    lists = _parallel_lists(table)
    fields = [(field.alias or name, field) for name, field in table.model_fields.items() if name != skip]
    found: list[Node] = []
    if lists:
        columns = tuple(
            Column(name, unit_of(f"{path}.{name}"), table.model_fields[name].is_required()) for name in lists
        )
        found.append(Leaf(path, f"{key}.points", "points", required=True, columns=columns))
    for name, field in fields:
        if name not in lists:
            found.append(_node(field, _below(path, name), _below(key, name)))
    return tuple(found)


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _parallel_lists(table: type[BaseModel]) -> tuple[str, ...]:
    """Lists of numbers that belong together line by line: the lengths, and what was measured at them."""
    lists = [name for name, field in table.model_fields.items() if _is_list_of_numbers(_bare(field.annotation))]
    return tuple(lists) if len(lists) > 1 else ()


def _node(field: FieldInfo, path: str, key: str) -> Node:
    alternatives = [_bare(each) for each in _alternatives(field.annotation)]
    tables = [each for each in alternatives if isinstance(each, type) and issubclass(each, BaseModel)]
    required = field.is_required()
    if len(tables) == 1 and len(alternatives) == 1:
        return Group(path, key, _members(tables[0], path, key), required)
    if tables and not any(map(_is_list, alternatives)):
        default = field.default
        return _choice(tables, [each for each in alternatives if each not in tables], path, key, required, default)
    return _leaf(field, alternatives, path, key, required)


def _choice(
    tables: list[type[BaseModel]], plain: list[Any], path: str, key: str, required: bool, default: Any
) -> Choice:
    tag_field = _tag_field(tables)
    options = [
        Option(tag, _members(table, path, f"{key}:{tag}", skip=tag_field))
        for table in tables
        for tag in _tags(table, tag_field)
    ]
    for each in plain:
        whole = each is int
        leaf = Leaf(path, f"{key}:number", "number", True, whole, unit_of(path))
        options.insert(0, Option("number", (leaf,), plain=True))
    usual = str(getattr(default, tag_field)) if isinstance(default, BaseModel) else ""
    return Choice(path, key, tag_field, tuple(options), required, usual)


def _tag_field(tables: list[type[BaseModel]]) -> str:
    first = tables[0].model_fields
    return next(name for name, field in first.items() if get_origin(_bare(field.annotation)) is Literal)


def _tags(table: type[BaseModel], tag_field: str) -> tuple[str, ...]:
    return tuple(map(str, get_args(_bare(table.model_fields[tag_field].annotation))))


def _leaf(field: FieldInfo, alternatives: list[Any], path: str, key: str, required: bool) -> Leaf:
    only = alternatives[0]
    default = "" if required or field.default in (None, "", [], {}) else str(field.default)
    if get_origin(only) is Literal:
        return Leaf(path, key, "select", required, options=tuple(map(str, get_args(only))), default=default)
    if only is bool:
        return Leaf(path, key, "switch", required, options=("yes", "no"), default="yes" if field.default else "no")
    if only in (int, float):
        return Leaf(path, key, "number", required, only is int, unit_of(path), default=default)
    if only is str:
        return Leaf(path, key, "area" if key in LAST else "text", required, default=default)
    if _is_list_of_numbers(only):
        return Leaf(path, key, "numbers", required, unit=unit_of(path))
    columns = _flat_columns(only, path)
    return Leaf(path, key, "rows" if columns else "yaml", required, columns=columns)


def _flat_columns(annotation: Any, path: str) -> tuple[Column, ...]:
    """The columns of a list of tables that have nothing but numbers."""
    items = get_args(annotation)
    table = _bare(items[0]) if _is_list(annotation) and items else None
    if not (isinstance(table, type) and issubclass(table, BaseModel)):
        return ()
    kinds = [_alternatives(field.annotation) for field in table.model_fields.values()]
    if not all(len(each) == 1 and _bare(each[0]) in (int, float) for each in kinds):
        return ()
    return tuple(
        Column(name, unit_of(f"{path}.{name}"), field.is_required()) for name, field in table.model_fields.items()
    )


def _bare(annotation: Any) -> Any:
    """Without what is said about a type beside it, and without None."""
    if isinstance(annotation, TypeAliasType):
        return _bare(annotation.__value__)
    if get_origin(annotation) is Annotated:
        return _bare(get_args(annotation)[0])
    alternatives = _alternatives(annotation)
    return _bare(alternatives[0]) if _is_union(annotation) and len(alternatives) == 1 else annotation


def _alternatives(annotation: Any) -> list[Any]:
    """What a field may be, None apart."""
    if get_origin(annotation) is Annotated:
        return _alternatives(get_args(annotation)[0])
    if _is_union(annotation):
        return [inner for each in get_args(annotation) if each is not NoneType for inner in _alternatives(each)]
    return [annotation]


def _is_union(annotation: Any) -> bool:
    return get_origin(annotation) in (Union, UnionType)


def _is_list(annotation: Any) -> bool:
    return get_origin(annotation) is list


def _is_list_of_numbers(annotation: Any) -> bool:
    return _is_list(annotation) and _bare(get_args(annotation)[0]) in (int, float)


def leaves(members: tuple[Node, ...], texts: dict[str, str] | None = None) -> Iterator[Leaf | Choice]:
    """Every input in order; with `texts`, of a choice only what is chosen."""
    for node in members:
        if isinstance(node, Leaf):
            yield node
        elif isinstance(node, Group):
            yield from leaves(node.members, texts)
        else:
            yield node
            for option in node.options:
                if texts is None or texts.get(node.key) == option.tag:
                    yield from leaves(option.members, texts)
