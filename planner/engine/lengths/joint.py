"""Prompts, what a cache leaves of them, and answers, of the same requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from planner.engine.curves import Array
from planner.engine.lengths.correlated import CorrelatedOutput
from planner.engine.lengths.distribution import LengthDistribution
from planner.engine.lengths.incremental import LEAST_TOKENS


class Drawn(NamedTuple):
    """Requests, each array of shape (n,), in tokens."""

    prompt: Array
    increment: Array
    """What is left of the prompt to be prefilled, one token at least."""
    output: Array


@dataclass(frozen=True, slots=True, eq=False)
class JointLengths:
    """Whole prompts, the share of each that is cached, and an answer to each."""

    prompts: LengthDistribution
    output: float | LengthDistribution | CorrelatedOutput
    reuse_tokens: Array | None = None
    """Lengths of prompts at which the cached share is known, rising; between them it is straight over ln l."""
    hit_ratio: Array | None = None
    """In [0, 1], of the same shape."""

    def draw(self, count: int, prompts: Generator, outputs: Generator) -> Drawn:
        """So many requests; the same two generators give the same ones."""
        whole = self.prompts.quantile(prompts.random(count))
        left = whole
        if self.reuse_tokens is not None and self.hit_ratio is not None:
            hit = np.interp(np.log(whole), np.log(self.reuse_tokens), self.hit_ratio)
            left = np.maximum(whole * (1 - hit), LEAST_TOKENS)
        return Drawn(whole, left, self._answers(whole, outputs))

    def _answers(self, prompts: Array, rng: Generator) -> Array:
        match self.output:
            case CorrelatedOutput():
                return self.output.quantile_given(prompts, rng.random(prompts.size))
            case float():
                return np.full(prompts.size, self.output)
        return self.output.quantile(rng.random(prompts.size))
