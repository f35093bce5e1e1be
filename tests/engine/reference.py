"""The simulated system once more, slowly and in another way: processes of SimPy, lists instead of heaps.

It shares with ours the requests that are drawn, when links and instances change, and the controller's functions, and
nothing that lets time pass.
"""

import math
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import simpy
from numpy.random import SeedSequence

from planner.engine.controller import is_remote
from planner.engine.simulation import Choice, Order
from planner.engine.simulation import layout as at
from planner.engine.simulation.layout import LOCAL, REMOTE
from planner.engine.simulation.requests import Requests
from planner.engine.simulation.timeline import Events
from tests.engine.reference_caches import Caches
from tests.engine.reference_control import Control
from tests.engine.reference_decode import Decoding
from tests.engine.reference_link import Link, after, until

HORIZON_S = 2e4
TIED_S = 1e-9
WAIT, PREFILL, BUSY, UP = (
    (at.WAIT_PD_P, at.WAIT_PRFAAS),
    (at.PD_P, at.PRFAAS),
    (at.BUSY_PD_P, at.BUSY_PRFAAS),
    (at.UP_PD_P, at.UP_PRFAAS),
)
"""Places by route."""


class Level:
    """How many are at a place, and the time integral of it."""

    def __init__(self, env, value):
        self.env, self.value, self.area, self.since = env, value, 0.0, 0.0

    def change(self, by):
        self.area += self.value * (self.env.now - self.since)
        self.since = self.env.now
        self.value += by


class Prefiller:
    def __init__(self, number, role, status):
        self.number, self.role, self.status = number, role, status
        self.held, self.queue, self.alarm, self.ends, self.freed = [], [], None, 0.0, -number


