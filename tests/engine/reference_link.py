"""A link of the slow simulator: each transfer is counted on its own, and counted down whenever anything changes."""

import simpy

ROUNDING = 1e-9


def after(env, delay, call):
    """Calls a function a while later, unless what is returned is called off before."""

    def wait():
        try:
            yield env.timeout(delay)
        except simpy.Interrupt:
            return
        call()

    return env.process(wait())


def until(env, time_s):
    """An event at a time, of which a delay may have lost the last digit."""
    return env.timeout(max(time_s - env.now, 0.0))


class Flow:
    """One transfer: its bits, what is left of them, and when it is through."""

    def __init__(self, env, bits):
        self.bits = self.left = bits
        self.through = env.event()


class Link:
    """`usable()` is what it carries in bit/s, as things are when it is asked."""

    def __init__(self, env, path, transfer_bps, usable):
        self.env, self.tcp, self.half_rtt_s = env, path.tcp, path.half_rtt_s
        self.transfer_bps, self.usable = transfer_bps, usable
        self.flows, self.alarm, self.since, self.is_tied = [], None, 0.0, False
        self.usable_bps = self.rate_bps = self.resends = 0.0
        self.sent = self.resent = self.possible = 0.0

    def each_bps(self, count):
        """What each of so many transfers would get of what is usable."""
        return min(self.transfer_bps, self.usable() / count)

    def count_down(self):
        """Everything up to now at the rate that held."""
        took = self.env.now - self.since
        for flow in self.flows:
            step = min(self.rate_bps * took, flow.left)
            flow.left -= step
            self.sent += step
            self.resent += step * self.resends
        self.possible += self.usable_bps * took
        self.since = self.env.now

    def update(self):
        """A new rate for all, after `count_down` and whatever has changed."""
        self.usable_bps = self.usable()
        if self.alarm and self.alarm.is_alive:
            self.alarm.interrupt()
        self.alarm = None
        if not self.flows:
            return
        gross_bps = self.each_bps(len(self.flows))
        self.resends = self.tcp.retransmits(gross_bps / self.tcp.connections) if self.tcp else 0.0
        self.rate_bps = gross_bps * (1 - self.resends)
        if self.rate_bps > 0:
            self.alarm = after(self.env, min(flow.left for flow in self.flows) / self.rate_bps, self.some_through)

    def some_through(self):
        self.alarm = None
        self.count_down()
        nearly = [flow for flow in self.flows if flow.left <= ROUNDING * flow.bits]
        self.is_tied |= len(nearly) > 1
        through = sorted(nearly, key=lambda flow: flow.left)
        self.flows = [flow for flow in self.flows if flow not in through]
        self.update()
        for flow in through:
            flow.through.succeed()

    def send(self, bits):
        self.count_down()
        flow = Flow(self.env, bits)
        self.flows.append(flow)
        self.update()
        return flow

    def call_off(self, flow):
        self.count_down()
        if flow in self.flows:
            self.flows.remove(flow)
            self.update()
