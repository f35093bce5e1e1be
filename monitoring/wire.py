"""The messages that cross a process or the database, each declared once."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Literal

import msgspec

from monitoring.readings import Point

NEVER = -1
"""In columns of times: not told."""

type Kind = Literal["counter", "gauge", "histogram", "delta", "delta_histogram"]


class Mapped(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Points of one canonical series; `labels` are sorted pairs."""

    signal: str
    kind: Kind
    labels: tuple[tuple[str, str], ...]
    points: tuple[Point, ...]
    wrap_bits: int = 0


class Parts(msgspec.Struct, array_like=True, gc=False):
    """Of a histogram of flat series, at one time, those that have come: by upper bound, `_sum` and `_count`."""

    name: str
    labels: tuple[tuple[str, str], ...]
    ts_ms: int
    values: dict[str, float]
    first_ms: int = 0
    """When the first of them was received; 0: with the message that they are in."""


class Key(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a canonical series is, without its points."""

    signal: str
    kind: str
    labels: tuple[tuple[str, str], ...]
    wrap_bits: int


class Columns(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Points of gauges, counters and increases, series by series; numbers are little-endian, of 64 bits."""

    series: bytes
    """The `Key` of each series, see `packed_keys`."""
    sizes: bytes
    """How many points each has."""
    ts_ms: bytes
    value: bytes
    start_ms: bytes
    """NEVER where it is not told."""

    @property
    def points(self) -> int:
        """How many."""
        return len(self.ts_ms) // 8

    @property
    def count(self) -> int:
        """Of series."""
        return len(self.sizes) // 8


type Held = Mapped | Columns


class _Payload(msgspec.Struct, gc=False):
    columns: Columns | None
    series: list[Mapped]


_encoder, _decoder = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(_Payload)
_former, _keys = msgspec.msgpack.Decoder(list[Mapped]), msgspec.msgpack.Decoder(list[Key])
_ARRAY = 0xDD
"""MessagePack's mark of an array, before its length in four bytes."""
_MAPS = 0x80
"""MessagePack's first byte of a small map, in its upper half: what was written before columns came is an array."""


def packed(series: list[Mapped], columns: Columns | None = None) -> bytes:
    """As a frame keeps them."""
    return _encoder.encode(_Payload(columns, series))


def unpacked(payload: bytes) -> list[Held]:
    """What `packed` has written, or what it wrote before columns came."""
    if payload[0] & 0xF0 != _MAPS:
        return list(_former.decode(payload))
    found = _decoder.decode(payload)
    return [*found.series, *([] if found.columns is None else [found.columns])]


def packed_key(key: Key) -> bytes:
    """For `packed_keys`."""
    return _encoder.encode(key)


def packed_keys(keys: Sequence[bytes]) -> bytes:
    """As columns keep them."""
    return struct.pack(">BI", _ARRAY, len(keys)) + b"".join(keys)


def unpacked_keys(series: bytes) -> list[Key]:
    """What `packed_keys` has written."""
    return _keys.decode(series)


_parts_decoder = msgspec.msgpack.Decoder(list[Parts])


def packed_parts(parts: list[Parts]) -> bytes:
    """As a frame, or what is pending, keeps them."""
    return _encoder.encode(parts)


def unpacked_parts(payload: bytes) -> list[Parts]:
    """What `packed_parts` has written."""
    return _parts_decoder.decode(payload)
