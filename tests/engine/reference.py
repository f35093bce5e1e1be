"""The simulated system once more, slowly and in another way: processes of SimPy, each transfer counted on its own.

It shares the requests that are drawn and the controller's functions with ours, and nothing that lets time pass.
"""

import math
from itertools import pairwise

import numpy as np
import simpy

from planner.engine.controller import Standing, adjusted, is_remote
from planner.engine.simulation import Order, constant

ROUNDING = 1e-9


class Link:
    """Transfers with what is left of each; whenever anything changes, all are counted down."""

    def __init__(self, env, capacity, transfer_bps, cluster_bps):
        self.env, self.capacity = env, capacity
        self.transfer_bps, self.cluster_bps = transfer_bps, cluster_bps
        self.flows, self.sent, self.since = [], 0.0, 0.0
        self.changed = env.event()
        env.process(self.serve())

    def capacity_at(self, now):
        at = np.searchsorted(self.capacity.times_s, now, side="right") - 1
        return min(self.capacity.bps[at], self.cluster_bps)

    def possible(self, begin, end):
        cuts = [begin, *(t for t in self.capacity.times_s if begin < t < end), end]
        return sum(self.capacity_at(a) * (b - a) for a, b in pairwise(cuts))

    def rate(self):
        return min(self.transfer_bps, self.capacity_at(self.since) / len(self.flows)) if self.flows else 0.0

    def count_down(self):
        step = self.rate() * (self.env.now - self.since)
        for flow in self.flows:
            self.sent += min(step, flow[0])
            flow[0] = max(flow[0] - step, 0.0)
        self.since = self.env.now

    def send(self, bits):
        self.count_down()
        flow = [bits, bits, self.env.event()]
        self.flows.append(flow)
        self.changed.succeed()
        self.changed = self.env.event()
        return flow[2]

    def serve(self):
        while True:
            waits = [self.changed]
            later = self.capacity.times_s[self.capacity.times_s > self.env.now]
            if later.size:
                waits.append(self.env.timeout(later[0] - self.env.now))
            if self.rate() > 0:
                waits.append(self.env.timeout(min(flow[0] for flow in self.flows) / self.rate()))
            yield self.env.any_of(waits)
            self.count_down()
            for flow in [flow for flow in self.flows if flow[0] <= ROUNDING * flow[1]]:
                self.flows.remove(flow)
                flow[2].succeed()


class System:
    def __init__(self, experiment, batch):
        self.experiment, self.batch, self.env = experiment, batch, simpy.Environment()
        n_prfaas, n_p, _ = experiment.instances
        deployed, transport = experiment.deployment, experiment.transport
        self.pools = [simpy.PriorityResource(self.env, int(n)) if n else None for n in (n_p, n_prfaas)]
        self.decode = simpy.Resource(self.env, experiment.decode_slots)
        own = deployed.prfaas.egress_bps if deployed.prfaas else math.inf
        capacity = transport.capacity or constant(deployed.link.usable_bps if deployed.link else 0.0)
        self.link = Link(self.env, capacity, min(own, transport.connection_bps), own * n_prfaas)
        self.standing = Standing(experiment.routing.least_tokens)
        self.tail = 0
        self.thresholds = []
        self.rows = np.full((batch.tokens.size, 7), np.nan)
        for number in range(batch.tokens.size):
            self.env.process(self.request(number))
        self.env.process(self.watch())

    def run(self):
        self.env.run()
        return self.rows

    def request(self, number):
        env, batch, row = self.env, self.batch, self.rows[number]
        yield env.timeout(batch.arrival_s[number])
        row[1] = env.now
        away = bool(is_remote(batch.tokens[number], self.standing.threshold_tokens))
        row[0] = away
        takes = (batch.remote_s if away else batch.local_s)[number]
        sending = None
        with self.pools[away].request(priority=takes if self.experiment.order is Order.SHORTEST else 0) as turn:
            yield turn
            row[2] = env.now
            if away:
                sending = env.process(self.send(number, env.now, takes))
            yield env.timeout(takes)
            row[3] = env.now
        if away:
            self.tail += 1
            yield sending
            yield env.timeout(self.experiment.transport.rtt_s / 2)
            self.tail -= 1
        row[4] = env.now
        with self.decode.request() as place:
            yield place
            row[5] = env.now
            yield env.timeout(batch.hold_s[number])
            row[6] = env.now

    def send(self, number, begin, takes):
        chunks = self.experiment.transport.chunks
        for chunk in range(1, chunks + 1):
            yield self.env.timeout(max(begin + takes * chunk / chunks - self.env.now, 0.0))
            bits = self.batch.layers_bits[number] / chunks
            yield self.link.send(bits + (self.batch.state_bits[number] if chunk == chunks else 0.0))

    def watch(self):
        rule, window = self.experiment.routing, self.experiment.window_s
        last, sent = self.batch.arrival_s[-1], 0.0
        while self.env.now + window <= last:
            self.thresholds.append(self.standing.threshold_tokens)
            yield self.env.timeout(window)
            self.link.count_down()
            possible = self.link.possible(self.env.now - window, self.env.now)
            used = (self.link.sent - sent) / possible if possible > 0 else 1.0
            sent = self.link.sent
            local, remote = (len(pool.queue) if pool else 0 for pool in self.pools)
            if rule.least_tokens < rule.most_tokens:
                self.standing = adjusted(rule, self.standing, used, float(remote + self.tail), float(local))


def simulated(experiment, batch):
    """What each request met, shape (requests, 7): route, arrival, begin and end of prefill, landed, decode, done."""
    return System(experiment, batch).run()
