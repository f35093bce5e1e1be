"""Everything about a trace that is told without keeping it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from planner.engine.traces.chunk import Chunk, Int64
from planner.engine.traces.histogram import Histogram
from planner.engine.traces.prefix import MOST_BLOCKS, InfiniteCache, Seen
from planner.engine.traces.rates import WINDOWS_S, Bins, Gaps, RateOverTime, Windows

MOST_SESSIONS = 20_000_000
OCTAVES = 31
"""Lengths up to 2^31 tokens, by halves of octaves, in the curve of hits."""


class Correlation:
    """Of the logarithms of two quantities."""

    def __init__(self) -> None:
        self._sums = np.zeros(5)
        self._count = 0

    def add(self, first: Int64, second: Int64) -> None:
        """Counts pairs, both positive."""
        x, y = np.log(first), np.log(second)
        self._sums += [x.sum(), y.sum(), (x * x).sum(), (y * y).sum(), (x * y).sum()]
        self._count += x.size

    @property
    def value(self) -> float | None:
        """Pearson's coefficient; None where one of them does not vary."""
        if not self._count:
            return None
        x, y, xx, yy, xy = (self._sums / self._count).tolist()
        spread = (xx - x * x) * (yy - y * y)
        # rounding leaves a little of nothing
        return None if spread <= 1e-18 * xx * yy else max(-1.0, min(1.0, (xy - x * y) / math.sqrt(spread)))


class Hits:
    """Tokens that a cache which forgets nothing would have held, and by length of the prompt."""

    def __init__(self, most_blocks: int) -> None:
        self.cache = InfiniteCache(most_blocks)
        self.uncached = Histogram()
        self.block_tokens = 1
        self._input = np.zeros(2 * OCTAVES)
        self._cached = np.zeros(2 * OCTAVES)
        self._requests = np.zeros(2 * OCTAVES, dtype=np.int64)

    def add(self, chunk: Chunk) -> None:
        """Counts prompts with their blocks, until the cache is full."""
        if chunk.blocks is None:
            return
        self.block_tokens = chunk.blocks.block_tokens
        cached = self.cache.cached_tokens(chunk.blocks, chunk.input_tokens)
        if cached is None:
            return
        self.uncached.add(chunk.input_tokens - cached)
        bins = np.floor(2 * np.log2(np.maximum(chunk.input_tokens, 1))).astype(np.int64)
        self._input += np.bincount(bins, chunk.input_tokens, minlength=2 * OCTAVES)
        self._cached += np.bincount(bins, cached, minlength=2 * OCTAVES)
        self._requests += np.bincount(bins, minlength=2 * OCTAVES)

    @property
    def token_hit_ratio(self) -> float | None:
        """Cached tokens of all tokens, in [0, 1]; None where there were no blocks."""
        total = self._input.sum()
        return float(self._cached.sum() / total) if total else None

    def by_length(self) -> dict[str, NDArray[np.float64]]:
        """The same for prompts of about the same length: their mean length, hit ratio, and how many they are."""
        there = np.flatnonzero(self._input)
        requests = self._requests[there]
        return {
            "tokens": self._input[there] / requests,
            "hit_ratio": self._cached[there] / self._input[there],
            "requests": requests.astype(float),
        }


class Statistics:
    """Of a trace, chunk by chunk in order; lengths and hits are exact, whatever the number of requests."""

    def __init__(self, most_blocks: int = MOST_BLOCKS) -> None:
        self.rows = 0
        self.input_tokens, self.output_tokens = Histogram(), Histogram()
        self.gaps, self.bins = Gaps(), Bins()
        self.windows = {seconds: Windows(seconds) for seconds in WINDOWS_S}
        self.hits = Hits(most_blocks)
        self._correlation = Correlation()
        self._sessions: Seen | None = None

    def add(self, chunk: Chunk) -> None:
        """Counts a chunk. Raises ValueError where arrivals fall, or lengths differ beyond reason (`Histogram.add`)."""
        if not chunk.rows:
            return
        self.rows += chunk.rows
        self.input_tokens.add(chunk.input_tokens)
        self.output_tokens.add(chunk.output_tokens)
        self._correlation.add(np.maximum(chunk.input_tokens, 1), np.maximum(chunk.output_tokens, 1))
        self.hits.add(chunk)
        self.gaps.add(chunk.arrival_ns)
        since_first = chunk.arrival_ns - (self.gaps.first_ns or 0)
        self.bins.add(since_first)
        for windows in self.windows.values():
            windows.add(since_first)
        if chunk.sessions is not None:
            self._add_sessions(chunk.sessions)

    def _add_sessions(self, sessions: Int64) -> None:
        self._sessions = self._sessions or Seen()
        if len(self._sessions) < MOST_SESSIONS:
            distinct = np.unique(sessions)
            self._sessions.add(distinct[~self._sessions.contains(distinct)])

    @property
    def sessions(self) -> int | None:
        """Different sessions, at most about MOST_SESSIONS; None where the trace has none."""
        return None if self._sessions is None else len(self._sessions)

    @property
    def correlation(self) -> float | None:
        """Of ln(input) and ln(output)."""
        return self._correlation.value

    @property
    def rate_over_time(self) -> RateOverTime | None:
        """None of a trace without duration."""
        return self.bins.rate()
