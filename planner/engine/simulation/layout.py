"""What a simulation's arrays consist of, record by record, and the numbers that stand for places and kinds."""

from __future__ import annotations

from typing import Any

import numpy as np

type Records = Any
"""A structured array. Compiled, its fields are attributes of its records, of which NumPy's types know nothing."""

NOBODY = -1
LOCAL, REMOTE = 0, 1
ENDLESS_BPS = 1e30
"""Stands for an infinite bandwidth: whatever crosses it takes less than a clock can tell."""

# Where a request is, each with the number of requests that are there; ...
WAIT_PD_P, PD_P, WAIT_PRFAAS, PRFAAS, TAIL, WAIT_PD_D, PD_D, COPYING = range(8)
# ... those whose KVCache is being sent, which lie within PRFAAS, TAIL and COPYING; ...
SENDING = 8
# ... and instances that prefill, those that could, and places for decoding requests that there are.
BUSY_PD_P, BUSY_PRFAAS, UP_PD_P, UP_PRFAAS, UP_PD_D = range(9, 14)
PLACES = 14

PLAN = np.dtype(
    [
        # of the rule for t, and of the one for roles
        ("step", float),
        ("high", float),
        ("low", float),
        ("surge", float),
        ("patience", float),
        ("resent", float),
        ("backlog", float),
        ("period_s", float),
        ("role_high", float),
        ("room", float),
        ("role_patience", float),
        ("least_prefill", float),
        ("least_decode", float),
        ("delay_s", float),
        ("role_calm", float),
        ("planned_prefill", float),
        ("moves_threshold", np.int64),
        ("track_s", float),  # between two thresholds that were recorded
        ("moves_roles", np.int64),
        ("failover", np.int64),
        ("window_s", float),
        # of prefill
        ("shortest_first", np.int64),
        ("ageing", float),
        ("choice", np.int64),
        ("batch_tokens", np.int64),
        ("chunk_tokens", np.int64),
        # of transport: `ways` are the links in one direction
        ("chunks", np.int64),
        ("ways", np.int64),
        ("own_bps", float),
        # of decode
        ("step_s", float),
        ("base_s", float),
        ("request_s", float),
        ("token_s", float),
        ("iterations", np.int64),
        ("max_batch", np.int64),
        ("memory_bytes", float),
        # of prefix caches
        ("cached", np.int64),
        ("cache_routing", np.int64),
        ("copies", np.int64),
        ("block_tokens", np.int64),
        ("block_bytes", float),
        ("state_bytes", float),
        ("state_bits", float),
        ("state_every", np.int64),
        ("keeps_answers", np.int64),
    ],
    align=True,
)
PATH = np.dtype(
    [
        ("transfer_bps", float),
        ("connections", float),  # 0: nothing is sent twice
        ("alone_bps", float),
        ("rtt_s", float),
        ("half_rtt_s", float),
        ("mss_bytes", float),
        ("loss", float),
        ("share", float),  # of what PrfaaS instances can send, by nominal bandwidth
    ],
    align=True,
)
CLOCK = np.dtype(
    [
        ("now_s", float),
        ("taken", np.int64),  # requests that have arrived, of the batch
        ("number", np.int64),  # and of all
        ("counted_from", np.int64),
        ("free", np.int64),  # first slot of the list of free ones
        ("unfinished", np.int64),
        ("tick_s", float),
        ("least_tokens", float),  # between these t moves
        ("most_tokens", float),
        ("threshold_tokens", float),
        ("calm", float),
        ("link_used", float),  # share of what could have crossed in the last window
        ("across_s", float),  # when the next transfer of any link has sent what it can, and which link that is
        ("across_link", np.int64),
        ("change", np.int64),  # next change of a link's capacity, and when
        ("change_s", float),
        ("fault", np.int64),  # next instance to go down or come up, and when
        ("fault_s", float),
        ("control_s", float),
        ("short_prefill", float),
        ("short_decode", float),
        ("calm_roles", float),
        ("busy_prefill", float),  # areas at the last look
        ("up_prefill", float),
        ("busy_decode", float),
        ("up_decode", float),
        ("draining", np.int64),  # the role that is being given up: 0 none, 1 prefill, 2 decode
        ("drained", np.int64),  # the decode instance that is being emptied
        ("converted_s", float),
        ("conversions", np.int64),
        ("restarts", np.int64),
        ("windows_a_bin", np.int64),
        ("completed", np.int64),
        ("completed_work_s", float),
        ("delivered_bits", float),
        ("copied_bits", float),
    ],
    align=True,
)
LINK = np.dtype(
    [
        ("work_bits", float),  # that each transfer would have sent since the link was last idle, ...
        ("rate_bps", float),  # ... at which rate, up to when; of it, what is sent once more
        ("resends", float),
        ("since_s", float),
        ("across_s", float),  # when the next transfer has sent what it can
        ("capacity_bps", float),
        ("sent_bits", float),
        ("resent_bits", float),
        ("possible_bits", float),
        ("possible_since_s", float),
        ("window_sent_bits", float),  # as of the window's beginning
        ("window_resent_bits", float),
        ("window_possible_bits", float),
    ],
    align=True,
)
SLOT = np.dtype(
    [
        ("follows", np.int64),  # the next slot of the same list
        ("number", np.int64),
        ("route", np.int64),
        ("lot", np.int64),  # the route that was drawn for it; NOBODY where its length decides
        ("pieces", np.int64),  # in which its KVCache is sent, made so far, sent so far
        ("made", np.int64),
        ("sent", np.int64),
        ("sending", np.int64),
        ("link", np.int64),
        ("copying", np.int64),  # blocks that are on their way into the other pool
        ("at", np.int64),  # instance at which it is, and its place there
        ("position", np.int64),
        ("restarts", np.int64),
        ("tokens", np.int64),  # of the whole prompt; 0 where there is no cache to know of
        ("chain", np.int64),  # see prefix_cache.block_id
        ("system", np.int64),
        ("shared", np.int64),
        ("blocks", np.int64),  # whole ones of the prompt, and with its answer
        ("blocks_after", np.int64),
        ("cached_tokens", float),
        ("increment", float),  # tokens to be prefilled: all, or what the caches leave
        ("reused", np.int64),  # blocks that they hold of it
        ("arrival_s", float),
        ("local_s", float),  # of its prefill on either side, and where it is
        ("remote_s", float),
        ("prefill_s", float),
        ("done_s", float),  # of the prefill, in chunks
        ("begin_s", float),
        ("end_s", float),
        ("layers_bits", float),
        ("state_bits", float),
        ("reserved_bytes", float),
        ("landed_s", float),
        ("decode_s", float),
        ("first_s", float),
        ("output", float),
        ("context", float),  # tokens of its prompt, as decode steps through them
        ("kv_bytes", float),
        ("last_step", np.int64),
    ],
    align=True,
)
HEAP = np.dtype([("key", np.float64), ("turn", np.int64), ("item", np.int64)], align=True)
QUEUE = np.dtype([("first", np.int64), ("last", np.int64)], align=True)
WAITING_LOCAL, WAITING_REMOTE, WAITING_DECODE, OWN_QUEUES = range(4)
"""Queues; from OWN_QUEUES on, one for each prefill instance, where each has its own."""

