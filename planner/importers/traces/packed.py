"""A trace as one compact file: chunks as bytes, one behind the other, each with its length."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from planner.documents.errors import refuse
from planner.engine.traces import Chunk, decode, encode

_LENGTH = struct.Struct("<Q")
LARGEST_CHUNK = 2**30


def write(chunks: Iterable[Chunk], file: BinaryIO) -> str:
    """Writes a trace; gives the SHA-256 of what was written, by which the same trace is known again."""
    digest = hashlib.sha256()
    for chunk in chunks:
        data = encode(chunk)
        for part in (_LENGTH.pack(len(data)), data):
            digest.update(part)
            file.write(part)
    return digest.hexdigest()


def read(file: BinaryIO) -> Iterator[Chunk]:
    """The chunks that were written. Raises DocumentError where the file is broken or cut short."""
    while begin := file.read(_LENGTH.size):
        size = _LENGTH.unpack(begin)[0] if len(begin) == _LENGTH.size else LARGEST_CHUNK + 1
        data = file.read(size) if size <= LARGEST_CHUNK else b""
        if len(data) != size:
            raise refuse("trace", None, "is broken or cut short")
        try:
            yield decode(data)
        except ValueError as problem:
            raise refuse("trace", None, str(problem)) from problem
