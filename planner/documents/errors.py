"""What is wrong with a document, told by field."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from planner.documents import paths

SHOWN = 80

LIMITS = {
    "greater_than": "must be greater than {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
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
        where = self.field or "document"
        given = "" if self.value is None else shown(self.value) + " "
        return one_line(f"{where}: {given}{self.message}")

    def as_json(self) -> dict[str, Any]:
        """The same as the API shows it; a value that is not plain becomes text."""
        field = None if self.field is None else one_line(self.field)
        return {"field": field, "value": _plain(self.value), "message": one_line(self.message)}


def shown(value: Any) -> str:
    """A value as it is quoted in a message: cut where it is long, wide or deep."""
    text = _QUOTE.repr(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


_QUOTE = reprlib.Repr(maxstring=SHOWN, maxlong=SHOWN, maxother=SHOWN, maxlevel=3)


def one_line(text: str) -> str:
    """The text with what does not print (line breaks, controls, broken Unicode) escaped."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _plain(value: Any) -> str | int | float | None:
    if isinstance(value, str):
        return one_line(value)
    if value is None or isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return shown(value)


class DocumentError(ValueError):
    """A document that is refused; `errors` has every mistake found."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        super().__init__("; ".join(str(error) for error in errors))
        self.errors = tuple(errors)


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
