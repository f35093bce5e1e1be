"""Types of fields, the same in every document. Units are in the names; "K" never appears: tokens are tokens."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, Tag
from pydantic.fields import FieldInfo

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


Origins = Annotated[dict[str, Provenance], Field(max_length=2000)]
"""Where the figures of a document come from, by their dotted paths."""


@cache
def fields_by_place(document: type[BaseModel]) -> dict[str, list[str]]:
    """The fields that each part of a kind of document has, by the dotted place of the part."""
    places: dict[str, list[str]] = {}

    def visit(table: type[BaseModel], place: str) -> None:
        places[place] = [field.alias or name for name, field in table.model_fields.items()]
        for name, field in table.model_fields.items():
            for tags, inner in _tagged(Annotated[field.annotation, field, *field.metadata]):
                visit(inner, ".".join([*([place] if place else []), name, *tags]))

    visit(document, "")
    return places


def _tagged(annotation: Any, discriminator: Any = None) -> Iterator[tuple[tuple[str, ...], type[BaseModel]]]:
    """The tables that a field may hold, each with the tags by which the validator names it among others.

    Of a union by `distribution`, the table of `distribution: Literal["empirical"]` is named empirical.
    """
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        own = [str(get_args(annotation.model_fields[discriminator].annotation)[0])] if discriminator else []
        yield tuple(own), annotation
        return
    metadata = getattr(annotation, "__metadata__", ())
    tag = tuple(part.tag for part in metadata if isinstance(part, Tag))
    by = next((part.discriminator for part in metadata if isinstance(part, FieldInfo)), discriminator)
    inner = get_args(annotation)[:1] if metadata else get_args(annotation)
    for part in inner:
        for tags, table in _tagged(part, by if isinstance(by, str) else None):
            yield (*tag, *tags), table


def tables_of(annotation: Any) -> list[type[BaseModel]]:
    """The tables that a field of this annotation may hold."""
    return [table for _, table in _tagged(annotation)]
