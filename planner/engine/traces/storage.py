"""A chunk as bytes: differences of neighbours, plane by plane, compressed."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from planner.engine.traces.chunk import Blocks, Chunk, Int64

MAGIC = b"PPT1"
_HEADER = struct.Struct("<4sQQBq")
"""Magic, rows, block ids, which columns are there (bits), tokens a block."""
_COLUMN = struct.Struct("<BBI")
"""Differences or not, bytes a number, compressed bytes."""
BLOCKS, SIZES, SESSIONS = 1, 2, 4
LEVEL = 6
"""Of zlib: 9 takes two and a half times as long for 3 % less."""
MOST = 2**31
"""Numbers of a column that a reader believes."""


def encode(chunk: Chunk) -> bytes:
    """The chunk as bytes that `decode` makes the same chunk of."""
    blocks = chunk.blocks
    sizes = None if blocks is None else blocks.sizes
    there = (BLOCKS if blocks else 0) | (SIZES if sizes is not None else 0)
    there |= SESSIONS if chunk.sessions is not None else 0
    columns = [chunk.arrival_ns, chunk.input_tokens, chunk.output_tokens]
    if blocks:
        columns += [np.diff(blocks.offsets), blocks.ids]
    columns += [column for column in (sizes, chunk.sessions) if column is not None]
    ids = blocks.ids.size if blocks else 0
    header = _HEADER.pack(MAGIC, chunk.rows, ids, there, blocks.block_tokens if blocks else 0)
    return header + b"".join(_packed(column) for column in columns)


def decode(data: bytes) -> Chunk:
    """The chunk that `encode` made the bytes of. Raises ValueError on any others."""
    try:
        magic, rows, ids, there, block_tokens = _HEADER.unpack_from(data)
        if magic != MAGIC or max(rows, ids) > MOST:
            raise ValueError("is no chunk of a trace")
        reader = _Columns(data, _HEADER.size)
        arrival, inputs, outputs = (reader.next(rows) for _ in range(3))
        blocks = None
        if there & BLOCKS:
            counts, each = reader.next(rows), reader.next(ids)
            offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
            blocks = Blocks(each, offsets, block_tokens, reader.next(ids) if there & SIZES else None)
        sessions = reader.next(rows) if there & SESSIONS else None
        return Chunk(arrival, inputs, outputs, blocks, sessions)
    except (struct.error, zlib.error) as problem:
        raise ValueError(f"is a broken chunk of a trace: {problem}") from problem


def _packed(column: Int64) -> bytes:
    """The smaller of the numbers and their differences, as bytes of equal weight side by side."""
    unsigned = column.astype(np.int64).view(np.uint64)
    tried = (_squeezed(0, unsigned), _squeezed(1, np.diff(unsigned, prepend=np.uint64(0))))
    return min(tried, key=len)


def _squeezed(differences: int, numbers: np.ndarray[tuple[int, ...], np.dtype[np.uint64]]) -> bytes:
    signed = numbers.view(np.int64)
    folded = (numbers << np.uint64(1)) ^ (signed >> np.int64(63)).view(np.uint64)  # small numbers, positive or negative
    width = max(1, (int(folded.max()).bit_length() + 7) // 8) if folded.size else 1
    planes = folded.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width].T
    packed = zlib.compress(np.ascontiguousarray(planes).tobytes(), LEVEL)
    return _COLUMN.pack(differences, width, len(packed)) + packed


class _Columns:
    """Columns one behind the other."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at

    def next(self, count: int) -> Int64:
        """The next column, of so many numbers. Raises ValueError, struct.error, zlib.error."""
        differences, width, size = _COLUMN.unpack_from(self._data, self._at)
        self._at += _COLUMN.size
        packed = self._data[self._at : self._at + size]
        self._at += size
        if not 1 <= width <= 8:
            raise ValueError("is a broken chunk of a trace: numbers of no width")
        planes = np.frombuffer(_inflated(packed, count * width), dtype=np.uint8).reshape(width, count)
        wide = np.zeros((count, 8), dtype=np.uint8)
        wide[:, :width] = planes.T
        folded = wide.reshape(-1).view("<u8").astype(np.uint64)
        numbers = (folded >> np.uint64(1)) ^ (np.uint64(0) - (folded & np.uint64(1)))
        return (np.cumsum(numbers, dtype=np.uint64) if differences else numbers).view(np.int64)


def _inflated(packed: bytes, size: int) -> bytes:
    decompressor = zlib.decompressobj()
    found = decompressor.decompress(packed, size + 1)
    if len(found) != size:
        raise ValueError("is a broken chunk of a trace: a column has another length")
    return found
