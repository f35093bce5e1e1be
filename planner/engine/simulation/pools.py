"""The clusters' prefix caches in use: what they spare a request, what is kept of it, what is copied across."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planner.engine import controller
from planner.engine.simulation.compilation import compiled, seldom
from planner.engine.simulation.layout import LOCAL, Records
from planner.engine.simulation.prefix_cache import Pool, matched, release, reserve, touch_and_keep
from planner.engine.simulation.state import Plan, State

BITS_PER_BYTE = 8.0
BEST, BY_BANDWIDTH = 2, 3
"""Of `state.CACHE_ROUTINGS`; 0 knows nothing of caches, 1 counts the PD cluster's own."""

judged_tokens = compiled(controller.judged_tokens)


@seldom
def _cached(names: NDArray[np.int64], pool: Pool, request: Records) -> int:
    return matched(pool, names, request.chain, request.shared, request.system, request.blocks)


@seldom
def _kept(names: NDArray[np.int64], pool: Pool, request: Records, blocks: int, every: int) -> None:
    touch_and_keep(pool, names, request.chain, request.shared, request.system, blocks, every, request.reused)


@seldom
def _reserve(pool: Pool, size_bytes: float) -> None:
    reserve(pool, size_bytes)


@compiled
def cached_blocks(plan: Plan, pool: Pool, request: Records) -> int:
    """Blocks of its prompt that a pool would spare it."""
    return _cached(plan.named_blocks, pool, request)


@compiled
def _keep(plan: Plan, pool: Pool, request: Records, blocks: int) -> None:
    _kept(plan.named_blocks, pool, request, blocks, plan.given[0].state_every)


@compiled
def is_abundant(plan: Plan, state: State) -> bool:
    """Whether the better cache counts, wherever it is."""
    if plan.given[0].cache_routing == BY_BANDWIDTH:
        return bool(state.clock[0].link_used < plan.given[0].high)
    return bool(plan.given[0].cache_routing == BEST)


@compiled
def judge(plan: Plan, state: State, request: Records) -> float:
    """What of a prompt is compared with t; and how many blocks the better cache has, if that is to be copied."""
    request.copying = 0
    if plan.given[0].cache_routing == 0:
        return float(request.tokens)
    pd = cached_blocks(plan, state.local_pool, request)
    prfaas = cached_blocks(plan, state.remote_pool, request)
    abundant, size = is_abundant(plan, state), float(plan.given[0].block_tokens)
    if abundant and plan.given[0].copies:
        request.copying = max(pd, prfaas)
    return judged_tokens(float(request.tokens), pd * size, prfaas * size, abundant)


@compiled
def missing_bits(plan: Plan, state: State, request: Records) -> float:
    """What must be copied so that the request's own cluster has what the better cache has; 0 if it has it."""
    pool = state.local_pool if request.route == LOCAL else state.remote_pool
    missing = request.copying - cached_blocks(plan, pool, request)
    if missing <= 0:
        return 0.0
    return float((missing * plan.given[0].block_bytes + plan.given[0].state_bytes) * BITS_PER_BYTE)


@compiled
def keep_copied(plan: Plan, state: State, request: Records) -> None:
    """What was copied is in the pool of the request's cluster."""
    request.reused = request.copying
    _keep(plan, state.local_pool if request.route == LOCAL else state.remote_pool, request, request.copying)
    request.copying = 0


@compiled
def work_out(plan: Plan, state: State, request: Records) -> None:
    """What is left to be prefilled and sent, as the caches are now."""
    local, tokens, size = request.route == LOCAL, request.tokens, plan.given[0].block_tokens
    request.reused = cached_blocks(plan, state.local_pool if local else state.remote_pool, request)
    request.cached_tokens = min(request.reused * size, tokens)
    left = max(tokens - request.reused * size, 1)
    request.increment = left
    if local:
        request.prefill_s = plan.times_local_s[left]
        return
    request.prefill_s = plan.times_remote_s[left]
    # what the PD cluster has need not cross, whoever prefilled it
    there = cached_blocks(plan, state.local_pool, request) * size
    request.layers_bits = plan.layers_bits[tokens] - plan.layers_bits[min(there, tokens)]
    request.state_bits = plan.given[0].state_bits
    request.reserved_bytes = (request.layers_bits + request.state_bits) / BITS_PER_BYTE
    _reserve(state.remote_pool, request.reserved_bytes)


@compiled
def keep_prompt(plan: Plan, state: State, request: Records) -> None:
    """A prompt is prefilled: its whole blocks stay where that was."""
    _keep(plan, state.local_pool if request.route == LOCAL else state.remote_pool, request, request.blocks)


@compiled
def give_back(state: State, request: Records) -> None:
    """The transfer is over, one way or another: what it held of the PrfaaS cluster's pool is free."""
    release(state.remote_pool, request.reserved_bytes)
    request.reserved_bytes = 0.0


@compiled
def keep_landed(plan: Plan, state: State, request: Records) -> None:
    """All of a KVCache is in the PD cluster."""
    give_back(state, request)
    if plan.given[0].keeps_answers:
        _keep(plan, state.local_pool, request, request.blocks)


@compiled
def keep_answer(plan: Plan, state: State, request: Records) -> None:
    """Prompt and answer stay in the PD cluster's pool, as far as they have names."""
    if plan.given[0].cached and plan.given[0].keeps_answers:
        _keep(plan, state.local_pool, request, request.blocks_after)
