"""A form for an entry of any kind: the document as texts, what was typed as a document, mistakes by input."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from frontend.catalogue.codec import ABSENT, Mistyped, text_of, tidy, value_of
from frontend.catalogue.schema import Choice, Group, Leaf, Node, Option, leaves, nodes
from frontend.catalogue.units import Unit, written
from planner.documents.errors import FieldError, shown

type Document = dict[str, Any]
type Texts = dict[str, str]

LIMIT = re.compile(r"(at least|at most|greater than|less than) ([\d.eE+-]+)$")
SMALLEST = 1e-9
"""A lower limit below this only says that the number is positive."""


@dataclass(slots=True)
class EntryForm:
    """What is typed about an entry, on top of the document that it was read from."""

    kind: str
    base: Document
    texts: Texts
    errors: dict[str, list[str]] = field(default_factory=dict)
    """Sentences by the key of their input; those of no input under the empty key."""

    @classmethod
    def of(cls, kind: str, base: Document) -> EntryForm:
        """As nobody has touched it."""
        return cls(kind, base, texts_of(kind, base))

    @classmethod
    def typed(cls, kind: str, base: Document, posted: Mapping[str, str]) -> EntryForm:
        """As it was sent; an input that was not sent is as it was."""
        before = texts_of(kind, base)
        inputs = {leaf.key: leaf for leaf in leaves(nodes(kind))}
        sent = {key: tidy(leaf, posted[key]) if isinstance(leaf, Leaf) else posted[key]
                for key, leaf in inputs.items() if key in posted}  # fmt: skip
        return cls(kind, base, before | sent)

    def touched(self) -> Texts:
        """What differs from the base, by key."""
        before = texts_of(self.kind, self.base)
        return {key: text for key, text in self.texts.items() if text != before.get(key, "")}

    def document(self) -> Document:
        """The document that is typed; notes in `errors` what stands for no value. Provenance is the base's."""
        found = self._table(nodes(self.kind), self.base, texts_of(self.kind, self.base))
        return found | {key: self.base[key] for key in ("provenance",) if key in self.base}

    def refuse(self, mistakes: Iterable[FieldError]) -> None:
        """Puts each mistake beside its input."""
        unreadable = set(self.errors)
        for mistake in mistakes:
            leaf = self._input_of(mistake.field or "")
            key = leaf.key if leaf else ""
            if key in unreadable or (unreadable and not key):
                continue  # what is made of a text that cannot be read says nothing more
            told = self.errors.setdefault(key, [])
            if (sentence := _sentence(mistake, leaf)) not in told:
                told.append(sentence)

    # --- from texts to a document ---

    def _table(self, members: Sequence[Node], base: Document, before: Texts) -> Document:
        found: Document = {}
        for node in members:
            if isinstance(node, Leaf) and node.widget == "points":
                found |= self._leaf(node, {c.name: base[c.name] for c in node.columns if c.name in base}, before, {})
                continue
            value = self._value(node, base.get(node.name, ABSENT), before)
            if value is not ABSENT:
                found[node.name] = value
        return found

    def _value(self, node: Node, base: Any, before: Texts) -> Any:
        if isinstance(node, Leaf):
            return self._leaf(node, base, before, ABSENT)
        inner = base if isinstance(base, dict) else {}
        if isinstance(node, Group):
            table = self._table(node.members, inner, before)
            return table if table or (node.required and node.members) else _empty(base)
        tag = self.texts.get(node.key, "")
        option = next((each for each in node.options if each.tag == tag), None)
        if option is None:
            return _empty(base) if not tag else {node.tag_field: tag}
        if option.plain:
            return self._leaf(_only(option), base, before, ABSENT)
        same = inner if node.chosen(base) == tag else {}
        return {node.tag_field: tag, **self._table(option.members, same, before)}

    def _leaf(self, leaf: Leaf, base: Any, before: Texts, absent: Any) -> Any:
        text = self.texts.get(leaf.key, "")
        if text == before.get(leaf.key, ""):
            return absent if base is ABSENT else base
        try:
            value = value_of(leaf, text)
        except Mistyped as problem:
            self.errors.setdefault(leaf.key, []).append(str(problem))
            return absent if base is ABSENT else base
        return absent if value is ABSENT else value

    # --- from mistakes to inputs ---

    def _input_of(self, path: str) -> Leaf | Choice | None:
        """The input that a path stands for: itself, the nearest around it, or the first within it."""
        known = list(leaves(nodes(self.kind), self.texts))
        around = [leaf for leaf in known if leaf.path and f"{path}.".startswith(f"{leaf.path}.")]
        within = [leaf for leaf in known if path and leaf.path.startswith(f"{path}.")]
        nearest_first = sorted(around, key=lambda leaf: (len(leaf.path), isinstance(leaf, Leaf)), reverse=True)
        return next(iter([*nearest_first, *within]), None)


