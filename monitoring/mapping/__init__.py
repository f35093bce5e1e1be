"""Their metric names to our signals: data, one YAML file a system, that users may replace by their own.

`shipped` has the mappings that the product comes with, `parse` reads a user's. `compiling` makes them a fast lookup,
`engine` maps readings by it, `dry_run` tells what would become of a pasted page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from monitoring.mapping.schema import Rule, SystemMapping

FOLDER = Path(__file__).parent / "systems"
MOST_CHARACTERS = 256 * 1024
MOST_TOLD = 20
SHOWN = 80


class MappingError(ValueError):
    """A mapping that is refused; `errors` has what is wrong, a line each: rule, field, value, what is allowed."""

    def __init__(self, errors: list[str]) -> None:
        self.errors = errors
        super().__init__("; ".join(errors))


@cache
def shipped() -> dict[str, SystemMapping]:
    """The mappings that the product comes with, by name."""
    found = [parse(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.yaml"))]
    return {mapping.name: mapping for mapping in found}


def parse(given: str | dict[str, Any]) -> SystemMapping:
    """A mapping from YAML or JSON text, or from a table. Raises MappingError, which names rule and field."""
    document = _loaded(given) if isinstance(given, str) else given
    if not isinstance(document, dict):
        raise MappingError(["a mapping must be a table of fields: name, version, title, source, rules"])
    try:
        return SystemMapping.model_validate(document)
    except ValidationError as problem:
        found = list(dict.fromkeys(_told(document, problem)))
        more = [f"and {len(found) - MOST_TOLD} more"] if len(found) > MOST_TOLD else []
        raise MappingError([*found[:MOST_TOLD], *more]) from None


class _Loader(yaml.SafeLoader):
    """YAML without references, by which a short text could stand for an endless one."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise MappingError([f"line {self.line + 1}: references (*name) are not read"])
        return super().compose_node(parent, index)


# YAML 1.1 takes 1e6 for text; people mean a number.
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)


def _loaded(text: str) -> Any:
    if len(text) > MOST_CHARACTERS:
        raise MappingError([f"has {len(text):,} characters; at most {MOST_CHARACTERS:,} are read"])
    try:
        return yaml.load(text, _Loader)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, ValueError, RecursionError) as problem:
        if isinstance(problem, MappingError):
            raise
        raise MappingError([f"is no YAML: {' '.join(str(problem).split())[:300] or 'nested too deep'}"]) from None


def _told(document: dict[str, Any], problem: ValidationError) -> Iterator[str]:
    for detail in problem.errors(include_url=False):
        place = _place(document, detail["loc"])
        if detail["type"] == "extra_forbidden":
            table = Rule if "rules" in detail["loc"] else SystemMapping
            yield f"{place} is not a field here; allowed: {', '.join(table.model_fields)}"
        elif detail["type"] == "value_error":
            yield f"{place}: {detail['ctx']['error']}"
        elif detail["type"] == "missing":
            yield f"{place} is missing"
        else:
            yield f"{place}: {_shown(detail['input'])}: {detail['msg'].lower()}"


def _shown(value: Any) -> str:
    text = type(value).__name__ if isinstance(value, dict | list) else repr(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


def _place(document: dict[str, Any], loc: tuple[int | str, ...]) -> str:
    """Where it is wrong: a rule by its number, from 1, and its metric."""
    if len(loc) < 2 or loc[0] != "rules" or not isinstance(loc[1], int):
        return ".".join(map(str, loc)) or "mapping"
    rule = document["rules"][loc[1]]
    metric = f" ({_shown(rule['metric'])})" if isinstance(rule, dict) and "metric" in rule else ""
    field = ".".join(str(part) for part in loc[2:] if part != "[key]")
    return f"rule {loc[1] + 1}{metric}" + (f": {field}" if field else "")