ABSENT, UP, FAILED, DRAINING = range(4)
"""What an instance is: of another role, there, down, or finishing what it has before it changes its role."""
PREFILLER = np.dtype(
    [
        ("status", np.int64),
        ("role", np.int64),
        ("slot", np.int64),  # its request, or the first of a batch; NOBODY if it is free
        ("next_free", np.int64),
        ("waiting", np.int64),
        ("backlog_s", float),
    ],
    align=True,
)
DECODER = np.dtype(
    [
        ("status", np.int64),
        ("count", np.int64),  # requests that it holds, and of these the ones in the step that is under way
        ("running", np.int64),
        ("stepping", np.int64),
        ("steps", np.int64),
        ("last_step", np.int64),  # the least of its requests'
        ("context", float),  # tokens of all requests in the step
        ("kv_bytes", float),
    ],
    align=True,
)
PLACE = np.dtype([("count", float), ("area", float), ("since_s", float), ("skipped", np.int64)], align=True)
"""`skipped`: of instances that should have gone down and of which none was left; so many do not come up either."""
BIN = np.dtype(
    [
        ("windows", float),
        ("egress_bits", float),
        ("least_bits", float),
        ("most_bits", float),
        ("resent_bits", float),
        ("possible_bits", float),
        ("threshold_tokens", float),
        ("in_system", float),
        ("waiting", float),
        ("prfaas", float),  # instances that are there, as windows end
        ("prefill", float),
        ("decode", float),
    ],
    align=True,
)
BINS = 256
RECORD = np.dtype(
    [
        ("route", np.int64),
        ("arrival_s", float),
        ("begin_s", float),
        ("end_s", float),
        ("landed_s", float),
        ("decode_s", float),
        ("first_s", float),
        ("done_s", float),
    ],
    align=True,
)
SUMS = np.dtype(
    [
        ("requests", np.int64),
        ("ttft_s", float),
        ("prefill_wait_s", float),
        ("prefill_waited", np.int64),
        ("tail_s", float),
        ("decode_wait_s", float),
        ("decode_waited", np.int64),
        ("tpot_s", float),
        ("spoken", np.int64),  # requests that have a TPOT: of two tokens at least
        ("restarted", np.int64),
        ("prompt_tokens", float),
        ("cached_tokens", float),
    ],
    align=True,
)
