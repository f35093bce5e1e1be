"""A cluster's hybrid prefix-cache pool: blocks of KVCache and request-level states, the least recently used go first.

Blocks and states are nodes of one list by last use. Whoever uses a block uses all before it, and they count as used
after it; a state counts as used before the block in front of it. So of one request the deepest part goes first, and
what is there has all that it needs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.engine.deployment import require_not_negative
from planner.engine.simulation.compilation import compiled
from planner.engine.simulation.layout import Records

NOBODY, END = 0, 1
"""No node; and the one where the list, a ring, begins and ends: on its older side is what was used last."""
MOST_BLOCKS = 2**22
"""Blocks of a pool, 160 MB of nodes and index, of which only what is used is ever touched."""
LOW_BITS = 8
"""Of ids that differ in so many lower bits alone, the places in the index are as far apart as they are."""
MULTIPLIER = 0x1E3779B97F4A7C15
"""Odd, and below 2^63: a larger number would not be signed, and signed and unsigned ones together become floats."""

HEAD = np.dtype(
    [
        ("capacity_bytes", float),
        ("block_bytes", float),
        ("state_bytes", float),
        ("transfer_bytes", float),  # reserved now, ...
        ("most_transfer_bytes", float),  # ... and at most so far
        ("blocks", np.int64),  # that are there
        ("states", np.int64),
        ("free", np.int64),  # first of the list of block nodes that were given back
        ("fresh", np.int64),  # first that was never used
        ("evicted_blocks", np.int64),
        ("evicted_states", np.int64),
        ("crowded", np.int64),  # evictions for want of a node where bytes were left
        ("refused", np.int64),  # requests that alone were more than there is room for
    ],
    align=True,
)
# Blocks have the even numbers, the state behind each has the next one: both are in one line of the processor's cache.
# `tag` of a block is its id; of a state's node, the next block of the same place in the index, or the next free one.
# `newer` of a state that is not there is NOBODY.
NODE = np.dtype([("tag", np.int64), ("newer", np.int32), ("older", np.int32)], align=True)


class Pool(NamedTuple):
    """One cluster's pool, in structured arrays."""

    head: Records
    nodes: Records
    index: Records
    """First block of each place, shape (a power of 2,)."""


def new_pool(
    capacity_bytes: float, block_bytes: float, state_bytes: float = 0.0, most_blocks: int = MOST_BLOCKS
) -> Pool:
    """An empty pool for blocks of so many bytes, and for states of so many where a model has them.

    It never has more than `most_blocks`: `head.crowded` says how often that, and not the capacity, pushed something
    out, as it may where the capacity is infinite. Raises ValueError on negative numbers, on sizes that are not finite
    or both 0, and on no or too many blocks.
    """
    require_not_negative("the pool's capacity in bytes", capacity_bytes)
    for name, size in (("block", block_bytes), ("state", state_bytes)):
        if not 0 <= size < math.inf:
            raise ValueError(f"bytes of a {name} must be finite and not negative, got {size:g}")
    if block_bytes == state_bytes == 0:
        raise ValueError("a block or a state must have bytes, got 0 for both")
    if not 1 <= most_blocks < 2**30:
        raise ValueError(f"most_blocks must be from 1 to below 2^30, got {most_blocks}")
    # the blocks of a model that has states alone take no bytes
    count = int(min(capacity_bytes / block_bytes, most_blocks)) if block_bytes else most_blocks
    head = np.zeros(1, dtype=HEAD)
    head["capacity_bytes"], head["block_bytes"], head["state_bytes"] = capacity_bytes, block_bytes, state_bytes
    head["fresh"] = 2
    index: NDArray[np.int32] = np.zeros(1 << max(2 * count - 1, 1).bit_length(), dtype=np.int32)
    nodes = np.zeros(2 * count + 2, dtype=NODE)
    nodes[END]["newer"] = nodes[END]["older"] = END
    return Pool(head, nodes, index)


@compiled
def block_id(blocks: NDArray[np.int64], chain: int, shared: int, system: int, k: int) -> int:
    """Which block is the request's k-th: it stands for the whole prefix up to its end.

    Of a recorded trace `blocks` has the ids of all requests, and `chain` says where the request's begin. Without one
    the first `shared` blocks are counted from `system`, the others from `chain`, by their place in the request.
    """
    if blocks.size:
        return int(blocks[chain + k])
    return system + k if k < shared else chain + k


@compiled
def used_bytes(pool: Pool) -> float:
    """Bytes of all blocks and states that are there: without transfers."""
    head = pool.head[0]
    return float(head.blocks * head.block_bytes + head.states * head.state_bytes)


