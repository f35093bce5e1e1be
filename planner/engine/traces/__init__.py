"""Recorded traffic: requests in columns, their statistics, and how they are kept."""

from planner.engine.traces.chunk import MOST_ROWS, Blocks, Chunk, joined
from planner.engine.traces.histogram import Histogram
from planner.engine.traces.prefix import InfiniteCache
from planner.engine.traces.rates import RateOverTime
from planner.engine.traces.statistics import Statistics
from planner.engine.traces.storage import decode, encode
from planner.engine.traces.ticks import spread, tick_ns

__all__ = [
    "MOST_ROWS",
    "Blocks",
    "Chunk",
    "Histogram",
    "InfiniteCache",
    "RateOverTime",
    "Statistics",
    "decode",
    "encode",
    "joined",
    "spread",
    "tick_ns",
]
