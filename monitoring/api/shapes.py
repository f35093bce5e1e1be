"""How the API's document tells messages of ours, which are msgspec structs and no serializers."""

from __future__ import annotations

from typing import Any

import msgspec

NULL = {"type": "null"}


def shape(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """The schema of a message as OpenAPI 3.0 wants it: what it refers to is written out, null is `nullable`."""
    (own,), parts = msgspec.json.schema_components([struct], ref_template="{name}")
    found: dict[str, Any] = _written_out(own, parts)
    return found


def _written_out(given: Any, parts: dict[str, Any]) -> Any:
    if isinstance(given, list):
        return [_written_out(each, parts) for each in given]
    if not isinstance(given, dict):
        return given
    if "$ref" in given:
        return _written_out(parts[given["$ref"]], parts)
    found = {name: _written_out(each, parts) for name, each in given.items() if name not in ("anyOf", "default")}
    if not found.get("required", True):
        del found["required"]  # OpenAPI 3.0 knows no empty list
    return found | _alternatives(given["anyOf"], parts) if "anyOf" in given else found


def _alternatives(given: list[Any], parts: dict[str, Any]) -> dict[str, Any]:
    known = [_written_out(each, parts) for each in given if each != NULL]
    nullable = {"nullable": True} if NULL in given else {}
    return ({**known[0]} if len(known) == 1 else {"anyOf": known}) | nullable
