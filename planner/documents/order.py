"""One order of fields for one content: what two databases hand back in two orders is written the same."""

from __future__ import annotations

from typing import Any, get_args

from pydantic import BaseModel

from planner.documents.fields import tables_of


def ordered(value: Any, *schemas: type[BaseModel]) -> Any:
    """The value with the fields of every table in the schema's order; tables without a schema in that of the alphabet.

    `schemas` are the tables that the value may be: of a union, the one that has all of its fields.
    """
    if isinstance(value, list):
        return [ordered(item, *schemas) for item in value]
    if not isinstance(value, dict):
        return value
    schema = _matching(value, schemas)
    if schema is None:
        return {key: ordered(value[key], *schemas) for key in sorted(value)}
    return {
        name: ordered(value[name], *tables_of(annotation))
        for name, annotation in _fields(schema).items()
        if name in value
    }


def _matching(value: dict[str, Any], schemas: tuple[type[BaseModel], ...]) -> type[BaseModel] | None:
    fitting = [schema for schema in schemas if set(value) <= set(_fields(schema))]
    tagged = [schema for schema in fitting if all(_tag_fits(schema, value, tag) for tag in ("kind", "distribution"))]
    return next(iter(tagged or fitting), None)


def _tag_fits(schema: type[BaseModel], value: dict[str, Any], tag: str) -> bool:
    return (
        tag not in value
        or tag not in schema.model_fields
        or value[tag] in get_args(schema.model_fields[tag].annotation)
    )


def _fields(schema: type[BaseModel]) -> dict[str, Any]:
    return {field.alias or name: field.annotation for name, field in schema.model_fields.items()}
