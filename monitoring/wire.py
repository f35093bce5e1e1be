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


_encoder, _decoder = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(list[Mapped])


def packed(series: list[Mapped]) -> bytes:
    """As a frame keeps them."""
    return _encoder.encode(series)


def unpacked(payload: bytes) -> list[Mapped]:
    """What `packed` has written."""
    return _decoder.decode(payload)
