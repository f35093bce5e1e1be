"""A few prompts by hand that have their beginnings in common: paths from the root of a tree, with their answers."""

from dataclasses import dataclass, field

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from planner.engine.simulation.prompts import Prompts
from planner.engine.simulation.requests import blocks, taking


@dataclass(frozen=True)
class Tree:
    """Each block of a prompt is one of `branches` that can follow the one before; an answer goes on from there."""

    count: int
    branches: int
    deepest: int
    block_tokens: int
    seed: int
    named_blocks: NDArray[np.int64] = field(init=False)
    drawn: Prompts = field(init=False)

    def __post_init__(self):
        rng = default_rng(self.seed)
        sizes, answers = rng.integers(0, self.deepest + 1, self.count), rng.integers(0, 3, self.count)
        names, chain, named = {}, [], []
        for size in sizes + answers:
            path = ()
            chain.append(len(named))
            for _ in range(size):
                path += (int(rng.integers(self.branches)),)
                named.append(names.setdefault(path, 1000 + 7 * len(names)))
        tokens = sizes * self.block_tokens + rng.integers(1, self.block_tokens, self.count)
        none = np.zeros(self.count, dtype=np.int64)
        output = rng.integers(1, 300, self.count)
        chain = np.array(chain, dtype=np.int64)
        object.__setattr__(self, "named_blocks", np.array([*named, 0], dtype=np.int64))
        object.__setattr__(
            self, "drawn", Prompts(none.astype(float), tokens, output, chain, none, none, sizes, sizes + answers)
        )

    @property
    def most_requests(self):
        return self.count

    @property
    def longest_tokens(self):
        return (self.deepest + 1) * self.block_tokens

    def start(self, rate_rps, arrivals, block_tokens, seed):
        assert block_tokens == self.block_tokens
        streams = [default_rng(child) for child in seed.spawn(2)]
        self.drawn.arrival_s[:] = taking(blocks(arrivals, rate_rps, *streams))(self.count)
        return self

    def next(self, count):
        assert count <= self.count
        return Prompts(*(part[:count] for part in self.drawn))
