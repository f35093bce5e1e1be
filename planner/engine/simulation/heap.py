"""Binary heaps: see `state.new_heap`."""

from __future__ import annotations

import math

from planner.engine.simulation.compilation import compiled
from planner.engine.simulation.state import Records


@compiled
def push(heap: Records, key: float, item: int) -> None:
    """Adds an item."""
    heap[0].item += 1
    at = heap[0].item
    while at > 1 and heap[at >> 1].key > key:
        heap[at].key, heap[at].item = heap[at >> 1].key, heap[at >> 1].item
        at >>= 1
    heap[at].key, heap[at].item = key, item


@compiled
def pop(heap: Records) -> int:
    """Takes the item of the least key; of an empty heap it must not be asked."""
    taken = heap[1].item
    last = heap[0].item
    key, item = heap[last].key, heap[last].item
    heap[last].key = math.inf
    heap[0].item = last - 1
    if last > 1:
        at, child = 1, 2
        while child < last:
            if child + 1 < last and heap[child + 1].key < heap[child].key:
                child += 1
            if heap[child].key >= key:
                break
            heap[at].key, heap[at].item = heap[child].key, heap[child].item
            at, child = child, 2 * child
        heap[at].key, heap[at].item = key, item
    return int(taken)
