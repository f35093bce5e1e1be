"""A form as its template draws it: inputs with text, unit, options and mistakes, in parts and choices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from frontend.catalogue import kinds
from frontend.catalogue.examples import example_of
from frontend.catalogue.form import EntryForm
from frontend.catalogue.schema import Choice, Group, Leaf, Node, nodes

type Drawn = Input | Part
type Names = Callable[[str], Sequence[str]]
"""The stored names of a kind."""

LARGEST = 40_000
"""Characters of a list beyond which nobody edits it in a page: it is imported."""
LINES = range(2, 21)


@dataclass(frozen=True, slots=True)
class Input:
    """One input, its label and what is said about it."""

    leaf: Leaf | Choice
    label: str
    text: str
    errors: Sequence[str] = ()
    note: str = ""
    help: str = ""
    example: str = ""
    options: Sequence[tuple[str, str]] = ()
    is_required: bool = False
    is_fixed: bool = False
    is_frozen: bool = False

    @property
    def widget(self) -> str:
        """Which template draws it."""
        return self.leaf.widget if isinstance(self.leaf, Leaf) else "select"

    @property
    def key(self) -> str:
        """Its name in the form."""
        return self.leaf.key

    @property
    def id(self) -> str:
        """Its address within the page."""
        return f"f-{self.leaf.key}"

    @property
    def unit(self) -> str:
        """The unit that it is typed in."""
        if not isinstance(self.leaf, Leaf):
            return ""
        if self.leaf.columns:
            columns = ((column.name.replace("_", " "), column.unit.text) for column in self.leaf.columns)
            return ", ".join(name if unit in ("", name) else f"{name} [{unit}]" for name, unit in columns)
        return self.leaf.unit.text

    @property
    def described_by(self) -> str:
        """Ids of what a screen reader reads with it."""
        parts = (("e", self.errors), ("n", self.note), ("h", self.help))
        return " ".join(f"{prefix}-{self.key}" for prefix, there in parts if there)

    @property
    def lines(self) -> int:
        """Lines that its box shows."""
        return LINES.stop if self.example else min(max(self.text.count("\n") + 2, LINES.start), LINES.stop)


@dataclass(frozen=True, slots=True)
class Alternative:
    """What is asked where one option is chosen."""

    tag: str
    is_chosen: bool
    members: Sequence[Drawn]


@dataclass(frozen=True, slots=True)
class Part:
    """Inputs that belong together, or a choice and what follows from it."""

    label: str
    path: str
    help: str = ""
    members: Sequence[Drawn] = ()
    select: Input | None = None
    alternatives: Sequence[Alternative] = ()
    is_part: bool = field(default=True, init=False)


def drawn(form: EntryForm, names: Names, notes: dict[str, str], is_new: bool) -> list[Drawn]:
    """Every input of the form, in order; `notes` are said beside inputs, by key."""
    draw = _Drawing(form, names, notes, is_new)
    return [draw.node(node) for node in nodes(form.kind)]


@dataclass(frozen=True, slots=True)
class _Drawing:
    form: EntryForm
    names: Names
    notes: dict[str, str]
    is_new: bool

    def node(self, node: Node, is_asked: bool = True) -> Drawn:
        """`is_asked` is false within a part that may be left out: nothing of it is required."""
        if isinstance(node, Leaf):
            return self.leaf(node, is_asked)
        said = kinds.help_of(self.form.kind, node.path)
        if isinstance(node, Group):
            members = [self.node(each, is_asked and node.required) for each in node.members]
            return Part(kinds.label(node.path), node.path, said, members)
        chosen = self.form.texts.get(node.key, "")
        alternatives = [
            Alternative(option.tag, option.tag == chosen, [self.node(each) for each in option.members])
            for option in node.options
        ]
        return Part(kinds.label(node.path), node.path, said, select=self.choice(node), alternatives=alternatives)

    def choice(self, node: Choice) -> Input:
        options = [(option.tag, option.tag.replace("_", " ")) for option in node.options]
        label = "Number or distribution" if any(each.plain for each in node.options) else kinds.label(node.tag_field)
        return self.input(node, label, [*_none(node.required, node.default), *options], node.required)

    def leaf(self, leaf: Leaf, is_asked: bool) -> Input:
        asked = leaf.required and is_asked
        label = "Points" if leaf.widget == "points" else kinds.label(leaf.path)
        if leaf.widget == "reference":
            stored = self.names(leaf.options[0])
            there = self.form.texts.get(leaf.key, "")
            every = [*stored, *([there] if there and there not in stored else [])]
            return self.input(leaf, label, [("", "choose …"), *((name, name) for name in every)], asked)
        if leaf.widget in ("select", "switch"):
            options = [(option, option.replace("_", " ")) for option in leaf.options]
            return self.input(leaf, label, [*_none(leaf.required, leaf.default), *options], asked)
        return self.input(leaf, label, (), asked)

    def input(self, leaf: Leaf | Choice, label: str, options: Sequence[tuple[str, str]], is_required: bool) -> Input:
        form, key = self.form, leaf.key
        text = form.texts.get(key, "")
        is_list = isinstance(leaf, Leaf) and leaf.widget in ("numbers", "rows", "points", "yaml")
        return Input(
            leaf, label, text, form.errors.get(key, ()), self.notes.get(key, ""),
            help=kinds.help_of(form.kind, leaf.path) if isinstance(leaf, Leaf) and leaf.key == leaf.path else "",
            example=example_of(form.kind, leaf.path),
            options=options,
            is_required=is_required,
            is_fixed=leaf.path == "name" and not self.is_new,
            is_frozen=is_list and len(text) > LARGEST and not form.errors.get(key),
        )  # fmt: skip


def _none(required: bool, default: str) -> list[tuple[str, str]]:
    """The first option: nothing chosen, and what that means."""
    if required:
        return [("", "choose …")]
    return [("", f"{default.replace('_', ' ')} (unless chosen otherwise)" if default else "none")]
