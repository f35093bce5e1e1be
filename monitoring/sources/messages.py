"""Protobuf messages declared in code: for protocols of a few messages, whose generated files no package has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

type Fields = Mapping[str, tuple[int, str]]
"""Each field's number and type. The types are `string`, `bytes`, `double`, `int32`, `int64`, `uint32` and the names of
messages of the same file; `*` after one: repeated."""

_SCALARS = {
    name: getattr(descriptor_pb2.FieldDescriptorProto, f"TYPE_{name.upper()}")
    for name in ("string", "bytes", "double", "int32", "int64", "uint32")
}


def declared(package: str, messages: Mapping[str, Fields]) -> dict[str, Any]:
    """The classes of the proto3 messages of one package, by name. They are in a pool of their own."""
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for field, (number, kind) in fields.items():
            _add_field(message, package, field, number, kind)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}")) for name in messages}


def _add_field(message: Any, package: str, name: str, number: int, kind: str) -> None:
    field = message.field.add(name=name, number=number)
    field.label = field.LABEL_REPEATED if kind.endswith("*") else field.LABEL_OPTIONAL
    scalar = kind.rstrip("*")
    if scalar in _SCALARS:
        field.type = _SCALARS[scalar]
    else:
        field.type, field.type_name = field.TYPE_MESSAGE, f".{package}.{scalar}"