@compiled
def place(pool: Pool, key: int) -> int:
    """Where an id is in the index."""
    return int((key + ((key >> LOW_BITS) * MULTIPLIER >> 32)) & (pool.index.size - 1))


@compiled
def find(pool: Pool, key: int) -> int:
    """The block of an id, or NOBODY."""
    nodes = pool.nodes
    block = pool.index[place(pool, key)]
    while block != NOBODY and nodes[block].tag != key:
        block = nodes[block + 1].tag
    return int(block)


@compiled
def unlink(pool: Pool, node: int) -> None:
    """Takes a node out of the list by use."""
    nodes = pool.nodes
    newer, older = nodes[node].newer, nodes[node].older
    nodes[newer].older, nodes[older].newer = older, newer


@compiled
def link(pool: Pool, node: int, newer: int) -> None:
    """Puts a node into the list, as used just before another; before END, it is the last used."""
    nodes = pool.nodes
    older = nodes[newer].older
    nodes[node].newer, nodes[node].older = newer, older
    nodes[newer].older = nodes[older].newer = node


@compiled
def move(pool: Pool, node: int, newer: int) -> None:
    """Puts a node that is in the list just before another."""
    if node != newer and pool.nodes[node].newer != newer:
        unlink(pool, node)
        link(pool, node, newer)


@compiled
def forget(pool: Pool, block: int) -> None:
    """Takes a block out of the index."""
    nodes, index = pool.nodes, pool.index
    at, follows = place(pool, nodes[block].tag), nodes[block + 1].tag
    before = index[at]
    if before == block:
        index[at] = follows
        return
    while nodes[before + 1].tag != block:
        before = nodes[before + 1].tag
    nodes[before + 1].tag = follows


@compiled
def drop_state(pool: Pool, block: int) -> None:
    """The state behind a block is no longer there, if it was."""
    head, state = pool.head[0], block + 1
    if pool.nodes[state].newer != NOBODY:
        unlink(pool, state)
        pool.nodes[state].newer = NOBODY
        head.states -= 1
        head.evicted_states += 1


@compiled
def evict(pool: Pool, node: int) -> None:
    """A state is no longer there, or a block and the state behind it."""
    head, nodes, block = pool.head[0], pool.nodes, node & ~1
    drop_state(pool, block)
    if node == block:
        unlink(pool, block)
        forget(pool, block)
        nodes[block + 1].tag = head.free
        head.free = block
        head.blocks -= 1
        head.evicted_blocks += 1


@compiled
def make_room(pool: Pool, size_bytes: float, node: bool, last: int) -> bool:
    """Pushes out the least recently used until so many bytes, and a node if one is needed, are free.

    False if `last` would have to go.
    """
    head, nodes = pool.head[0], pool.nodes
    while True:
        short = used_bytes(pool) + head.transfer_bytes + size_bytes > head.capacity_bytes
        if not short and (not node or head.free != NOBODY or head.fresh < nodes.size):
            return True
        oldest = nodes[END].newer
        if oldest == last:
            return False
        head.crowded += not short
        evict(pool, oldest)


@compiled
def keep_block(pool: Pool, key: int, last: int) -> int:
    """Keeps a block, as used just before `last`; NOBODY if it has no room beside that."""
    head, nodes, index = pool.head[0], pool.nodes, pool.index
    block = find(pool, key)
    if block != NOBODY:  # behind one that is not there: ids that do not stand for the whole prefix
        move(pool, block, last)
        return block
    if not make_room(pool, head.block_bytes, True, last):
        return NOBODY
    block = head.free
    if block != NOBODY:
        head.free = nodes[block + 1].tag
    else:
        block = head.fresh
        head.fresh += 2
    at = place(pool, key)
    nodes[block].tag, nodes[block + 1].tag = key, index[at]
    index[at] = block
    link(pool, block, last)
    head.blocks += 1
    return int(block)


@compiled
def keep_state(pool: Pool, block: int, last: int) -> int:
    """Keeps the state behind a block, as used just before it; NOBODY if it has no room beside `last` and newer ones."""
    state = block + 1
    if pool.nodes[state].newer != NOBODY:
        move(pool, state, block)
        return state
    if not make_room(pool, pool.head[0].state_bytes, False, last):
        return NOBODY
    link(pool, state, block)
    pool.head[0].states += 1
    return state


@compiled
def matched(pool: Pool, blocks: NDArray[np.int64], chain: int, shared: int, system: int, count: int) -> int:
    """Blocks of the longest prefix, among a request's first `count`, that can be reused: see `block_id`.

    Without states, the leading blocks that are there; with them, up to the last of these that has a state behind it.
    """
    stateless, usable = pool.head[0].state_bytes == 0, 0
    for k in range(count):
        block = find(pool, block_id(blocks, chain, shared, system, k))
        if block == NOBODY:
            break
        if stateless or pool.nodes[block + 1].newer != NOBODY:
            usable = k + 1
    return usable


