"""What is wrong with a document, told by field."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pydantic import ValidationError

from planner.documents import paths

SHOWN = 80
"""Characters of a value that is quoted in a message."""
LONGEST_FIELD, LONGEST_VALUE, LONGEST_MESSAGE = 400, 200, 1000
"""Characters of each part of an answer; whatever a document holds, what is said of it stays short."""
MOST_TOLD = 100
"""Mistakes that are told one by one."""

LIMITS = {
    "greater_than": "must be greater than {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than": "must be less than {lt:g}",
    "less_than_equal": "must be at most {le:g}",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "string_type": "must be text",
    "string_pattern_mismatch": "must be letters, digits, - and _, the first a letter or digit",
    "string_too_long": "takes at most {max_length} characters",
    "list_type": "must be a list",
    "dict_type": "must be a table of fields",
    "model_type": "must be a table of fields",
    "model_attributes_type": "must be a table of fields",
    "missing": "is missing",
    "too_short": "needs at least {min_length} entries",
    "too_long": "takes at most {max_length} entries",
    "literal_error": "must be one of {expected}",
    "union_tag_invalid": "must be one of {expected_tags}",
    "union_tag_not_found": "is missing",
    "value_error": "{error}",
}


UNION_TAGS = ("union_tag_invalid", "union_tag_not_found")
"""Found at the table, but wrong is the field in it that says which kind of table it is."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """One mistake: the dotted path of the field, its value as it was given, and what is allowed."""

    field: str | None
    value: Any
    message: str

    def __str__(self) -> str:
        where = one_line(self.field or "document", LONGEST_FIELD)
        given = "" if self.value is None else one_line(shown(self.value)) + " "
        return f"{where}: {given}{one_line(self.message, LONGEST_MESSAGE)}"

    def as_json(self) -> dict[str, Any]:
        """The same as the API shows it; a value that is not plain becomes text."""
        field = None if self.field is None else one_line(self.field, LONGEST_FIELD)
        return {"field": field, "value": _plain(self.value), "message": one_line(self.message, LONGEST_MESSAGE)}


def shown(value: Any) -> str:
    """A value as it is quoted in a message: cut where it is long, wide or deep."""
    return paths.cut(_QUOTE.repr(value), SHOWN)


_QUOTE = reprlib.Repr(maxstring=SHOWN, maxlong=SHOWN, maxother=SHOWN, maxlevel=3)


def one_line(text: str, most: int = LONGEST_MESSAGE) -> str:
    """The text, cut to `most` characters, with what does not print (line breaks, controls, broken Unicode) escaped."""
    kept = paths.cut(text, most)
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in kept)


def _plain(value: Any) -> str | int | float | None:
    if isinstance(value, str):
        return one_line(value, LONGEST_VALUE)
    if value is None or isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return shown(value)


class DocumentError(ValueError):
    """A document that is refused; `told` has the first mistakes found, `more` counts those beyond them."""

    def __init__(self, errors: Iterable[FieldError], more: int = 0) -> None:
        found = iter(errors)
        self.told = tuple(islice(found, MOST_TOLD))
        self.more = more + sum(1 for _ in found)
        super().__init__("; ".join(str(error) for error in self.errors))

    @property
    def errors(self) -> tuple[FieldError, ...]:
        """What is told; the last line says how many more mistakes there are."""
        rest = FieldError(None, None, f"has {self.more:,} more mistakes, which are not listed")
        return (*self.told, rest) if self.more else self.told


def refuse(field: str | None, value: Any, message: str) -> DocumentError:
    """A DocumentError of one mistake."""
    return DocumentError([FieldError(field, value, message)])


def from_validation(problem: ValidationError, document: Mapping[str, Any], allowed: Allowed) -> DocumentError:
    """Pydantic's findings, with list items by name and messages in our words."""
    found: dict[str, FieldError] = {}
    for detail in problem.errors(include_url=False):
        field = paths.named(document, detail["loc"], missing=detail["type"] == "missing")
        if detail["type"] in UNION_TAGS:
            field += "." + detail["ctx"]["discriminator"].strip("'")
        found.setdefault(field, FieldError(field, _value(detail), _message(detail, allowed)))
    return DocumentError(list(found.values()))


type Allowed = Mapping[str, Sequence[str]]


def _value(detail: Mapping[str, Any]) -> Any:
    if detail["type"] == "union_tag_invalid":
        return detail["ctx"]["tag"]
    given = detail["input"]
    return None if detail["type"] == "missing" or isinstance(given, dict) else given


def _message(detail: Mapping[str, Any], allowed: Allowed) -> str:
    kind = detail["type"]
    if kind == "extra_forbidden":
        return "is not a field here; " + known_fields(detail["loc"], allowed)
    if kind in LIMITS:
        return LIMITS[kind].format(**detail.get("ctx", {}))
    return str(detail["msg"]).lower()


def known_fields(loc: Sequence[str | int], allowed: Allowed) -> str:
    """The fields that the schema has in the place where an unknown one was found."""
    parts = [part for part in loc[:-1] if isinstance(part, str)]
    for size in range(len(parts), -1, -1):
        names = allowed.get(".".join(parts[len(parts) - size :]))
        if names:
            return "allowed: " + ", ".join(names)
    return "check its spelling"
