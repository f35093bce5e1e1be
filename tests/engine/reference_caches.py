"""Prefix caches of the slow simulator, each a dictionary by last use."""

import numpy as np

from planner.engine.controller import judged_tokens
from planner.engine.latency import state_bytes
from planner.engine.simulation import CacheRouting
from planner.engine.simulation import layout as at
from planner.engine.simulation.layout import LOCAL, REMOTE
from tests.engine.test_prefix_cache import PlainPool


class Caches:
    def __init__(self, system):
        self.system, self.env, self.how = system, system.env, system.experiment.caching
        self.deployed = system.experiment.deployment
        sizes = self.deployed.s_kv
        (shorter, longer), (less, more) = sizes.lengths[-2:], sizes(sizes.lengths[-2:])
        self.block_bytes = float((more - less) / (longer - shorter)) * self.how.block_tokens
        self.state_bytes = state_bytes(sizes)
        self.pools = [
            PlainPool(capacity, self.block_bytes, self.state_bytes, np.inf)
            for capacity in (self.how.pd_bytes, self.how.prfaas_bytes)
        ]
        self.copied_bits = 0.0

    def name(self, request):
        batch, k = self.system.batch, request.number
        named = self.system.experiment.prompts.named_blocks
        if named.size:
            ids = named[batch.chain[k] : batch.chain[k] + batch.blocks_after[k]].tolist()
        else:
            begins = (batch.system[k], batch.chain[k])
            ids = [int(begins[int(block >= batch.shared[k])]) + block for block in range(batch.blocks_after[k])]
        request.named, request.answered = ids[: batch.blocks[k]], ids
        request.reused, request.reserved, request.copying = 0, 0.0, 0

    def has(self, request, route):
        return self.pools[route].matched(request.named)

    def keep(self, request, route, ids):
        self.pools[route].keep(ids, self.how.state_every, request.reused)

    def judged(self, request):
        request.copying, routing = 0, self.how.routing
        if routing is CacheRouting.LENGTH:
            return request.tokens
        pd, prfaas = self.has(request, LOCAL), self.has(request, REMOTE)
        has_room = self.system.control.link_used < self.system.control.rule.high
        abundant = routing is CacheRouting.BEST or (routing is CacheRouting.BY_BANDWIDTH and has_room)
        if abundant and self.how.copies:
            request.copying = max(pd, prfaas)
        size = self.how.block_tokens
        return judged_tokens(request.tokens, pd * size, prfaas * size, abundant)

    def left(self, request, blocks):
        return max(int(request.tokens) - blocks * self.how.block_tokens, 1)

    def copy(self, request):
        """Whether the better prefix is on its way to the request's cluster."""
        here = self.has(request, request.route)
        left = self.left(request, max(here, request.copying))
        request.prefill_s = float(self.system.times(request.route)(float(left)))
        if request.copying <= here:
            return False
        bits = 8 * ((request.copying - here) * self.block_bytes + self.state_bytes)
        self.copied_bits += bits
        self.system.change(at.COPYING, 1)
        self.env.process(self.copied(request, bits))
        return True

    def copied(self, request, bits):
        link = self.system.way(self.system.out if request.route == LOCAL else self.system.back)
        flow = link.send(bits)
        self.system.change(at.SENDING, 1)
        yield flow.through
        self.system.change(at.SENDING, -1)
        yield self.env.timeout(2 * link.half_rtt_s)
        self.system.change(at.COPYING, -1)
        request.reused = request.copying
        self.keep(request, request.route, request.named[: request.copying])
        self.system.enter_prefill(request)

    def work_out(self, request):
        request.reused = self.has(request, request.route)
        request.increment = self.left(request, request.reused)
        request.prefill_s = float(self.system.times(request.route)(float(request.increment)))
        if request.route == LOCAL:
            return
        there = min(self.has(request, LOCAL) * self.how.block_tokens, int(request.tokens))
        request.layers_bits = self.layers_bits(request.tokens) - (self.layers_bits(there) if there else 0.0)
        request.state_bits = 8 * self.state_bytes
        request.reserved = (request.layers_bits + request.state_bits) / 8
        self.pools[REMOTE].reserve(request.reserved)

    def layers_bits(self, tokens):
        return 8 * max(float(self.deployed.s_kv(float(tokens))) - self.state_bytes, 0.0)

    def give_back(self, request):
        self.pools[REMOTE].transfer = max(self.pools[REMOTE].transfer - request.reserved, 0)
        request.reserved = 0.0

    def keep_prompt(self, request):
        self.keep(request, request.route, request.named)

    def keep_landed(self, request):
        self.give_back(request)
        if self.how.keeps_answers:
            self.keep(request, LOCAL, request.named)

    def keep_answer(self, request):
        if self.how.keeps_answers:
            self.keep(request, LOCAL, request.answered)
