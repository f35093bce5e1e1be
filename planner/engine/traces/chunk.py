"""Requests as they were recorded, in columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

type Int64 = NDArray[np.int64]
MOST_ROWS = 250_000
"""Rows of a chunk."""


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """What prompts consist of, in pieces that a prefix cache keeps: `ids[offsets[i]:offsets[i + 1]]` is prompt i.

    The same id stands for the same tokens behind the same prefix. Every block has `block_tokens` tokens (the last of a
    prompt may have fewer), unless `sizes` says how many each has.
    """

    ids: Int64
    offsets: Int64
    """Rising from 0 to the number of ids, shape (rows + 1,)."""
    block_tokens: int
    sizes: Int64 | None = None
    """Shape of `ids`."""

    def __post_init__(self) -> None:
        """Raises ValueError on offsets that do not cover the ids, and on blocks of no tokens."""
        if self.offsets.size == 0 or self.offsets[0] != 0 or self.offsets[-1] != self.ids.size:
            raise ValueError("offsets must run from 0 to the number of ids")
        if self.block_tokens < 1 or np.any(np.diff(self.offsets) < 0):
            raise ValueError("blocks must have tokens, and offsets must not fall")
        if self.sizes is not None and self.sizes.shape != self.ids.shape:
            raise ValueError("needs as many sizes as ids")

    def take(self, rows: NDArray[np.intp]) -> Blocks:
        """The prompts of some rows, in that order."""
        counts = np.diff(self.offsets)[rows]
        offsets = running(counts)
        where = np.repeat(self.offsets[rows] - offsets[:-1], counts) + np.arange(offsets[-1])
        sizes = None if self.sizes is None else self.sizes[where]
        return Blocks(self.ids[where], offsets, self.block_tokens, sizes)


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Some requests of a trace, earliest first: columns of the same length, `arrival_ns` from the trace's beginning."""

    arrival_ns: Int64
    input_tokens: Int64
    output_tokens: Int64
    blocks: Blocks | None = None
    sessions: Int64 | None = None
    """The same number for requests of the same session."""

    def __post_init__(self) -> None:
        """Raises ValueError on columns of different lengths."""
        rows = self.arrival_ns.size
        others = [self.input_tokens.size, self.output_tokens.size]
        others += [] if self.blocks is None else [self.blocks.offsets.size - 1]
        others += [] if self.sessions is None else [self.sessions.size]
        if any(size != rows for size in others):
            raise ValueError(f"needs columns of one length, got {[rows, *others]}")

    @property
    def rows(self) -> int:
        """Requests in it."""
        return self.arrival_ns.size

    @property
    def arrival_s(self) -> NDArray[np.float64]:
        """Seconds from the trace's beginning."""
        return self.arrival_ns / 1e9

    def take(self, rows: NDArray[np.intp]) -> Chunk:
        """Some rows, in that order."""
        return Chunk(
            self.arrival_ns[rows],
            self.input_tokens[rows],
            self.output_tokens[rows],
            None if self.blocks is None else self.blocks.take(rows),
            None if self.sessions is None else self.sessions[rows],
        )

    def pieces(self, most_rows: int = MOST_ROWS) -> Iterator[Chunk]:
        """The same in chunks of at most so many rows."""
        if self.rows <= most_rows:
            yield self
            return
        for start in range(0, self.rows, most_rows):
            yield self.take(np.arange(start, min(start + most_rows, self.rows)))


def running(counts: Int64) -> Int64:
    """Sums of the first 0, 1, ... counts."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def joined(chunks: Sequence[Chunk]) -> Chunk:
    """Chunks of one trace, one behind the other. Raises ValueError where there is none, or some have fewer columns."""
    if len(chunks) == 1:
        return chunks[0]
    blocks = [chunk.blocks for chunk in chunks if chunk.blocks is not None]
    sessions = [chunk.sessions for chunk in chunks if chunk.sessions is not None]
    if any(0 < len(found) < len(chunks) for found in (blocks, sessions)):
        raise ValueError("chunks of one trace must have the same columns")
    return Chunk(
        np.concatenate([chunk.arrival_ns for chunk in chunks]),
        np.concatenate([chunk.input_tokens for chunk in chunks]),
        np.concatenate([chunk.output_tokens for chunk in chunks]),
        _joined_blocks(blocks) if blocks else None,
        np.concatenate(sessions) if sessions else None,
    )


def _joined_blocks(parts: Sequence[Blocks]) -> Blocks:
    sizes = [part.sizes for part in parts if part.sizes is not None]
    counts = np.concatenate([np.diff(part.offsets) for part in parts])
    ids = np.concatenate([part.ids for part in parts])
    return Blocks(ids, running(counts), parts[0].block_tokens, np.concatenate(sizes) if sizes else None)
