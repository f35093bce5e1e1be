"""Decode of the slow simulator: each request's tokens are counted one by one."""

from planner.engine.simulation import layout as at
from tests.engine.reference_link import after


class Decoder:
    def __init__(self, number, status):
        self.number, self.status = number, status
        self.members, self.stepping, self.alarm, self.ends = [], [], None, 0.0


class Decoding:
    def __init__(self, system, count, spare):
        self.system, self.env = system, system.env
        self.how, self.decode = system.experiment.decoding, system.experiment.deployment.decode
        self.decoders = [Decoder(k, "up" if k < count else "absent") for k in range(count + spare)]
        self.waiting = []

    def enter(self, request):
        request.landed_s = self.env.now
        self.system.change(at.WAIT_PD_D, 1)
        self.waiting.append(request)
        self.admit()

    def admit(self):
        """First come, first served: who has no room holds up all behind."""
        while self.waiting:
            roomy = [one for one in self.decoders if one.status == "up" and self.has_room(one, self.waiting[0])]
            if not roomy:
                return
            self.system.change(at.WAIT_PD_D, -1)
            self.join(min(roomy, key=lambda one: len(one.members)), self.waiting.pop(0))

    def has_room(self, one, request):
        if len(one.members) >= int(self.decode.max_batch):
            return False
        held = sum(member.kv_bytes for member in one.members)
        return not one.members or held + request.kv_bytes <= self.how.memory_bytes

    def join(self, one, request):
        self.system.change(at.PD_D, 1)
        one.members.append(request)
        request.spoken = 0
        if self.how.iterations:
            if not one.stepping:
                self.step(one)
            return
        self.first_token(request, self.decode.step_s)
        request.alarm = after(self.env, request.output * self.decode.step_s, lambda: self.leave_alone(one, request))

    def first_token(self, request, step_s):
        request.decode_s = self.env.now
        if request.first_s is None:
            request.first_s = self.env.now + step_s

    def leave_alone(self, one, request):
        """By request: the last of the others takes its place in the list."""
        place, last = one.members.index(request), one.members.pop()
        if last is not request:
            one.members[place] = last
        self.system.change(at.PD_D, -1)
        self.system.done(request)
        self.is_left(one)

    def is_left(self, one):
        if one.status == "draining" and not one.members:
            self.system.control.emptied()
        self.admit()

    def step(self, one):
        one.stepping = list(one.members)
        context = sum(request.prompt + request.spoken for request in one.stepping)
        base_s = self.decode.step_s if self.how.base_s is None else self.how.base_s
        step_s = base_s + self.how.request_s * len(one.stepping) + self.how.token_s * context
        for request in one.stepping:
            if request.spoken == 0:
                self.first_token(request, step_s)
        one.ends = self.env.now + step_s
        self.system.tie(one, [each for each in self.decoders if each.stepping])
        one.alarm = after(self.env, step_s, lambda: self.end_step(one))

    def end_step(self, one):
        one.alarm = None
        for request in one.stepping:
            request.spoken += 1
        gone = [request for request in one.stepping if request.spoken >= request.output]
        one.members = [request for request in one.members if request not in gone]
        for request in gone:
            self.system.change(at.PD_D, -1)
            self.system.done(request)
        if gone:
            self.is_left(one)
        one.stepping = []
        if one.members:
            self.step(one)

    def lose(self, one):
        """The requests of an instance that goes down, none of which goes on here."""
        lost = one.members
        for alarm in [one.alarm] if self.how.iterations else [request.alarm for request in lost]:
            if alarm:
                alarm.interrupt()
        one.members, one.stepping, one.alarm = [], [], None
        self.system.change(at.PD_D, -len(lost))
        return lost