class System:
    """Everything but decode, what is decided from time to time, and prefix caches, which have files of their own."""

    def __init__(self, experiment, seed, index=0):
        self.experiment, self.env = experiment, simpy.Environment()
        source = SeedSequence(seed, spawn_key=(index,))
        self.batch = Requests(experiment, source).next(experiment.requests)
        self.events = Events(experiment, source).upto(HORIZON_S)
        self.sent_away, self.restarts, self.completed, self.delivered = 0, 0, 0, 0.0
        n_prfaas, n_p, n_d = (int(count) for count in experiment.instances)
        spare_p, spare_d = (n_d, n_p) if experiment.reallocation else (0, 0)
        status = ["up"] * (n_prfaas + n_p) + ["absent"] * spare_p
        self.prefillers = [Prefiller(k, REMOTE if k < n_prfaas else LOCAL, how) for k, how in enumerate(status)]
        self.levels = [Level(self.env, 0) for _ in range(at.PLACES)]
        max_batch = int(experiment.deployment.decode.max_batch)
        for place, count in ((at.UP_PRFAAS, n_prfaas), (at.UP_PD_P, n_p), (at.UP_PD_D, n_d * max_batch)):
            self.levels[place].value = count
        self.batch_tokens = experiment.prefill.batch_tokens
        self.waiting, self.is_tied = ([], []), False
        self.frees = 0
        self._connect()
        self.caches = Caches(self) if experiment.caching else None
        self.decoding = Decoding(self, n_d, spare_d)
        self.control = Control(self)
        self.rows = np.full((experiment.requests, 8), np.nan)
        self.all_done = self.env.event()
        self.env.process(self.weather())
        self.env.process(self.control.faults())
        self.env.process(self.arrivals())

    def _connect(self):
        """Links of both directions: out and back over the same paths."""
        deployed, paths = self.experiment.deployment, self.experiment.transport.paths
        own = deployed.prfaas.egress_bps if deployed.prfaas else math.inf
        link_bps = deployed.link.usable_bps if deployed.link else 0.0
        nominal = [link_bps if path.bps is None else path.bps for path in paths]
        self.capacity = [0.0] * len(paths)

        def usable(k, forward):
            if not forward:
                return self.capacity[k]
            up = self.levels[at.UP_PRFAAS].value
            share = nominal[k] / sum(nominal) if sum(nominal) else 1 / len(nominal)
            return min(self.capacity[k], own * up * share if up else 0.0)

        self.out, self.back = (
            [
                Link(self.env, path, min(path.transfer_bps, own), lambda k=k, forward=forward: usable(k, forward))
                for k, path in enumerate(paths)
            ]
            for forward in (True, False)
        )

    def run(self):
        """What each request met, shape (requests, 8); NaN of those that nothing could finish."""
        self.env.run(until=self.env.any_of([self.all_done, self.env.timeout(HORIZON_S)]))
        for level in self.levels:
            level.change(0)
        for link in self.out + self.back:
            link.count_down()
        return self.rows

    def change(self, place, by):
        self.levels[place].change(by)

    # --- requests ---

    def arrivals(self):
        batch = self.batch
        for number in range(self.experiment.requests):
            yield until(self.env, batch.arrival_s[number])
            request = SimpleNamespace(number=number, arrival_s=self.env.now, restarts=0, first_s=None, sender=None)
            request.tokens, request.output, request.prompt = (
                each[number] for each in (batch.tokens, batch.output, batch.prompt)
            )
            request.kv_bytes = batch.kv_bytes[number] if batch.kv_bytes.size else 0.0
            if self.caches:
                self.caches.name(request)
            self.route(request)

    def route(self, request):
        length = self.caches.judged(request) if self.caches else request.tokens
        away = bool(is_remote(length, self.control.standing.threshold_tokens))
        if self.batch.lot.size:
            away = self.batch.lot[request.number] == REMOTE
        if self.experiment.failover:
            away = self.stood_in(away)
        request.route = REMOTE if away else LOCAL
        if self.caches:
            if self.caches.copy(request):
                return
        else:
            batch, k = self.batch, request.number
            request.prefill_s = (batch.remote_s if away else batch.local_s)[k]
            request.increment = request.tokens
            request.layers_bits, request.state_bits = batch.layers_bits[k], batch.state_bits[k]
        self.enter_prefill(request)

    def stood_in(self, away):
        """The other cluster takes over from one that has no instance up, or no link, if it can."""
        local = self.levels[at.UP_PD_P].value > 0
        remote = self.levels[at.UP_PRFAAS].value > 0 and max(self.capacity) > 0
        return (remote or not local) if away else (remote and not local)

    def restart(self, request):
        request.restarts += 1
        self.restarts += 1
        if self.caches:
            self.caches.give_back(request)
        self.route(request)

    def done(self, request):
        now, row = self.env.now, self.rows[request.number]
        row[:] = request.route, request.arrival_s, request.begin_s, request.end_s, request.landed_s, 0, 0, now
        row[5], row[6] = request.decode_s, request.first_s
        self.completed += 1
        if self.caches:
            self.caches.keep_answer(request)
        if self.completed == self.experiment.requests:
            self.all_done.succeed()

    # --- prefill ---

    def times(self, role):
        deployed = self.experiment.deployment
        return deployed.pd.t_prefill if role == LOCAL else deployed.prfaas.t_prefill

    def enter_prefill(self, request):
        request.turn = 0
        if self.experiment.prefill.choice is not Choice.SHARED:
            self.enter_chosen(request)
            return
        free = [one for one in self.prefillers if self.is_free(one, request.route)]
        if free:
            self.begin(max(free, key=lambda one: one.freed), request)
        else:
            self.change(WAIT[request.route], 1)
            request.since = self.env.now
            self.waiting[request.route].append(request)

    def is_free(self, one, role):
        return one.role == role and one.status == "up" and not one.held

    def enter_chosen(self, request):
        up = [one for one in self.prefillers if one.role == request.route and one.status == "up"]
        if not up:
            self.change(WAIT[request.route], request.turn == 0)
            self.waiting[request.route].append(request)
            return
        one = min(up, key=self.work_before)
        if not one.held:
            self.begin(one, request)
            return
        self.change(WAIT[request.route], request.turn == 0)
        one.queue.append(request)

    def work_before(self, one):
        waiting = sum(request.prefill_s for request in one.queue if request.turn == 0)
        return waiting + (max(one.ends - self.env.now, 0.0) if one.held else 0.0)

    def queue_of(self, one):
        return self.waiting[one.role] if self.experiment.prefill.choice is Choice.SHARED else one.queue

    def begin(self, one, request):
        how = self.experiment.prefill
        if request.turn == 0:
            self.start_work(one, request)
        one.held, takes_s = [request], request.prefill_s
        if how.chunk_tokens:
            takes_s = request.parts[request.turn]
        elif how.batch_tokens:
            takes_s = self.gather(one)
        one.ends = self.env.now + takes_s
        if how.chunk_tokens:
            self.tie(one, [each for each in self.prefillers if each.held])
        self.change(BUSY[one.role], 1)
        for each in one.held:
            each.end_s = one.ends
            if each.turn == 0:
                self.change(PREFILL[one.role], 1)
                if one.role == REMOTE:
                    each.made = self.made(each, takes_s)
                    each.sender = self.env.process(self.sending(each))
        one.alarm = after(self.env, takes_s, lambda: self.end_prefill(one))

    def tie(self, one, busy):
        """Notes instances that will be done at the same time."""
        self.is_tied |= any(abs(each.ends - one.ends) < TIED_S for each in busy if each is not one)

    def start_work(self, one, request):
        request.begin_s, chunk = self.env.now, self.experiment.prefill.chunk_tokens
        if self.caches:
            self.caches.work_out(request)
        request.pieces = math.ceil(request.increment / chunk) if chunk else self.experiment.transport.chunks
        if chunk:
            ends = [float(self.times(one.role)(float(k * chunk))) for k in range(1, request.pieces)]
            request.parts = [b - a for a, b in pairwise([0.0, *ends, float(request.prefill_s)])]

    def gather(self, one):
        """Others that fit into the batch, in the order in which they wait; how long the batch takes."""
        queue, tokens = self.queue_of(one), math.ceil(one.held[0].increment)
        while queue and tokens + math.ceil((more := self.first(queue)).increment) <= self.batch_tokens:
            queue.remove(more)
            self.change(WAIT[one.role], -1)
            tokens += math.ceil(more.increment)
            self.start_work(one, more)
            one.held.append(more)
        return float(self.times(one.role)(float(tokens))) if len(one.held) > 1 else one.held[0].prefill_s

    def next(self, one):
        """An instance is free for those that wait."""
        self.frees += 1
        one.freed = self.frees
        if one.status != "up":
            if one.status == "draining":
                self.control.emptied()
            return
        queue = self.queue_of(one) or self.waiting[one.role]
        if not queue:
            return
        request = self.first(queue)
        queue.remove(request)
        self.change(WAIT[one.role], -(request.turn == 0))
        self.begin(one, request)

    def first(self, queue):
        return min(queue, key=self.urgency) if self.experiment.prefill.order is Order.SHORTEST else queue[0]

    def urgency(self, request):
        """Least first: a second of waiting is worth so many of prefill."""
        ageing = self.experiment.prefill.ageing
        return request.prefill_s - ageing * (self.env.now - request.since), request.number

    def end_prefill(self, one):
        held, one.held, one.alarm = one.held, [], None
        self.change(BUSY[one.role], -1)
        if self.experiment.prefill.chunk_tokens and held[0].turn + 1 < held[0].pieces:
            self.turn_over(one, held[0])
            return
        for request in held:
            if self.caches:
                self.caches.keep_prompt(request)
            self.change(PREFILL[one.role], -1)
            if one.role == LOCAL:
                self.decoding.enter(request)
            else:
                self.change(at.TAIL, 1)
                request.made[-1].succeed()
        self.next(one)

    def turn_over(self, one, request):
        """The next that waits has its turn; an instance that leaves its role finishes what it has."""
        if one.role == REMOTE:
            request.made[request.turn].succeed()
        request.turn += 1
        if self.queue_of(one) and one.status == "up":
            self.queue_of(one).append(request)
            self.next(one)
        else:
            self.begin(one, request)

    # --- transport ---

    def made(self, request, takes_s):
        """An event for each piece, when it is there: by turns, or evenly over the prefill."""
        if self.experiment.prefill.chunk_tokens:
            return [self.env.event() for _ in range(request.pieces)]
        early = [self.env.timeout(takes_s * k / request.pieces) for k in range(1, request.pieces)]
        return [*early, self.env.event()]

    def way(self, links):
        """The link that gives a further transfer most."""
        return max(links, key=lambda link: link.each_bps(len(link.flows) + 1))

    def sending(self, request):
        link = flow = None
        made = request.made
        try:
            for piece, event in enumerate(made, 1):
                yield event
                bits = request.layers_bits / len(made) + (request.state_bits if piece == len(made) else 0.0)
                link = self.way(self.out)
                flow = link.send(bits)
                self.change(at.SENDING, 1)
                yield flow.through
                self.change(at.SENDING, -1)
                flow = None
        except simpy.Interrupt:
            if flow:
                link.call_off(flow)
                self.change(at.SENDING, -1)
            return
        self.delivered += request.layers_bits + request.state_bits
        yield self.env.timeout(link.half_rtt_s)
        self.change(at.TAIL, -1)
        if self.caches:
            self.caches.keep_landed(request)
        self.decoding.enter(request)

    def weather(self):
        events = self.events
        for change_s, k, bps in zip(events.change_s, events.change_link, events.change_bps, strict=False):
            yield until(self.env, change_s)
            self.relink(lambda k=k, bps=bps: self.capacity.__setitem__(k, bps))

    def relink(self, change):
        """Something changes what links carry."""
        for link in self.out + self.back:
            link.count_down()
        change()
        for link in self.out + self.back:
            link.update()