def texts_of(kind: str, document: Document) -> Texts:
    """Every input's text, as the document has it."""
    return _texts(nodes(kind), document)


def _texts(members: Sequence[Node], table: Document) -> Texts:
    found: Texts = {}
    for node in members:
        value = table.get(node.name)
        if isinstance(node, Leaf):
            found[node.key] = text_of(node, table if node.widget == "points" and table else value)
        elif isinstance(node, Group):
            found |= _texts(node.members, value if isinstance(value, dict) else {})
        else:
            found |= _texts_of_choice(node, value)
    return found


def _texts_of_choice(node: Choice, value: Any) -> Texts:
    tag = node.chosen(value)
    found = {node.key: tag}
    for option in node.options:
        if option.plain:
            found[_only(option).key] = text_of(_only(option), value if option.tag == tag else None)
        else:
            found |= _texts(option.members, value if option.tag == tag and isinstance(value, dict) else {})
    return found


def _only(option: Option) -> Leaf:
    leaf = option.members[0]
    assert isinstance(leaf, Leaf)  # noqa: S101 - a plain option has one input
    return leaf


def _empty(base: Any) -> Any:
    """A part of which nothing is filled in: as it was where it was empty too."""
    return base if base is None or base == {} else ABSENT


def _sentence(mistake: FieldError, leaf: Leaf | Choice | None) -> str:
    """The mistake as it reads beside its input: the place within it, and limits in the input's unit."""
    message = mistake.message
    if leaf is None:
        given = "" if mistake.value is None else f" {shown(mistake.value)}"
        return f"{mistake.field or 'The entry'}{given} {message}"
    rest = (mistake.field or "").removeprefix(leaf.path).strip(".")
    if not isinstance(leaf, Leaf):
        return message
    return f"{_place(leaf, rest, message)}{_in_unit(message, _unit(leaf, rest))}"


def _unit(leaf: Leaf, rest: str) -> Unit:
    return next((column.unit for column in leaf.columns if column.name in rest.split(".")), leaf.unit)


def _place(leaf: Leaf, rest: str, message: str) -> str:
    """`seconds.3` or `3.seconds` as a person counts: `line 4, seconds: `."""
    if not rest or message == "is missing":
        return ""
    parts = rest.split(".")
    line = next((int(part) + 1 for part in parts if part.isdecimal()), None)
    names = " ".join(part for part in parts if not part.isdecimal()).replace("_", " ")
    word = "line" if leaf.widget in ("rows", "points") else "item"
    return ", ".join(filter(None, (f"{word} {line}" if line else "", names))) + ": "


def _in_unit(message: str, unit: Unit) -> str:
    """A limit in the unit of the input; one that only says that a number is positive, as that."""
    found = LIMIT.search(message)
    if found is None:
        return message
    limit = float(found[2])
    if 0 < limit < SMALLEST:
        return LIMIT.sub("greater than 0", message)
    return message if unit.scale == 1 else LIMIT.sub(f"{found[1]} {written(limit, unit)} {unit.text}", message)
