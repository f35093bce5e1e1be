"""What is decided in the slow simulator from time to time: the threshold, roles; and faults."""

import math

from planner.engine.controller import Pressure, Standing, adjusted, reallocated
from planner.engine.simulation import Choice, Order
from planner.engine.simulation import layout as at
from planner.engine.simulation.layout import LOCAL, REMOTE
from tests.engine.reference_link import until


class Control:
    def __init__(self, system):
        self.system, self.env, self.experiment = system, system.env, system.experiment
        self.rule = self.experiment.routing
        self.standing = Standing(self.rule.least_tokens)
        self.thresholds, self.link_used = [], 0.0
        self.skipped = dict.fromkeys((at.UP_PRFAAS, at.UP_PD_P, at.UP_PD_D), 0)
        self.drained, self.conversions = None, 0
        self.env.process(self.windows())
        if self.experiment.reallocation:
            self.env.process(self.looks())

    # --- the threshold ---

    def windows(self):
        window, last, before, number = self.experiment.window_s, self.system.batch.arrival_s[-1], (0.0, 0.0, 0.0), 1
        while number * window <= last:
            self.thresholds.append(self.standing.threshold_tokens)
            yield until(self.env, number * window)
            for link in self.system.out:
                link.count_down()
            now = tuple(sum(getattr(link, what) for link in self.system.out) for what in ("sent", "resent", "possible"))
            sent, resent, possible = (b - a for a, b in zip(before, now, strict=True))
            before, number = now, number + 1
            self.link_used = sent / possible if possible > 0 else 1.0
            if self.rule.least_tokens < self.rule.most_tokens:
                self.move(resent / sent if sent > 0 else 0.0)

    def move(self, resent):
        value = [level.value for level in self.system.levels]
        queues = (float(value[place]) for place in (at.TAIL, at.WAIT_PRFAAS, at.WAIT_PD_P))
        self.standing = adjusted(self.rule, self.standing, self.link_used, resent, *queues)

    # --- roles ---

    def looks(self):
        rule, pressure, levels = self.experiment.reallocation, Pressure(), self.system.levels
        places = (at.BUSY_PD_P, at.UP_PD_P, at.PD_D, at.UP_PD_D)
        before, number = [0.0] * 4, 1
        while True:
            yield until(self.env, number * rule.period_s)
            number += 1
            for place in places:
                levels[place].change(0)
            now = [levels[place].area for place in places]
            busy_p, up_p, busy_d, up_d = (b - a for a, b in zip(before, now, strict=True))
            before = now
            if self.drained:
                continue
            max_batch = int(self.experiment.deployment.decode.max_batch)
            pressure = reallocated(
                rule,
                pressure,
                busy_p / up_p if up_p > 0 else 1.0,
                busy_d / up_d if up_d > 0 else 1.0,
                levels[at.UP_PD_P].value,
                levels[at.UP_PD_D].value / max_batch,
                self.experiment.instances[1],
            )
            if pressure.change > 0:
                self.drain_decoder()
            elif pressure.change < 0:
                self.drain_prefiller()

    def drain_decoder(self):
        up = [one for one in self.system.decoding.decoders if one.status == "up"]
        self.drained = min(up, key=lambda one: len(one.members))
        self.drained.status = "draining"
        self.system.change(at.UP_PD_D, -int(self.experiment.deployment.decode.max_batch))
        if not self.drained.members:
            self.emptied()

    def drain_prefiller(self):
        up = [one for one in self.system.prefillers if one.role == LOCAL and one.status == "up"]
        free = [one for one in up if not one.held]
        if free:
            self.drained = max(free, key=lambda one: one.freed)
        else:
            self.drained = min(up, key=lambda one: one.ends)
        self.drained.status = "draining"
        self.system.change(at.UP_PD_P, -1)
        if not self.drained.held:
            self.emptied()
        self.redirect(self.drained)

    def redirect(self, one):
        """Those that wait for one instance alone wait for another."""
        queue, one.queue = one.queue, []
        for request in queue:
            self.system.change(at.WAIT_PD_P if one.role == LOCAL else at.WAIT_PRFAAS, -(request.turn == 0))
            self.system.enter_chosen(request)

    def emptied(self):
        self.env.process(self.convert())

    def convert(self):
        yield self.env.timeout(self.experiment.reallocation.delay_s)
        one, self.drained = self.drained, None
        one.status = "absent"
        self.conversions += 1
        if one in self.system.decoding.decoders:
            fresh = next(o for o in self.system.prefillers if o.role == LOCAL and o.status == "absent")
            fresh.status = "up"
            self.system.change(at.UP_PD_P, 1)
            self.system.next(fresh)
        else:
            next(o for o in self.system.decoding.decoders if o.status == "absent").status = "up"
            self.system.change(at.UP_PD_D, int(self.experiment.deployment.decode.max_batch))
            self.system.decoding.admit()
        if self.experiment.best_tokens:
            self.take_over(self.experiment.best_tokens[self.system.levels[at.UP_PD_P].value])

    def take_over(self, t):
        """The best threshold of the new split: a lower bound where it moves by itself."""
        if self.rule.least_tokens < self.rule.most_tokens:
            self.rule = self.rule._replace(least_tokens=min(t, self.rule.most_tokens))
            self.standing = self.standing._replace(threshold_tokens=max(self.standing.threshold_tokens, t))
        else:
            self.rule = self.rule._replace(least_tokens=t, most_tokens=t)
            self.standing = self.standing._replace(threshold_tokens=t)

    # --- faults ---

    def faults(self):
        events = self.system.events
        rows = zip(events.fault_s, events.fault_place, events.fault_change, events.fault_draw, strict=False)
        for fault_s, place, by, draw in rows:
            yield until(self.env, fault_s)
            if by > 0 and self.skipped[place]:
                self.skipped[place] -= 1
                continue
            instances = self.instances(place)
            able = [one for one in instances if one.status == ("up" if by < 0 else "failed")]
            if not able:
                self.skipped[place] += 1
                continue
            one = able[math.floor(draw * len(able)) if by < 0 else 0]
            slots = int(self.experiment.deployment.decode.max_batch) if place == at.UP_PD_D else 1
            self.system.relink(lambda place=place, by=by, slots=slots: self.system.change(place, by * slots))
            one.status = "failed" if by < 0 else "up"
            if place == at.UP_PD_D:
                self.decoder(one, by)
            else:
                self.prefiller(one, by)

    def instances(self, place):
        if place == at.UP_PD_D:
            return self.system.decoding.decoders
        role = LOCAL if place == at.UP_PD_P else REMOTE
        return [one for one in self.system.prefillers if one.role == role]

    def decoder(self, one, by):
        if by > 0:
            self.system.decoding.admit()
            return
        for request in self.system.decoding.lose(one):
            self.system.restart(request)

    def prefiller(self, one, by):
        if by > 0:
            self.system.next(one)
            return
        held, one.held = one.held, []
        if one.alarm:
            one.alarm.interrupt()
            one.alarm = None
            self.system.change(at.BUSY_PD_P if one.role == LOCAL else at.BUSY_PRFAAS, -1)
        for request in held:
            self.lose(request)
        self.redirect(one)
        if self.experiment.failover and not any(o.status == "up" for o in self.instances(self.place(one))):
            self.hand_over(one.role)

    def place(self, one):
        return at.UP_PD_P if one.role == LOCAL else at.UP_PRFAAS

    def lose(self, request):
        """A request in prefill loses what was done for it."""
        if request.route == REMOTE:
            request.sender.interrupt()
        self.system.change(at.PD_P if request.route == LOCAL else at.PRFAAS, -1)
        self.system.restart(request)

    def hand_over(self, role):
        """Nothing is left of a cluster: who waits for it is routed once more; who was begun there begins anew."""
        away = role == REMOTE
        if self.system.stood_in(away) == away:  # the other one cannot take them
            return
        waiting = self.system.waiting[role]
        queue = list(waiting)
        waiting.clear()
        if self.experiment.prefill.order is Order.SHORTEST and self.experiment.prefill.choice is Choice.SHARED:
            queue.sort(key=self.system.urgency)
        for request in queue:
            if request.turn == 0:
                self.system.change(at.WAIT_PD_P if role == LOCAL else at.WAIT_PRFAAS, -1)
                self.system.route(request)
            else:
                self.lose(request)
