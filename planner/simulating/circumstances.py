"""What happens to a simulated deployment: the weather of its link, what TCP makes of that, faults of its instances."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from planner.documents.errors import FieldError
from planner.documents.fields import NotNegative, Table
from planner.engine.simulation.faults import Failures, Fault, Faults, Place, Spares
from planner.engine.simulation.tcp import CONNECTIONS, Tcp
from planner.engine.simulation.weather import Background as Use
from planner.engine.simulation.weather import (
    ConstantUse,
    DiurnalUse,
    OrnsteinUhlenbeck,
    Outages,
    RecordedUse,
    Recording,
    Weather,
    Window,
)
from planner.entries.link import Background, Connections, Constant, Diurnal, Loss, Recorded
from planner.scenario.schema import LinkTable

Duration = Annotated[float, Field(ge=1e-3, le=1e9)]
"""Seconds: with shorter ones, time would be spent on nothing else."""
Moment = Annotated[float, Field(ge=0, le=1e12)]
WindowBytes = Annotated[float, Field(ge=1, le=1e18)]
Instances = Annotated[int, Field(ge=1, le=10_000)]
PlaceName = Literal["prfaas", "pd_p", "pd_d"]
MOST_LISTED = 1000


class Span(Table):
    """From one moment until another."""

    begin_s: Moment
    end_s: Moment

    @field_validator("end_s")
    @classmethod
    def _is_after_its_begin(cls, end_s: float, info: ValidationInfo) -> float:
        begin_s = info.data.get("begin_s")
        if begin_s is not None and end_s <= begin_s:
            raise ValueError(f"must be after begin_s, {begin_s:g} s")
        return end_s


class FluctuationTable(Table):
    """The link's capacity wanders about its mean, with a memory of `relaxation_s`: see the engine's law."""

    sd_share: Annotated[float, Field(ge=0, le=10)]
    """Standard deviation, as a share of the mean."""
    relaxation_s: Duration
    step_s: Duration = 1.0
    most_share: Annotated[float, Field(ge=1e-3, le=100)] = 2.0
    """Most that it becomes, as a share of the mean without fluctuation; 1: never more than that."""

    def engine(self) -> OrnsteinUhlenbeck:
        """The engine's law."""
        return OrnsteinUhlenbeck(self.sd_share, self.relaxation_s, self.step_s, self.most_share)


class OutagesTable(Table):
    """The link is up and down in turn, for exponential times of these means."""

    mean_up_s: Duration
    mean_down_s: Duration

    def engine(self) -> Outages:
        """The engine's law."""
        return Outages(self.mean_up_s, self.mean_down_s)


class WindowTable(Span):
    """A planned brown-out: no more than `bps` get across for a while."""

    bps: NotNegative = 0.0

    def engine(self) -> Window:
        """The engine's window."""
        return Window(self.begin_s, self.end_s, self.bps)


class RecordingTable(Table):
    """What the link was seen to carry, in its bandwidth's place; after its end the record begins anew."""

    interval_s: Duration
    bps: Annotated[list[NotNegative], Field(min_length=1, max_length=100_000, fail_fast=True)]

    def engine(self) -> Recording:
        """The engine's record."""
        return Recording(self.interval_s, self.bps)


class WeatherTable(Table):
    """What changes what a link carries. Others' use is the link's own where none is given here."""

    background: Background | None = None
    fluctuation: FluctuationTable | None = None
    outages: OutagesTable | None = None
    windows: Annotated[list[WindowTable], Field(max_length=MOST_LISTED)] = Field(default_factory=list)
    recording: RecordingTable | None = None

    def engine(self, link: LinkTable) -> Weather:
        """The weather of a link."""
        background = self.background or _own_background(link)
        return Weather(
            background=_use(background) if background else None,
            fluctuation=self.fluctuation.engine() if self.fluctuation else None,
            outages=self.outages.engine() if self.outages else None,
            windows=tuple(window.engine() for window in self.windows),
            recording=self.recording.engine() if self.recording else None,
        )


class FaultTable(Span):
    """So many instances are down for a while; without a number, all that the place has."""

    place: PlaceName
    instances: Instances | None = None

    def engine(self) -> Fault:
        """The engine's fault."""
        return Fault(Place(self.place), self.instances, self.begin_s, self.end_s)


