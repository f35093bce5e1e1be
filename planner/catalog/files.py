"""YAML and JSON, in and out: one document a file, nothing executed, nothing ambiguous."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.cyaml import CParser  # type: ignore[attr-defined] # the stubs leave it out
from yaml.resolver import Resolver

LARGEST = 64 * 2**20
"""Bytes of a file."""
MOST_NODES = 1_000_000
"""Values and keys of a YAML text."""
SHOWN = 80
"""Characters of a key that is quoted."""


class Unreadable(ValueError):
    """A file that is not one YAML or JSON document."""


class _Loader(Composer, CParser, SafeConstructor, Resolver):
    """YAML as people mean it: 6e9 is a number, a key stands once, and there are no aliases to multiply.

    Parsed in C, as yaml.CSafeLoader does, but composed in Python, where each value is seen before it is made.
    """

    def __init__(self, text: str) -> None:
        CParser.__init__(self, text)
        Composer.__init__(self)
        SafeConstructor.__init__(self)
        Resolver.__init__(self)
        self.nodes = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self.nodes += 1
        ahead = self.peek_event()
        mark: Any = ahead and ahead.start_mark
        if self.nodes > MOST_NODES:
            said = f"more than {MOST_NODES:,} values and keys; JSON takes more"
            raise yaml.MarkedYAMLError(problem=said, problem_mark=mark)
        if isinstance(ahead, yaml.AliasEvent):
            raise yaml.MarkedYAMLError(problem="aliases are not taken", problem_mark=mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"{str(key.value)[:SHOWN]!r} stands twice", problem_mark=key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)


INTEGER, FLOAT, TIMESTAMP = (f"tag:yaml.org,2002:{kind}" for kind in ("int", "float", "timestamp"))
# YAML 1.1 takes 6e9 for text, 010 for 8, 1:30 for 90 and 2026-01-01 for a date. JSON, YAML 1.2 and everybody who types
# it take 6e9 for a number; the others stay text, which no number field takes.
_DECIMAL = (INTEGER, re.compile(r"^[-+]?(0|[1-9][0-9_]*)$"), list("-+0123456789"))
_REAL = (
    FLOAT,
    re.compile(r"^[-+]?([0-9][0-9_]*\.[0-9_]*|\.[0-9]+|[0-9][0-9_]*(?=[eE]))([eE][-+]?[0-9]+)?$"),
    list("-+.0123456789"),
)
_SPECIAL = (FLOAT, re.compile(r"^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$"), list("-+."))
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in (INTEGER, FLOAT, TIMESTAMP)]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
for resolver in (_DECIMAL, _REAL, _SPECIAL):
    _Loader.add_implicit_resolver(*resolver)


def parse(text: str) -> Any:
    """The value that a JSON or YAML text stands for. Raises Unreadable with line and column."""
    try:
        return parse_json(text)  # first, for speed: most YAML fails at its first character
    except Unreadable:
        return _parse_yaml(text)


def parse_json(text: str | bytes) -> Any:
    """The value that a JSON text stands for; NaN and repeated keys are refused. Raises Unreadable."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_refuse_constant)
    except RecursionError as problem:
        raise Unreadable("nested too deep") from problem
    except ValueError as problem:
        raise Unreadable(str(problem)) from problem


def _refuse_constant(name: str) -> None:
    raise Unreadable(f"{name} is not a number that JSON knows")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key, value in pairs:
        if key in table:
            raise Unreadable(f"{key[:SHOWN]!r} stands twice")
        table[key] = value
    return table


def _parse_yaml(text: str) -> Any:
    try:
        return _Loader(text).get_single_data()
    except (yaml.YAMLError, ValueError, RecursionError, TypeError, LookupError, AttributeError) as problem:
        mark = getattr(problem, "problem_mark", None)
        if mark and mark.line > text.count("\n"):  # what is never closed is told by where it begins
            mark = getattr(problem, "context_mark", None) or mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        # PyYAML's own constructors fail with whatever they stumble over at `!!bool zz`.
        plain = isinstance(problem, LookupError | AttributeError)
        said = (
            "a value is not of the type that its tag says"
            if plain
            else getattr(problem, "problem", None) or str(problem)
        )
        raise Unreadable(where + " ".join(said.split())) from problem


def read(path: Path) -> dict[str, Any]:
    """The table that a file holds. Raises Unreadable."""
    try:
        if not path.is_file():  # a device has no end, a pipe may have no beginning
            raise Unreadable(f"{path}: {'is no regular file' if path.exists() else 'does not exist'}")
        if path.stat().st_size > LARGEST:
            raise Unreadable(f"{path}: larger than {LARGEST // 2**20} MiB")
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        raise Unreadable(f"{path}: {getattr(problem, 'strerror', None) or 'not UTF-8 text'}") from problem
    try:
        document = parse(text)
    except Unreadable as problem:
        raise Unreadable(f"{path}: {problem}") from problem
    if not isinstance(document, dict):
        found = "empty" if document is None else type(document).__name__
        raise Unreadable(f"{path}: must be a table of fields, is {found}")
    return document


class _Dumper(yaml.SafeDumper):
    """Tables block by block, lists of numbers on one line; what stands twice is written twice."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_list(dumper: _Dumper, value: list[Any]) -> yaml.Node:
    plain = all(isinstance(item, int | float) for item in value)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=plain)


def _represent_text(dumper: _Dumper, value: str) -> yaml.Node:
    """Only double quotes keep the line breaks that Unicode has beside \\n: others fold them to a space."""
    style = '"' if set(value) & set("\x85\u2028\u2029") else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _represent_text)
# What the loader takes for a number is quoted where it is text.
_Dumper.add_implicit_resolver(*_REAL)
_Dumper.add_representer(list, _represent_list)


def as_yaml(document: Any) -> str:
    """The document as YAML that `parse` reads back identically."""
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)


def as_json(document: Any) -> str:
    """The document as JSON; NaN and infinity do not occur in it."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
