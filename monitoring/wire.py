"""The messages that cross a process or the database, each declared once."""

from __future__ import annotations

from typing import Literal

import msgspec

from monitoring.readings import Point

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


_encoder, _decoder = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(list[Mapped])


def packed(series: list[Mapped]) -> bytes:
    """As a frame keeps them."""
    return _encoder.encode(series)


def unpacked(payload: bytes) -> list[Mapped]:
    """What `packed` has written."""
    return _decoder.decode(payload)


_parts_decoder = msgspec.msgpack.Decoder(list[Parts])


def packed_parts(parts: list[Parts]) -> bytes:
    """As a frame, or what is pending, keeps them."""
    return _encoder.encode(parts)


def unpacked_parts(payload: bytes) -> list[Parts]:
    """What `packed_parts` has written."""
    return _parts_decoder.decode(payload)
