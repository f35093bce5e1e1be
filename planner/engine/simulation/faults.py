"""Instances that go down and come up again: as planned, by chance, and with spares that take over.

Each instance is down while at least one planned fault or one random failure holds it and no spare stands in. Planned
faults take the instances of a place in the same order, so that two at a time take as many as both say; a failure goes
on behind a planned fault, unnoticed. So there are never more down than exist, and each instance's failures are those
that it has alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng
from numpy.typing import NDArray

EVENT = np.dtype(
    [
        ("time_s", np.float64),
        ("place", np.int64),  # its number in `Place`
        ("change", np.int64),  # -1: one less is up; +1: one more
        ("draw", np.float64),  # in [0, 1): which of those that can change
    ]
)


class Place(StrEnum):
    """Whose instances fail; the names are those of the stages."""

    PRFAAS = "prfaas"
    PD_P = "pd_p"
    PD_D = "pd_d"


PLACES = tuple(Place)


@dataclass(frozen=True, slots=True)
class Fault:
    """So many instances are down from `begin_s` until `end_s`; None: all that there are."""

    place: Place
    instances: int | None
    begin_s: float
    end_s: float

    def __post_init__(self) -> None:
        """Raises ValueError on no instance, and unless 0 <= begin < end."""
        if self.instances is not None and self.instances < 1:
            raise ValueError(f"instances must be at least 1, got {self.instances}")
        if not 0 <= self.begin_s < math.inf:
            raise ValueError(f"begin_s must be finite and not negative, got {self.begin_s:g} s")
        if not self.begin_s < self.end_s < math.inf:
            raise ValueError(f"end_s must be finite and after begin_s, {self.begin_s:g} s, got {self.end_s:g} s")


def cluster_down(place: Place, begin_s: float, end_s: float) -> Fault:
    """Every instance of a place is down. Raises ValueError unless 0 <= begin < end."""
    return Fault(place, None, begin_s, end_s)


@dataclass(frozen=True, slots=True)
class Failures:
    """Each instance by itself is up and down in turn, for exponential times of these means; at time 0 all are up.

    Several kinds at one place are independent: an instance is up while none of them has it down.
    """

    place: Place
    mean_up_s: float
    mean_down_s: float

    def __post_init__(self) -> None:
        """Raises ValueError on times that are not positive."""
        for name, value in (("mean_up_s", self.mean_up_s), ("mean_down_s", self.mean_down_s)):
            if not 0 < value < math.inf:
                raise ValueError(f"{name} must be positive and finite, got {value:g} s")

    @property
    def availability(self) -> float:
        """Share of time, in the long run, in which an instance is up: without spares and planned faults."""
        return self.mean_up_s / (self.mean_up_s + self.mean_down_s)


@dataclass(frozen=True, slots=True)
class Spares:
    """Hot spares of a place, which do not fail themselves.

    One takes over `ready_s` after an instance went down and goes back when that is repaired; so an outage lasts
    min(repair, ready_s). While none is free the next instance waits for one: first come, first served.
    """

    place: Place
    instances: int
    ready_s: float

    def __post_init__(self) -> None:
        """Raises ValueError on no instance, or a time that is negative or endless."""
        if self.instances < 1:
            raise ValueError(f"instances must be at least 1, got {self.instances}")
        if not 0 <= self.ready_s < math.inf:
            raise ValueError(f"ready_s must be finite and not negative, got {self.ready_s:g} s")


@dataclass(frozen=True, slots=True)
class Faults:
    """All that makes instances go down, and what stands in for them."""

    planned: tuple[Fault, ...] = ()
    failures: tuple[Failures, ...] = ()
    spares: tuple[Spares, ...] = ()

    def __post_init__(self) -> None:
        """Raises ValueError on a place that has spares twice."""
        places = [spares.place for spares in self.spares]
        for place in PLACES:
            if places.count(place) > 1:
                raise ValueError(f"spares of {place} must be given once, got them {places.count(place)} times")

    def check(self, instances: Mapping[Place, int]) -> None:
        """Raises ValueError, naming it, on a planned fault of more instances than its place has, or where it has none.

        A place that is not in `instances` has none.
        """
        for fault in self.planned:
            there, wanted = instances.get(fault.place, 0), fault.instances or 1
            if wanted > there:
                when = f"from {fault.begin_s:g} s to {fault.end_s:g} s"
                raise ValueError(
                    f"the fault of {wanted} {fault.place} instances {when} needs as many: there are {there}"
                )

    def changes_per_s(self, instances: Mapping[Place, int]) -> float:
        """How often instances fail or are repaired in the long run: so many events have to be laid out for a second."""
        return sum(2 * instances.get(law.place, 0) / (law.mean_up_s + law.mean_down_s) for law in self.failures)

    def schedule(self, instances: Mapping[Place, int], seed: SeedSequence) -> Schedule:
        """What happens to a deployment's instances over time. Raises ValueError as `check` does."""
        self.check(instances)
        return Schedule(self, instances, seed)


