"""The prefix-cache pool: against a slow one, an endless one, and what was published of a real trace."""

import math
from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.engine.simulation import prefix_cache
from planner.engine.simulation.prefix_cache import END, NOBODY, new_pool
from planner.engine.traces import Blocks, InfiniteCache, joined
from planner.importers import traces
from tests.engine.compiling import from_python
from tests.examples import examples
from tests.shared_data import SHARED, needs_shared_data

block_id, find, matched, release, reserve, touch_and_keep, used_bytes = map(
    from_python,
    (
        prefix_cache.block_id,
        prefix_cache.find,
        prefix_cache.matched,
        prefix_cache.release,
        prefix_cache.reserve,
        prefix_cache.touch_and_keep,
        prefix_cache.used_bytes,
    ),
)

GENERATED = np.empty(0, dtype=np.int64)
RUN = 2**20


class PlainPool:
    """The same rules over a dictionary, least recently used first: keys are ("block", id) and ("state", id)."""

    def __init__(self, capacity, block_bytes, state_bytes, most_blocks):
        self.capacity, self.most_blocks = capacity, most_blocks
        self.bytes = {"block": block_bytes, "state": state_bytes}
        self.there, self.transfer, self.evicted = OrderedDict(), 0, {"block": 0, "state": 0}
        self.crowded = 0

    def count(self, kind):
        return sum(key[0] == kind for key in self.there)

    def used(self):
        return sum(self.bytes[kind] for kind, _ in self.there)

    def matched(self, ids):
        usable = 0
        for k in range(1, len(ids) + 1):
            if ("block", ids[k - 1]) not in self.there:
                break
            if not self.bytes["state"] or ("state", ids[k - 1]) in self.there:
                usable = k
        return usable

    def parts(self, ids, state_every, reused):
        for k, name in enumerate(ids, 1):
            yield "block", name
            made = k == len(ids) or (state_every and k > reused and k % state_every == 0)
            if self.bytes["state"] and (made or (k == reused and ("state", name) in self.there)):
                yield "state", name

    def has_bytes(self, kind):
        return self.used() + self.transfer + self.bytes[kind] <= self.capacity

    def fits(self, kind):
        return self.has_bytes(kind) and (kind == "state" or self.count("block") < self.most_blocks)

    def evict(self, key):
        del self.there[key]
        self.evicted[key[0]] += 1

    def keep(self, ids, state_every=0, reused=0):
        parts = list(self.parts(ids, state_every, reused))
        mine = {key for key in parts if key in self.there}
        for key in parts:
            if key in mine:
                continue
            others = [other for other in self.there if other not in mine]
            while others and not self.fits(key[0]):
                self.crowded += self.has_bytes(key[0])
                self.evict(others.pop(0))
            if not self.fits(key[0]):
                break
            self.there[key] = None
            mine.add(key)
        for key in reversed([key for key in parts if key in self.there]):
            self.there.move_to_end(key)

    def reserve(self, size):
        self.transfer += size
        while self.there and self.used() + self.transfer > self.capacity:
            self.evict(next(iter(self.there)))


def contents(pool):
    """Its list by use, the oldest first, as the plain pool has it."""
    found, node = [], int(pool.nodes[END]["newer"])
    while node != END:
        found.append(("state" if node & 1 else "block", int(pool.nodes[node - (node & 1)]["tag"])))
        node = int(pool.nodes[node]["newer"])
    return found


def agree(pool, plain):
    head = pool.head[0]
    assert contents(pool) == list(plain.there)
    assert used_bytes(pool) == plain.used()
    assert (head["blocks"], head["states"]) == (plain.count("block"), plain.count("state"))
    assert (head["evicted_blocks"], head["evicted_states"]) == tuple(plain.evicted.values())
    assert (head["transfer_bytes"], head["crowded"]) == (plain.transfer, plain.crowded)


# --- against the slow one ----------------------------------------------------------------------------------------

PROMPTS = st.lists(st.integers(0, 2), max_size=10)
SIZES = st.sampled_from([(1, 0), (1, 1), (1, 3), (3, 1), (0, 2)])


@st.composite
def recorded(draw):
    """Prompts over a tree, and the ids of all of them: one id for each prefix, any 64-bit numbers."""
    prompts, names = draw(st.lists(PROMPTS, min_size=1, max_size=12)), {}
    flat, requests = [], []
    for prompt in prompts:
        requests.append((len(flat), 0, 0, len(prompt)))
        for end in range(1, len(prompt) + 1):
            number = names.setdefault(tuple(prompt[:end]), len(names))
            flat.append((number * 0x9E3779B97F4A7C15 + 2**63) % 2**64 - 2**63)
    return np.array([*flat, 0], dtype=np.int64), requests


