"""Where the prompts of a simulation come from: the trace that its scenario names, or sessions that are generated."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from numpy.random import SeedSequence

from planner import recorded
from planner.documents.errors import refuse
from planner.engine.curves import Curve
from planner.engine.latency import state_bytes
from planner.engine.lengths import LengthDistribution
from planner.engine.sessions import Sessions, means, uncached_lengths
from planner.engine.simulation.prompts import PromptSource
from planner.scenario.schema import Document
from planner.simulating.prompts import SessionPrompts, TracePrompts
from planner.simulating.stages import CachesTable

SAMPLED = 1
"""Seed of the sessions by which the formulas know what caches leave."""
NO_BLOCK = 2**30
"""Tokens of a block so large that nothing is ever reused."""


@dataclass(frozen=True, slots=True)
class Source:
    """Prompts, and what the steady-state formulas must know of them beside the scenario."""

    source: PromptSource
    uncached: LengthDistribution | None = None
    """What is left of prompts to be prefilled; None: as the scenario's traffic says."""
    output_tokens: float | None = None


def prompts(
    given: TracePrompts | SessionPrompts, document: Document, caches: CachesTable | None, s_kv: Curve
) -> Source:
    """The prompts that a simulation asks for, with the formulas' view of them under caches that forget nothing.

    Raises DocumentError on a trace that is not there, and on sessions that contradict themselves.
    """
    if isinstance(given, TracePrompts):
        return Source(_trace(given, document))
    try:
        sessions = given.engine()
    except ValueError as problem:
        raise refuse("prompts", None, str(problem)) from problem
    if caches is None:
        return Source(sessions, *_steady(sessions, NO_BLOCK, True, None))
    every = caches.state_every if state_bytes(s_kv) > 0 else None
    return Source(sessions, *_steady(sessions, caches.block_tokens, caches.keeps_answers, every))


@lru_cache(maxsize=8)
def _steady(
    sessions: Sessions, block_tokens: int, keeps_answers: bool, state_every: int | None
) -> tuple[LengthDistribution, float]:
    """What an endless cache leaves of their prompts, and the mean length of their answers."""
    seed = SeedSequence(SAMPLED)
    uncached = uncached_lengths(sessions, block_tokens, seed, answers_kept=keeps_answers, state_every=state_every)
    return uncached, means(sessions).output_tokens


def _trace(given: TracePrompts, document: Document) -> PromptSource:
    digest = document.traffic.trace
    if digest is None:
        raise refuse("prompts.source", given.source, "needs a scenario whose traffic came from a recorded trace")
    try:
        found = recorded.prompts(digest, given.jitter_s)
    except ValueError as problem:
        raise refuse("prompts.source", given.source, str(problem)) from problem
    if found is None:
        raise refuse("prompts.source", given.source, "needs the requests of the trace, which are not stored here")
    return found
