"""What a prefix cache that forgets nothing would have held of each prompt."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planner.engine.traces.chunk import Blocks, Int64

MOST_BLOCKS = 20_000_000
"""Different blocks that are remembered: 160 MB, and as much again while they are sorted."""
DENSE = 4
"""Numbers that a table may have for each id."""


class Seen:
    """A set of whole numbers as sorted runs, each at least twice as long as the next: 8 bytes a number."""

    def __init__(self) -> None:
        self._runs: list[Int64] = []

    def __len__(self) -> int:
        return sum(run.size for run in self._runs)

    def contains(self, values: Int64) -> NDArray[np.bool_]:
        """Which of the values are in the set."""
        found = np.zeros(values.shape, dtype=bool)
        for run in self._runs:
            places = np.searchsorted(run, values)
            found |= run[np.minimum(places, run.size - 1)] == values
        return found

    def add(self, values: Int64) -> None:
        """Puts in values, rising, none of which is there."""
        if not values.size:
            return
        self._runs.append(values)
        while len(self._runs) > 1 and self._runs[-2].size < 2 * self._runs[-1].size:
            merged = np.concatenate([self._runs.pop(), self._runs.pop()])
            merged.sort(kind="stable")
            self._runs.append(merged)


class InfiniteCache:
    """Block by block, which prefix of a prompt has occurred in an earlier one."""

    def __init__(self, most_blocks: int = MOST_BLOCKS) -> None:
        self._seen = Seen()
        self._most = most_blocks
        self.full = False
        """Whether it stopped looking because it could remember no more blocks."""

    @property
    def blocks(self) -> int:
        """Different blocks so far."""
        return len(self._seen)

    def cached_tokens(self, blocks: Blocks, input_tokens: Int64) -> Int64 | None:
        """Tokens of each prompt that were there when it came: min(input, matched blocks x block size).

        Prompts count in the order of the rows; each is in the cache for the next. None once the cache is full.
        """
        if self.full:
            return None
        matched = self._matched(blocks)
        if blocks.sizes is None:
            tokens = matched * blocks.block_tokens
        else:
            up_to = np.concatenate([[0], np.cumsum(blocks.sizes)])
            tokens = up_to[blocks.offsets[:-1] + matched] - up_to[blocks.offsets[:-1]]
        self.full = self.blocks > self._most
        return np.minimum(tokens, input_tokens)

    def _matched(self, blocks: Blocks) -> Int64:
        """How many blocks at each prompt's beginning were seen before the prompt; then all its blocks are."""
        distinct, first, where = _occurrences(blocks.ids)
        known = self._seen.contains(distinct)
        begins, ends = blocks.offsets[:-1], blocks.offsets[1:]
        # of the chunk's own blocks only those of earlier prompts count: a prompt cannot hit itself
        hit = known[where] | (first[where] < np.repeat(begins, ends - begins))
        misses = np.append(np.flatnonzero(~hit), blocks.ids.size)
        matched: Int64 = np.minimum(misses[np.searchsorted(misses, begins)], ends) - begins
        self._seen.add(distinct[~known])
        return matched


def _occurrences(ids: Int64) -> tuple[Int64, Int64, Int64]:
    """The different ids, rising; where each occurs first; and which of them each id is."""
    if not ids.size:
        return ids, ids, ids
    least, span = int(ids.min()), int(ids.max()) - int(ids.min()) + 1
    if span > DENSE * ids.size:
        distinct, first, where = np.unique(ids, return_index=True, return_inverse=True)
        return distinct, first, where
    # ids are mostly counted up, and then a table is several times faster than sorting
    local = ids - least
    table = np.full(span, ids.size, dtype=np.int64)
    table[local[::-1]] = np.arange(ids.size - 1, -1, -1)
    there = np.flatnonzero(table < ids.size)
    first = table[there]
    table[there] = np.arange(there.size)
    return there + least, first, table[local]
