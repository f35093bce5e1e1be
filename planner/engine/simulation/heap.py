"""Binary heaps: see `state.new_heap`."""

from __future__ import annotations

import math

from planner.engine.simulation.compilation import compiled, seldom
from planner.engine.simulation.layout import Records


@compiled
def push(heap: Records, key: float, item: int, turn: int = 0) -> None:
    """Adds an item; of equal keys the least `turn` is first."""
    heap[0].item += 1
    at = heap[0].item
    while at > 1:
        above = heap[at >> 1]
        if above.key < key or (above.key == key and above.turn <= turn):
            break
        heap[at].key, heap[at].turn, heap[at].item = above.key, above.turn, above.item
        at >>= 1
    heap[at].key, heap[at].turn, heap[at].item = key, turn, item


@compiled
def pop(heap: Records) -> int:
    """Takes the first item; of an empty heap it must not be asked."""
    taken = heap[1].item
    last = heap[0].item
    key, turn, item = heap[last].key, heap[last].turn, heap[last].item
    heap[last].key = math.inf
    heap[0].item = last - 1
    if last > 1:
        at, child = 1, 2
        while child < last:
            if child + 1 < last:
                left, right = heap[child], heap[child + 1]
                child += right.key < left.key or (right.key == left.key and right.turn < left.turn)
            below = heap[child]
            if key < below.key or (key == below.key and turn <= below.turn):
                break
            heap[at].key, heap[at].turn, heap[at].item = below.key, below.turn, below.item
            at, child = child, 2 * child
        heap[at].key, heap[at].turn, heap[at].item = key, turn, item
    return int(taken)


@seldom
def remove(heap: Records, item: int) -> bool:
    """Takes an item out, wherever it is; False if it is not there. By looking at all: for what happens seldom."""
    size = heap[0].item
    at = 1
    while at <= size and heap[at].item != item:
        at += 1
    if at > size:
        return False
    # it rises to the top past all above it, and is taken from there
    while at > 1:
        above = heap[at >> 1]
        heap[at].key, heap[at].turn, heap[at].item = above.key, above.turn, above.item
        at >>= 1
    heap[1].key, heap[1].item = -math.inf, item
    pop(heap)
    return True
