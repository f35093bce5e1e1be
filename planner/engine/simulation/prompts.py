"""Where requests come from that know what they have in common with others: sessions, or a recorded trace."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.random import SeedSequence, default_rng
from numpy.typing import NDArray

from planner.engine.arrivals import Arrivals
from planner.engine.curves import Array

type Int64 = NDArray[np.int64]

NO_BLOCKS: Int64 = np.zeros(0, dtype=np.int64)


class Prompts(NamedTuple):
    """Requests by arrival, each array of shape (n,); see `prefix_cache.block_id` for how their blocks are named."""

    arrival_s: Array
    tokens: Int64
    """Of whole prompts."""
    output: Int64
    chain: Int64
    system: Int64
    shared: Int64
    blocks: Int64
    """Whole blocks of the prompt, ..."""
    blocks_after: Int64
    """... and of prompt and answer together, as far as they have names."""


class Prompting(Protocol):
    """An endless row of prompts."""

    def next(self, count: int) -> Prompts:
        """The next so many."""


class PromptSource(Protocol):
    """Where prompts come from."""

    @property
    def longest_tokens(self) -> int:
        """No prompt is longer."""

    @property
    def most_requests(self) -> float:
        """How many there are; infinite where they never end."""

    @property
    def named_blocks(self) -> Int64:
        """The names of all blocks, one prompt's after the other's; empty where they follow from `chain`."""

    def start(self, rate_rps: float, arrivals: Arrivals, block_tokens: int, seed: SeedSequence) -> Prompting:
        """A row of prompts of a mean rate."""


@dataclass(frozen=True, slots=True, eq=False)
class RecordedPrompts:
    """A recorded trace, from its first request to its last, at its own rate or any other; columns of shape (n,).

    Its times are its own, whatever the process of arrivals, in proportion to the rate. Replications differ by up to
    `jitter_s`, at the recorded rate, by which each request comes later.
    """

    arrival_s: Array
    """Rising from 0."""
    tokens: Int64
    output: Int64
    names: Int64
    """Of all blocks of all prompts; shape (0,) where none were recorded."""
    offsets: Int64
    """Where each prompt's blocks begin in `names`, shape (n + 1,)."""
    block_tokens: int
    jitter_s: float

    def __post_init__(self) -> None:
        """Raises ValueError on fewer than two requests, no time between them, and a negative jitter."""
        if self.arrival_s.size < 2 or not self.arrival_s[-1] > self.arrival_s[0]:
            raise ValueError("a recorded trace needs two requests at different times to be replayed")
        if not 0 <= self.jitter_s < math.inf:
            raise ValueError(f"jitter_s must not be negative or infinite, got {self.jitter_s:g}")

    @property
    def rate_rps(self) -> float:
        """Requests a second, as recorded."""
        return float(self.arrival_s.size / (self.arrival_s[-1] - self.arrival_s[0]))

    @property
    def longest_tokens(self) -> int:
        """See `PromptSource`."""
        return int(self.tokens.max())

    @property
    def most_requests(self) -> float:
        """As many as were recorded: a second time they would all be cached."""
        return float(self.arrival_s.size)

    @property
    def named_blocks(self) -> Int64:
        """See `PromptSource`."""
        return self.names

    def start(self, rate_rps: float, arrivals: Arrivals, block_tokens: int, seed: SeedSequence) -> Prompting:
        """See `PromptSource`. Raises ValueError where blocks are of another size."""
        if self.names.size and block_tokens != self.block_tokens:
            raise ValueError(f"blocks were recorded with {self.block_tokens} tokens, and cannot be of {block_tokens}")
        return _Replay(self, rate_rps, seed)


class _Replay:
    def __init__(self, trace: RecordedPrompts, rate_rps: float, seed: SeedSequence) -> None:
        later_s = default_rng(seed).random(trace.arrival_s.size) * trace.jitter_s
        times_s = trace.arrival_s - trace.arrival_s[0] + later_s
        self._trace, self._order, self._next = trace, np.argsort(times_s, kind="stable"), 0
        self._times_s = times_s[self._order] * (trace.rate_rps / rate_rps)

    def next(self, count: int) -> Prompts:
        """See `Prompting`. Raises ValueError where there are no more."""
        trace, rows = self._trace, self._order[self._next : self._next + count]
        times_s = self._times_s[self._next : self._next + count]
        self._next += count
        if rows.size < count:
            raise ValueError(f"the trace has no more than {trace.arrival_s.size:,} requests")
        none = np.zeros(count, dtype=np.int64)
        chain = trace.offsets[:-1][rows]
        # a block that is not full is not kept
        blocks = np.minimum(trace.offsets[1:][rows] - chain, trace.tokens[rows] // trace.block_tokens)
        return Prompts(times_s, trace.tokens[rows], trace.output[rows], chain, none, none, blocks, blocks)
