"""The prefix-cache pool: requests a second on one core, of sessions that come back, beside an ordered dictionary."""

import time
from collections import OrderedDict

import numpy as np
from numpy.random import SeedSequence

from planner.engine.arrivals import Poisson
from planner.engine.sessions import agents, chat
from planner.engine.simulation.prefix_cache import Pool, matched, new_pool, touch_and_keep
from tests.engine.compiling import from_python

POOL_BLOCKS = 1_000_000
REQUESTS = 400_000
"""Half of them fill the pool, the others are timed."""
PLAIN = 40_000
"""Of these, what the dictionary really serves; its time for all is scaled up."""
GENERATED = 2_000_000
SHARED, SYSTEM, RUN = 4, 1, 2**20
FIRST, ADDED, TURNS = 38, 4, 9
"""Blocks of a session's first prompt and of each later turn: 54 on average."""
CASES = (("no states", 15_000, 0.0, 0), ("a state each", 15_000, 8.0, 0), ("a state each 8 blocks", 15_000, 8.0, 8))
CASES += (("no states, more than the pool", 40_000, 0.0, 0),)


@from_python
def served(pool: Pool, blocks: np.ndarray, chains: np.ndarray, counts: np.ndarray, state_every: int) -> int:
    """Blocks that were found, of requests one after another."""
    total = 0
    for at in range(chains.size):
        reused = matched(pool, blocks, chains[at], SHARED, SYSTEM, counts[at])
        touch_and_keep(pool, blocks, chains[at], SHARED, SYSTEM, counts[at], state_every, reused)
        total += reused
    return total


def stream(sessions):
    """Chains and counts of requests: any of the sessions takes its next turn, and begins anew after its last."""
    rng = np.random.default_rng(1)
    who, turn = rng.integers(0, sessions, REQUESTS), rng.integers(0, TURNS, sessions)
    order = np.argsort(who, kind="stable")
    begins = np.searchsorted(who[order], np.arange(sessions))
    turns = np.empty(REQUESTS, dtype=np.int64)
    turns[order] = np.arange(REQUESTS) - begins[who[order]]
    rounds, turns = np.divmod(turns + turn[who], TURNS)
    return (who + sessions * rounds + SYSTEM + 1) * RUN, FIRST + ADDED * turns


def plain(cache, chains, counts):
    """The same without states, by Python's own ordered dictionary."""
    total = 0
    for chain, count in zip(chains.tolist(), counts.tolist(), strict=True):
        ids = [SYSTEM + k if k < SHARED else chain + k for k in range(count)]
        for name in ids:
            if name not in cache:
                break
            total += 1
        for name in reversed(ids):
            if name in cache:
                cache.move_to_end(name)
            else:
                cache[name] = None
        while len(cache) > POOL_BLOCKS:
            cache.popitem(last=False)
    return total


def seconds_of(run, *args):
    began = time.perf_counter()
    found = run(*args)
    return time.perf_counter() - began, found


def ours(chains, counts, state_bytes, state_every):
    """Seconds for the second half, and the share of its blocks that were found."""
    pool, none, half = (
        new_pool(POOL_BLOCKS * (1.2 if state_bytes else 1), 1.0, state_bytes),
        np.empty(0, np.int64),
        REQUESTS // 2,
    )
    served(pool, none, chains[:half], counts[:half], state_every)
    seconds, found = seconds_of(served, pool, none, chains[half:], counts[half:], state_every)
    return seconds, found / counts[half:].sum()


def plain_s(chains, counts):
    """The dictionary's time for the second half, scaled."""
    cache, half = OrderedDict(), REQUESTS // 2
    plain(cache, chains[half - PLAIN : half], counts[half - PLAIN : half])
    return seconds_of(plain, cache, chains[half : half + PLAIN], counts[half : half + PLAIN])[0] * half / PLAIN


def lines():
    """One row a case; then how fast sessions are generated."""
    served(
        new_pool(10, 1.0), np.empty(0, np.int64), *np.zeros((2, 1), dtype=np.int64), 0
    )  # compiled before it is timed
    for title, sessions, state_bytes, state_every in CASES:
        chains, counts = stream(sessions)
        took, hits = min(ours(chains, counts, state_bytes, state_every) for _ in range(3))
        beside, note = f"{'–':>12} {'–':>9}", ""
        if not state_bytes:
            loop = plain_s(chains, counts)
            beside, note = f"{loop * 1e3:12,.1f} {loop / took:8,.3g}×", f"; dictionary scaled from {PLAIN:,}"
        yield (
            f"{f'prefix cache, {title}':<48} {took * 1e3:10.2f} {beside}  {REQUESTS / 2 / took:,.0f} requests/s of "
            f"{counts.mean():.0f} blocks, {hits:.0%} found{note}"
        )
    for title, sessions in (("chat", chat()), ("agents", agents())):
        made = sessions.start(50.0, Poisson(), 512, SeedSequence(1))
        first, took = seconds_of(made.next, 1)[0], seconds_of(made.next, GENERATED)[0]
        note = f"{GENERATED / took:,.0f} requests/s, after {first * 1e3:.0f} ms for the first"
        yield f"{f'sessions, {title}, {GENERATED:,}':<48} {took * 1e3:10.2f} {'–':>12} {'–':>9}  {note}"


if __name__ == "__main__":
    print(*lines(), sep="\n")