@st.composite
def generated(draw):
    """Requests of a few sessions, each of which has a system prompt of its own or shares it."""
    sessions = draw(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 4)), min_size=1, max_size=4))
    asked = draw(st.lists(st.tuples(st.integers(0, len(sessions) - 1), st.integers(0, 10)), max_size=12))
    requests = [((100 + who) * RUN, sessions[who][1], (1 + sessions[who][0]) * RUN, count) for who, count in asked]
    return GENERATED, requests


@st.composite
def histories(draw):
    """Ids, and what happens with them: ("keep", request, state_every, share reused), ("reserve", bytes) and so on."""
    ids, requests = draw(st.one_of(recorded(), generated()))
    steps, sent = [], []
    for request in requests:
        steps.append(("keep", request, draw(st.sampled_from([0, 1, 2, 3])), draw(st.booleans())))
        if draw(st.booleans()):
            sent.append(draw(st.integers(0, 20)))
            steps.append(("reserve", sent[-1]))
        if sent and draw(st.booleans()):
            steps.append(("release", sent.pop()))
    return ids, steps


@examples(100)
@given(histories(), SIZES, st.sampled_from([0, 1, 5, 12, 30, math.inf]), st.integers(1, 15))
def test_the_pool_is_the_slow_one_step_by_step(history, sizes, capacity, most_blocks):
    ids, steps = history
    pool, plain = new_pool(capacity, *sizes, most_blocks), PlainPool(capacity, *sizes, most_blocks)
    for kind, *step in steps:
        if kind == "keep":
            (chain, shared, system, count), state_every, reuses = step
            names = [int(block_id(ids, chain, shared, system, k)) for k in range(count)]
            found = matched(pool, ids, chain, shared, system, count)
            assert found == plain.matched(names)
            reused = found if reuses else 0
            touch_and_keep(pool, ids, chain, shared, system, count, state_every, reused)
            plain.keep(names, state_every, reused)
        elif kind == "reserve":
            reserve(pool, float(*step))
            plain.reserve(*step)
        else:
            release(pool, float(*step))
            plain.transfer -= step[0]
        agree(pool, plain)


@examples(40)
@given(st.lists(st.lists(st.integers(0, 6), max_size=8), max_size=12), SIZES, st.integers(0, 12))
def test_ids_that_do_not_stand_for_a_prefix_leave_the_books_in_order(prompts, sizes, capacity):
    pool = new_pool(capacity, *sizes, 10)
    for prompt in prompts:
        ids = np.array([*prompt, 0], dtype=np.int64)
        touch_and_keep(pool, ids, 0, 0, 0, len(prompt), 2, 0)
        found = contents(pool)
        assert len(set(found)) == len(found) == pool.head[0]["blocks"] + pool.head[0]["states"]
        assert used_bytes(pool) == sum(sizes[kind == "state"] for kind, _ in found) <= capacity
        for kind, name in found:
            assert kind == "state" or find(pool, name) != NOBODY


# --- against the endless one -------------------------------------------------------------------------------------


@examples(40)
@given(recorded())
def test_an_endless_pool_without_states_is_the_endless_cache(trace):
    ids, requests = trace
    offsets = np.array([*(chain for chain, *_ in requests), ids.size - 1])
    expected = InfiniteCache().cached_tokens(Blocks(ids[:-1], offsets, 1), np.diff(offsets))
    pool = new_pool(math.inf, 1.0, most_blocks=200)
    for request, tokens in zip(requests, expected, strict=True):
        assert matched(pool, ids, *request) == tokens
        assert touch_and_keep(pool, ids, *request, 0, 0) == request[-1]
    assert pool.head[0]["blocks"] == np.unique(ids[:-1]).size
    assert not pool.head[0]["crowded"]


@needs_shared_data
def test_mooncakes_hits_in_an_endless_pool_are_the_published_ones():
    chunk = joined(list(traces.open_trace(SHARED / "traces" / "mooncake_conversation_trace.jsonl.gz", {}).chunks()))
    blocks, pool, cached = chunk.blocks, new_pool(math.inf, 1.0), 0
    counts = np.diff(blocks.offsets)
    for chain, count, tokens in zip(
        blocks.offsets.tolist(), counts.tolist(), chunk.input_tokens.tolist(), strict=False
    ):
        found = matched(pool, blocks.ids, chain, 0, 0, count)
        touch_and_keep(pool, blocks.ids, chain, 0, 0, count, 0, 0)
        cached += min(found * blocks.block_tokens, tokens)
    assert cached / chunk.input_tokens.sum() == pytest.approx(0.3736, abs=5e-5)