@compiled
def next_state(k: int, reused: int, count: int, state_every: int) -> int:
    """Behind how many blocks, more than k, a prefill that reused some leaves its next state; count + 1 if nowhere."""
    if k >= count or state_every == 0:
        return count + (k >= count)
    return min((max(k, reused) // state_every + 1) * state_every, count)


@compiled
def touch(
    pool: Pool,
    blocks: NDArray[np.int64],
    chain: int,
    shared: int,
    system: int,
    count: int,
    state_every: int,
    reused: int,
) -> tuple[int, int]:
    """What is there of a request counts as used last: of how many leading blocks, and the oldest node of these."""
    last, due = END, next_state(0, reused, count, state_every)
    for k in range(count):
        block = find(pool, block_id(blocks, chain, shared, system, k))
        if block == NOBODY:
            return k, last
        move(pool, block, last)
        last, kept = block, pool.nodes[block + 1].newer != NOBODY
        if kept and (k + 1 == reused or k + 1 == due):
            move(pool, block + 1, last)
            last = block + 1
        if k + 1 == due:
            due = next_state(due, reused, count, state_every)
    return count, last


@compiled
def add_states(
    pool: Pool,
    blocks: NDArray[np.int64],
    chain: int,
    shared: int,
    system: int,
    count: int,
    state_every: int,
    reused: int,
    there: int,
    last: int,
) -> int:
    """Keeps what is missing of the states behind leading blocks that are there: the oldest node, NOBODY if no room."""
    due = next_state(0, reused, count, state_every)
    while due <= there and last != NOBODY:
        block = find(pool, block_id(blocks, chain, shared, system, due - 1))
        state = keep_state(pool, block, last)
        if block == last or state == NOBODY:
            last = state
        due = next_state(due, reused, count, state_every)
    return last


@compiled
def add_blocks(
    pool: Pool,
    blocks: NDArray[np.int64],
    chain: int,
    shared: int,
    system: int,
    count: int,
    state_every: int,
    reused: int,
    there: int,
    last: int,
) -> int:
    """Keeps the blocks behind those that are there, with their states, until one has no room: how many there are."""
    due = next_state(there, reused, count, state_every) if pool.head[0].state_bytes > 0 else count + 1
    for k in range(there, count):
        last = keep_block(pool, block_id(blocks, chain, shared, system, k), last)
        if last == NOBODY:
            pool.head[0].refused += 1
            return k
        if k + 1 == due:
            last = keep_state(pool, last, last)
            due = next_state(due, reused, count, state_every)
            if last == NOBODY:
                pool.head[0].refused += 1
                return k + 1
    return count


@compiled
def touch_and_keep(
    pool: Pool,
    blocks: NDArray[np.int64],
    chain: int,
    shared: int,
    system: int,
    count: int,
    state_every: int = 0,
    reused: int = 0,
) -> int:
    """A request's first `count` blocks are there from now on and were used last, the deepest before all others.

    So is the state behind them, and the one behind the first `reused`, if it is there; where `state_every` is
    positive, also those behind each multiple of it beyond `reused`, as a prefill that begins there leaves them.
    Nothing of the request goes for another part of it: if it alone is too much for the pool, nothing is kept from the
    first part on that has no room, and `head.refused` counts it. Returns how many of the blocks are there.
    """
    there, last = touch(pool, blocks, chain, shared, system, count, state_every, reused)
    if pool.head[0].state_bytes > 0 and there > 0:
        last = add_states(pool, blocks, chain, shared, system, count, state_every, reused, there, last)
        if last == NOBODY:
            pool.head[0].refused += 1
            return there
    return add_blocks(pool, blocks, chain, shared, system, count, state_every, reused, there, last)


@compiled
def reserve(pool: Pool, size_bytes: float) -> None:
    """Room for a KVCache that is being sent: always given, and for it goes what was least recently used.

    Sums of whole bytes are exact.
    """
    head = pool.head[0]
    head.transfer_bytes += size_bytes
    head.most_transfer_bytes = max(head.most_transfer_bytes, head.transfer_bytes)
    while used_bytes(pool) + head.transfer_bytes > head.capacity_bytes and pool.nodes[END].newer != END:
        evict(pool, pool.nodes[END].newer)


@compiled
def release(pool: Pool, size_bytes: float) -> None:
    """The same room is free again."""
    head = pool.head[0]
    head.transfer_bytes = max(head.transfer_bytes - size_bytes, 0.0)