class FailuresTable(Table):
    """Each instance of a place is up and down in turn, for exponential times of these means."""

    place: PlaceName
    mean_up_s: Duration
    mean_down_s: Duration

    def engine(self) -> Failures:
        """The engine's law."""
        return Failures(Place(self.place), self.mean_up_s, self.mean_down_s)


class SparesTable(Table):
    """Hot spares of a place; one takes over `ready_s` after an instance went down."""

    place: PlaceName
    instances: Instances
    ready_s: Moment = 0.0

    def engine(self) -> Spares:
        """The engine's spares."""
        return Spares(Place(self.place), self.instances, self.ready_s)


class TcpTable(Table):
    """How transfers cross a link, in the place of what the link itself says."""

    connections: Connections | None = None
    window_bytes: WindowBytes | None = None
    loss: Loss | None = None

    def engine(self, link: LinkTable) -> Tcp:
        """TCP across a link: what is neither said here nor there bounds nothing, and connections are eight."""
        connections, window_bytes, loss = (
            given if given is not None else own
            for given, own in (
                (self.connections, link.connections),
                (self.window_bytes, link.window_bytes),
                (self.loss, link.loss),
            )
        )
        return Tcp(
            connections=int(connections or CONNECTIONS),
            rtt_s=link.rtt_s or 0.0,
            window_bytes=window_bytes or math.inf,
            loss=loss or 0.0,
        )


class Conditions(Table):
    """All of this together, as a simulation has it."""

    weather: WeatherTable | None = None
    faults: Annotated[list[FaultTable], Field(max_length=MOST_LISTED)] = Field(default_factory=list)
    failures: Annotated[list[FailuresTable], Field(max_length=10)] = Field(default_factory=list)
    spares: Annotated[list[SparesTable], Field(max_length=len(Place))] = Field(default_factory=list)
    tcp: TcpTable | None = None
    """In the place of what the scenario's link says."""

    def link_weather(self, link: LinkTable) -> Weather | None:
        """What changes what a link carries; None where nothing does."""
        found = (self.weather or WeatherTable()).engine(link)
        return None if found == Weather() else found

    def link_tcp(self, link: LinkTable) -> Tcp | None:
        """TCP across a link; None where neither this nor the link says anything of it."""
        own = (link.connections, link.window_bytes, link.loss)
        return None if self.tcp is None and own == (None, None, None) else (self.tcp or TcpTable()).engine(link)

    def all_faults(self) -> Faults | None:
        """What goes down and what stands in for it; None where nothing goes down. Check `mistakes` before."""
        if not self.faults and not self.failures:
            return None
        return Faults(
            tuple(fault.engine() for fault in self.faults),
            tuple(failures.engine() for failures in self.failures),
            tuple(spares.engine() for spares in self.spares),
        )

    def mistakes(self, instances: Mapping[str, int]) -> Iterator[FieldError]:
        """What contradicts a deployment of so many instances, by the names of places."""
        for number, fault in enumerate(self.faults):
            there = instances.get(fault.place, 0)
            if not there:
                yield FieldError(f"faults.{number}.place", fault.place, "has no instance in this scenario")
            elif (fault.instances or 0) > there:
                yield FieldError(
                    f"faults.{number}.instances", fault.instances, f"must be at most {there}: {fault.place} has no more"
                )
        for name, items in (("failures", self.failures), ("spares", self.spares)):
            yield from _elsewhere(name, [item.place for item in items], instances)
        places = [spares.place for spares in self.spares]
        for number, place in enumerate(places):
            if place in places[:number]:
                yield FieldError(
                    f"spares.{number}.place", place, "has its spares already; give their whole number once"
                )


def _elsewhere(name: str, places: Sequence[str], instances: Mapping[str, int]) -> Iterator[FieldError]:
    for number, place in enumerate(places):
        if not instances.get(place, 0):
            yield FieldError(f"{name}.{number}.place", place, "has no instance in this scenario")


def _own_background(link: LinkTable) -> Constant | Diurnal | Recorded | None:
    # what a link was seen to carry, it carried beside the others
    return link.background if link.achieved_bps is None else None


def _use(background: Constant | Diurnal | Recorded) -> Use:
    match background:
        case Constant():
            return ConstantUse(background.share)
        case Diurnal():
            return DiurnalUse(background.mean_share, background.amplitude, background.peak_hour)
        case Recorded():
            return RecordedUse(background.interval_s, background.share)