# --- by hand -----------------------------------------------------------------------------------------------------


def kept(pool, chain, count, state_every=0, reused=0):
    return touch_and_keep(pool, GENERATED, chain * RUN, 0, 0, count, state_every, reused)


def found(pool, chain, count):
    return matched(pool, GENERATED, chain * RUN, 0, 0, count)


def test_the_least_recently_used_request_goes_first_and_its_deepest_blocks_before_the_others():
    pool = new_pool(10, 1)
    kept(pool, 1, 5)
    kept(pool, 2, 5)
    kept(pool, 1, 5)
    kept(pool, 3, 2)
    assert [found(pool, chain, 5) for chain in (1, 2, 3)] == [5, 3, 2]


def test_a_state_is_reused_only_at_its_own_length():
    pool = new_pool(100, 1, 1)
    kept(pool, 1, 7)
    assert [found(pool, 1, count) for count in (6, 7, 8)] == [0, 7, 7]


def test_states_at_chunk_boundaries_let_a_shorter_prefix_be_reused():
    pool = new_pool(100, 1, 1)
    kept(pool, 1, 7, state_every=3)
    assert [found(pool, 1, count) for count in range(9)] == [0, 0, 0, 3, 3, 3, 6, 7, 7]


def test_a_prefill_that_reuses_a_prefix_leaves_no_states_within_it():
    pool = new_pool(100, 1, 1)
    kept(pool, 1, 7)
    kept(pool, 1, 12, state_every=3, reused=7)
    assert [found(pool, 1, count) for count in (6, 7, 8, 9, 11, 12)] == [0, 7, 7, 9, 9, 12]


def test_of_a_request_that_is_more_than_the_pool_the_beginning_is_kept():
    pool = new_pool(5, 1)
    assert kept(pool, 1, 8) == 5
    assert found(pool, 1, 8) == 5
    assert pool.head[0]["refused"] == 1
    assert not pool.head[0]["evicted_blocks"]


def test_a_transfer_is_always_admitted_and_what_it_pushed_out_stays_out():
    pool = new_pool(10, 1)
    kept(pool, 1, 8)
    reserve(pool, 5.0)
    reserve(pool, 20.0)
    assert found(pool, 1, 8) == 0
    assert kept(pool, 2, 1) == 0
    release(pool, 20.0)
    assert kept(pool, 2, 8) == 5
    release(pool, 5.0)
    assert kept(pool, 2, 8) == 8
    head = pool.head[0]
    assert (head["transfer_bytes"], head["most_transfer_bytes"], head["evicted_blocks"]) == (0, 25, 8)


def test_an_endless_pool_says_when_it_ran_out_of_blocks():
    pool = new_pool(math.inf, 1, 1, most_blocks=4)
    kept(pool, 1, 4)
    assert not pool.head[0]["crowded"]
    kept(pool, 2, 1)
    assert pool.head[0]["crowded"] == 2  # the state behind the fourth block, and the block
    assert found(pool, 2, 1) == 1


def test_a_pool_of_a_few_blocks_takes_a_few_bytes():
    assert sum(part.nbytes for part in new_pool(1000, 1)) < 64 * 1000


@from_python
def found_in(pools: tuple[prefix_cache.Pool, prefix_cache.Pool], which: int, blocks: np.ndarray) -> int:
    return matched(pools[which], blocks, RUN, 0, 0, 5)


def test_compiled_code_may_choose_between_pools():
    pools = new_pool(10, 1), new_pool(10, 1)
    kept(pools[1], 1, 5)
    assert [found_in(pools, which, GENERATED) for which in (0, 1)] == [0, 5]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, 1), r"the pool's capacity in bytes must not be negative"),
        ((1, -1), r"bytes of a block must be finite and not negative, got -1"),
        ((1, 1, math.inf), r"bytes of a state must be finite and not negative, got inf"),
        ((1, 0), r"a block or a state must have bytes, got 0 for both"),
        ((1, 1, 1, 0), r"most_blocks must be from 1 to below 2\^30, got 0"),
    ],
)
def test_a_pool_that_cannot_be_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        new_pool(*arguments)
