"""Types of fields, the same in every document. Units are in the names; "K" never appears: tokens are tokens."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

PROVENANCE_KINDS = ("measured", "published", "inferred", "estimated", "user")
"""From the strongest evidence to the weakest: what a user typed rests on nothing that we know of."""

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=100)]
Text = Annotated[str, Field(max_length=2000)]
Positive = Annotated[float, Field(ge=1e-18, le=1e18)]
NotNegative = Annotated[float, Field(ge=0, le=1e18)]
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0, le=10_000)]
Tokens = Annotated[float, Field(ge=1, le=1e9)]
Lengths = Annotated[list[Tokens], Field(min_length=2, max_length=1000)]
Points = Annotated[list[Positive], Field(min_length=2, max_length=1000)]


class Table(BaseModel):
    """A part of a document: unknown fields, text for numbers, NaN and infinity are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Provenance(Table):
    """Where a figure comes from."""

    kind: Literal["measured", "published", "inferred", "estimated", "user"]
    source: Text = ""


def fields_by_place(document: type[BaseModel]) -> dict[str, list[str]]:
    """The fields that each part of a kind of document has, by the dotted place of the part."""
    places: dict[str, list[str]] = {}

    def visit(table: type[BaseModel], place: str) -> None:
        places[place] = [field.alias or name for name, field in table.model_fields.items()]
        for name, field in table.model_fields.items():
            below = f"{place}.{name}" if place else name
            for inner in tables_of(field.annotation):
                visit(inner, f"{below}.{_tag(inner, field.discriminator)}" if field.discriminator else below)

    visit(document, "")
    return places


def _tag(table: type[BaseModel], discriminator: Any) -> str:
    """By which the validator names the table chosen from a union: `distribution: Literal["empirical"]` is empirical."""
    return str(get_args(table.model_fields[discriminator].annotation)[0])


def tables_of(annotation: Any) -> list[type[BaseModel]]:
    """The tables that a field of this annotation may hold."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [table for part in get_args(annotation) for table in tables_of(part)]