class Schedule:
    """Changes at all places in turn, handed out as far as they are asked for: the same whatever is asked for."""

    def __init__(self, faults: Faults, instances: Mapping[Place, int], seed: SeedSequence) -> None:
        """See `Faults.schedule`. Each place has random numbers of its own: its events do not depend on another's."""
        self._pools = [
            _Pool(faults, place, instances.get(place, 0), child)
            for place, child in zip(PLACES, seed.spawn(len(PLACES)), strict=True)
        ]

    @property
    def ended(self) -> bool:
        """Whether nothing comes any more."""
        return not any(pool.agenda for pool in self._pools)

    def upto(self, time_s: float) -> NDArray[np.void]:
        """What comes later than what was given out before, up to a time: of dtype EVENT, by time.

        Of one time, by place, and in the order in which they must be applied. Raises ValueError on a time that is not
        finite.
        """
        if not math.isfinite(time_s):
            raise ValueError(f"events can be given out up to a finite time, got {time_s:g} s")
        rows = [
            (at_s, number, change, draw)
            for number, pool in enumerate(self._pools)
            for at_s, change, draw in pool.upto(time_s)
        ]
        events = np.array(rows, dtype=EVENT)
        return events[np.argsort(events["time_s"], kind="stable")]


class _Kind(IntEnum):
    """What can be next. Of one time: who comes up frees a spare before another one needs it."""

    UP = 0
    DOWN = 1
    LEVEL = 2
    """Of planned faults, so many are down from now on."""
    TAKE_OVER = 3


class _Cover(IntEnum):
    """What stands in for an instance."""

    NOTHING = 0
    COMING = 1
    SPARE = 2


class _Pool:
    """The instances of one place, each with the number of reasons for which it is down."""

    def __init__(self, faults: Faults, place: Place, instances: int, seed: SeedSequence) -> None:
        mine = [law for law in faults.failures if law.place is place]
        draws, *times = (default_rng(child) for child in seed.spawn(1 + len(mine)))
        self._draws = draws
        self._laws = list(zip(mine, times, strict=True))
        self._reasons = [0] * instances
        self._cover = [_Cover.NOTHING] * instances
        self._outage = [0] * instances
        self._level = 0
        self._waiting: dict[int, None] = {}  # in the order of their outages
        spares = next((spares for spares in faults.spares if spares.place is place), None)
        self._free, self._ready_s = (spares.instances, spares.ready_s) if spares else (0, 0.0)
        self.agenda = _begin(self._laws, _levels(faults.planned, place, instances), instances)

    def upto(self, time_s: float) -> Iterator[tuple[float, int, float]]:
        """Time, change and draw of all that comes up to a time."""
        while self.agenda and self.agenda[0][0] <= time_s:
            at_s, kind, instance, what = heappop(self.agenda)
            for change in self._happens(at_s, _Kind(kind), instance, what):
                yield at_s, change, float(self._draws.random())

    def _happens(self, at_s: float, kind: _Kind, instance: int, what: int) -> Iterator[int]:
        """Changes to the number that is up. `what`: a failure's law, an outage's number, or how many are to be down."""
        match kind:
            case _Kind.LEVEL:
                yield from self._planned(at_s, what)
            case _Kind.TAKE_OVER:
                yield from self._take_over(instance, what)
            case _Kind.DOWN:
                self._again(at_s, _Kind.UP, instance, what)
                yield from self._reason(at_s, instance)
            case _Kind.UP:
                self._again(at_s, _Kind.DOWN, instance, what)
                yield from self._no_reason(at_s, instance)

    def _again(self, at_s: float, kind: _Kind, instance: int, law: int) -> None:
        """Draws when a failure ends, or the next of its kind begins."""
        failures, rng = self._laws[law]
        mean_s = failures.mean_down_s if kind is _Kind.UP else failures.mean_up_s
        heappush(self.agenda, (at_s + mean_s * rng.standard_exponential(), kind, instance, law))

    def _planned(self, at_s: float, level: int) -> Iterator[int]:
        before, self._level = self._level, level
        for instance in range(before, level):
            yield from self._reason(at_s, instance)
        for instance in range(level, before):
            yield from self._no_reason(at_s, instance)

    def _reason(self, at_s: float, instance: int) -> Iterator[int]:
        """One more to be down; the first one takes it down."""
        self._reasons[instance] += 1
        if self._reasons[instance] == 1:
            self._outage[instance] += 1
            self._waiting[instance] = None
            self._send_spares(at_s)
            yield -1

    def _no_reason(self, at_s: float, instance: int) -> Iterator[int]:
        """One less; without any it is repaired, and its spare goes back."""
        self._reasons[instance] -= 1
        if self._reasons[instance]:
            return
        cover, self._cover[instance] = self._cover[instance], _Cover.NOTHING
        self._waiting.pop(instance, None)
        if cover is not _Cover.NOTHING:
            self._free += 1
            self._send_spares(at_s)
        if cover is not _Cover.SPARE:
            yield 1

    def _send_spares(self, at_s: float) -> None:
        while self._free and self._waiting:
            instance = next(iter(self._waiting))
            del self._waiting[instance]
            self._free -= 1
            self._cover[instance] = _Cover.COMING
            take_over = (at_s + self._ready_s, _Kind.TAKE_OVER, instance, self._outage[instance])
            heappush(self.agenda, take_over)

    def _take_over(self, instance: int, outage: int) -> Iterator[int]:
        """A spare is ready, unless the instance was repaired before."""
        if self._cover[instance] is _Cover.COMING and self._outage[instance] == outage:
            self._cover[instance] = _Cover.SPARE
            yield 1


type Agenda = list[tuple[float, int, int, int]]
"""A heap of what is to come: when, its kind, the instance, and what kind by kind needs."""


def _begin(laws: Sequence[tuple[Failures, Generator]], levels: Sequence[tuple[float, int]], instances: int) -> Agenda:
    agenda: Agenda = [(at_s, _Kind.LEVEL, 0, level) for at_s, level in levels]
    for number, (law, rng) in enumerate(laws):
        firsts = law.mean_up_s * rng.standard_exponential(instances)
        agenda += [(at_s, _Kind.DOWN, instance, number) for instance, at_s in enumerate(firsts.tolist())]
    heapify(agenda)
    return agenda


def _levels(planned: Sequence[Fault], place: Place, instances: int) -> list[tuple[float, int]]:
    """How many instances planned faults have down, from each time on at which that changes."""
    mine = [(fault, fault.instances or instances) for fault in planned if fault.place is place]
    levels, last = [], 0
    for at_s in sorted({edge for fault, _ in mine for edge in (fault.begin_s, fault.end_s)}):
        level = min(sum(count for fault, count in mine if fault.begin_s <= at_s < fault.end_s), instances)
        if level != last:
            levels.append((at_s, level))
        last = level
    return levels
