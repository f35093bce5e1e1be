"""What a link carries over time: others' use, fluctuation, outages, brown-outs and recordings, which compose.

    capacity(t) = min(windows, (recording or nominal) · (1 - others' share) · fluctuation · up)

It is constant between changes. Each cause that is left to chance has its own stream of random numbers, so that one
more cause leaves the others as they were. Time 0 is midnight UTC of what swings with the day, and the beginning of
what was recorded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng

from planner.engine.arrivals import DAY_S
from planner.engine.curves import Array

DIURNAL_STEP_S = 60.0
"""What swings with the day changes so often, each time to its value in the middle of the step."""
NORMAL = NormalDist()
STAYS = 256
"""Stays up or down that are drawn at once; even, so that each lot begins in the same state."""
STEPS = 4096
"""Steps of equal length that are laid out at once."""


class Changes(NamedTuple):
    """Times in seconds, rising, and what holds from each on; both of shape (n,)."""

    times_s: Array
    values: Array


@dataclass(frozen=True, slots=True)
class ConstantUse:
    """Others use the same share all the time."""

    share: float

    def __post_init__(self) -> None:
        """Raises ValueError on what is not a share."""
        _require_share("share", self.share)

    def steps(self) -> tuple[float, Array]:
        """The length of a step in seconds and the share over each; after the last one the first comes again."""
        return math.inf, np.array([self.share])


@dataclass(frozen=True, slots=True)
class DiurnalUse:
    """Others' share swings once a day: mean + amplitude · cos, highest at `peak_hour` UTC, kept within [0, 1]."""

    mean_share: float
    amplitude: float
    peak_hour: float

    def __post_init__(self) -> None:
        """Raises ValueError on what is not a share, and on an hour outside [0, 24)."""
        _require_share("mean_share", self.mean_share)
        _require_share("amplitude", self.amplitude)
        if not 0 <= self.peak_hour < 24:
            raise ValueError(f"peak_hour must be from 0 to below 24, got {self.peak_hour:g}")

    def steps(self) -> tuple[float, Array]:
        """See `ConstantUse.steps`: a day of minutes. Their mean is `mean_share` where nothing is cut off."""
        middle = np.arange(round(DAY_S / DIURNAL_STEP_S)) + 0.5
        angle = 2 * np.pi * (middle * DIURNAL_STEP_S / DAY_S - self.peak_hour / 24)
        share: Array = np.clip(self.mean_share + self.amplitude * np.cos(angle), 0.0, 1.0)
        return DIURNAL_STEP_S, share


@dataclass(frozen=True, slots=True, eq=False, init=False)
class RecordedUse:
    """The share that others used, as it was recorded; after its end the record begins anew."""

    interval_s: float
    shares: Array

    def __init__(self, interval_s: float, shares: Sequence[float] | Array) -> None:
        """Mean shares of intervals of equal length, shape (n,). Raises ValueError on what is none."""
        values = _record("shares", interval_s, shares)
        _require_share("shares", float(values.max()))
        object.__setattr__(self, "interval_s", float(interval_s))
        object.__setattr__(self, "shares", values)

    def steps(self) -> tuple[float, Array]:
        """See `ConstantUse.steps`."""
        return self.interval_s, self.shares


type Background = ConstantUse | DiurnalUse | RecordedUse


@dataclass(frozen=True, slots=True)
class OrnsteinUhlenbeck:
    """A factor that wanders about 1: its correlation falls as exp(-time / relaxation_s).

    It is normal with a standard deviation of `sd_share`, from time 0 on, and changes every `step_s` by the exact law of
    the process (Uhlenbeck and Ornstein, On the theory of the Brownian motion, Physical Review 36 (1930) 823-841). What
    is applied is kept within [0, most_share]. At 2 the cuts are as far below 1 as above it, so the mean is exactly 1;
    at 1 the link never carries more than without fluctuation, and `mean` is less by 0.4 standard deviations.
    """

    sd_share: float
    relaxation_s: float
    step_s: float
    most_share: float = 2.0

    def __post_init__(self) -> None:
        """Raises ValueError on a negative deviation, and on times or a bound that are not positive."""
        if not 0 <= self.sd_share < math.inf:
            raise ValueError(f"sd_share must be finite and not negative, got {self.sd_share:g}")
        _require_positive("relaxation_s", self.relaxation_s)
        _require_positive("step_s", self.step_s)
        _require_positive("most_share", self.most_share)

    @property
    def mean(self) -> float:
        """Of what is applied: of a normal variable that is cut at either end, in closed form."""
        if self.sd_share == 0:
            return min(1.0, self.most_share)
        low, high = -1 / self.sd_share, (self.most_share - 1) / self.sd_share
        inside = NORMAL.cdf(high) - NORMAL.cdf(low) - self.sd_share * (NORMAL.pdf(high) - NORMAL.pdf(low))
        return inside + self.most_share * NORMAL.cdf(-high)


@dataclass(frozen=True, slots=True)
class Outages:
    """Up and down in turn, each for an exponential time of its own mean; at time 0 in its steady state."""

    mean_up_s: float
    mean_down_s: float

    def __post_init__(self) -> None:
        """Raises ValueError on times that are not positive."""
        _require_positive("mean_up_s", self.mean_up_s)
        _require_positive("mean_down_s", self.mean_down_s)

    @property
    def availability(self) -> float:
        """Share of time in which it is up."""
        return self.mean_up_s / (self.mean_up_s + self.mean_down_s)


@dataclass(frozen=True, slots=True)
class Window:
    """A planned brown-out: from `begin_s` and until `end_s` no more than `bps` get across, whatever else there is."""

    begin_s: float
    end_s: float
    bps: float = 0.0

    def __post_init__(self) -> None:
        """Raises ValueError unless 0 <= begin < end, and on a negative rate."""
        if not 0 <= self.begin_s < math.inf:
            raise ValueError(f"begin_s must be finite and not negative, got {self.begin_s:g} s")
        if not self.begin_s < self.end_s < math.inf:
            raise ValueError(f"end_s must be finite and after begin_s, {self.begin_s:g} s, got {self.end_s:g} s")
        if not self.bps >= 0:
            raise ValueError(f"bps must not be negative, got {self.bps:g} bit/s")


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Recording:
    """What a link was seen to carry, in the nominal bandwidth's place; after its end the record begins anew."""

    interval_s: float
    bps: Array

    def __init__(self, interval_s: float, bps: Sequence[float] | Array) -> None:
        """Mean rates of intervals of equal length in bit/s, shape (n,). Raises ValueError on what is none."""
        object.__setattr__(self, "bps", _record("bps", interval_s, bps))
        object.__setattr__(self, "interval_s", float(interval_s))


@dataclass(frozen=True, slots=True)
class Weather:
    """Everything that changes what a link carries; without any of it, a link carries its nominal bandwidth."""

    background: Background | None = None
    fluctuation: OrnsteinUhlenbeck | None = None
    outages: Outages | None = None
    windows: tuple[Window, ...] = ()
    recording: Recording | None = None

    def stream(self, nominal_bps: float, seed: SeedSequence) -> Stream:
        """The capacity of a link of a nominal bandwidth, which may be infinite, from time 0 on.

        Shares and fluctuation leave an infinite bandwidth as it is. Raises ValueError on a negative one.
        """
        return Stream(self, nominal_bps, seed)

    def mean_bps(self, nominal_bps: float) -> float | None:
        """The mean capacity in the long run, in which windows, which all end, do not count.

        None where a recording meets others' use that varies: their product has a mean that depends on both in detail.
        """
        share = 0.0 if self.background is None else float(self.background.steps()[1].mean())
        if self.recording is not None:
            if self.background is not None and np.ptp(self.background.steps()[1]) > 0:
                return None
            nominal_bps = float(self.recording.bps.mean())
        if math.isinf(nominal_bps):
            return nominal_bps
        up = 1.0 if self.outages is None else self.outages.availability
        # independent of one another, so that the mean of the product is the product of the means
        return nominal_bps * (1 - share) * (1.0 if self.fluctuation is None else self.fluctuation.mean) * up

    @property
    def changes_per_s(self) -> float:
        """How often it changes in the long run, at most: so many changes have to be laid out for a second."""
        steps = [] if self.background is None else [self.background.steps()[0]]
        steps += [] if self.fluctuation is None else [self.fluctuation.step_s]
        steps += [] if self.recording is None else [self.recording.interval_s]
        steps += [] if self.outages is None else [(self.outages.mean_up_s + self.outages.mean_down_s) / 2]
        return sum(1 / step for step in steps)


class Stream:
    """The capacity of one link over time, handed out as far as it is asked for: the same whatever it is asked in."""

    def __init__(self, weather: Weather, nominal_bps: float, seed: SeedSequence) -> None:
        """See `Weather.stream`."""
        if not nominal_bps >= 0:
            raise ValueError(f"nominal_bps must not be negative, got {nominal_bps:g} bit/s")
        fluctuation, outages = (default_rng(child) for child in seed.spawn(2))
        record = weather.recording
        self._base = _Cause(_level(nominal_bps) if record is None else _repeated(record.interval_s, record.bps))
        self._share = _Cause(_level(0.0) if weather.background is None else _repeated(*weather.background.steps()))
        self._factor = _Cause(_level(1.0) if weather.fluctuation is None else _wander(weather.fluctuation, fluctuation))
        self._up = _Cause(_level(1.0) if weather.outages is None else _stays(weather.outages, outages))
        self._cap = _Cause(_caps(weather.windows))
        self._given_s = -math.inf
        self._given_bps = math.nan

    @property
    def ended(self) -> bool:
        """Whether what was given out last lasts for ever."""
        return all(cause.ended for cause in self._causes)

    def upto(self, time_s: float) -> tuple[Array, Array]:
        """Changes that come later than those given out before, up to a time: when, and bit/s from then on.

        The first call has one at time 0, where `time_s` is not before it. Raises ValueError on a time that is not
        finite.
        """
        if not math.isfinite(time_s):
            raise ValueError(f"changes can be given out up to a finite time, got {time_s:g} s")
        if time_s <= self._given_s or time_s < 0:
            return np.empty(0), np.empty(0)
        lasting = [cause.value for cause in self._causes]
        found = [cause.upto(time_s) for cause in self._causes]
        times = np.unique(np.concatenate([changes.times_s for changes in found]))
        bps = _capacity(*(_at(times, *each) for each in zip(found, lasting, strict=True)))
        self._given_s = time_s
        return self._changed(times, bps)

    @property
    def _causes(self) -> tuple[_Cause, ...]:
        return self._base, self._share, self._factor, self._up, self._cap

    def _changed(self, times: Array, bps: Array) -> tuple[Array, Array]:
        """Without those that change nothing."""
        new = bps != np.concatenate([[self._given_bps], bps[:-1]])
        if bps.size:
            self._given_bps = float(bps[-1])
        return times[new], bps[new]


class _Cause:
    """Changes of one cause, of which blocks are drawn as they are needed."""

    def __init__(self, blocks: Iterator[Changes]) -> None:
        self._blocks = blocks
        self._ahead = Changes(np.empty(0), np.empty(0))
        self._drawn = False
        self.value = math.nan

    @property
    def ended(self) -> bool:
        """Whether there is nothing left."""
        self._draw(-math.inf)
        return self._drawn and not self._ahead.times_s.size

    def upto(self, time_s: float) -> Changes:
        """Those that come next, up to a time; `value` is then the last one's."""
        self._draw(time_s)
        count = int(np.searchsorted(self._ahead.times_s, time_s, side="right"))
        found = Changes(*(part[:count] for part in self._ahead))
        self._ahead = Changes(*(part[count:].copy() for part in self._ahead))
        if count:
            self.value = float(found.values[-1])
        return found

    def _draw(self, time_s: float) -> None:
        """Draws until there is a change after a time, or no more."""
        parts = [self._ahead]
        while not self._drawn and not (parts[-1].times_s.size and parts[-1].times_s[-1] > time_s):
            block = next(self._blocks, None)
            self._drawn = block is None
            parts += [] if block is None else [block]
        self._ahead = Changes(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _level(value: float) -> Iterator[Changes]:
    yield Changes(np.zeros(1), np.full(1, value))


def _repeated(interval_s: float, values: Array) -> Iterator[Changes]:
    """A record over and over; of one value, that value for good."""
    if values.size == 1:
        yield from _level(float(values[0]))
        return
    first = 0
    while True:
        number = np.arange(first, first + STEPS)
        # products, not sums: so that days do not add up roundings
        yield Changes(number.astype(float) * interval_s, values[number % values.size])
        first += STEPS


def _wander(law: OrnsteinUhlenbeck, rng: Generator) -> Iterator[Changes]:
    keep = math.exp(-law.step_s / law.relaxation_s)
    kick = math.sqrt(-math.expm1(-2 * law.step_s / law.relaxation_s))
    now, first = float(rng.standard_normal()), 0
    while True:
        kicks = (kick * rng.standard_normal(STEPS)).tolist()
        units = list(accumulate(kicks, lambda last, each: keep * last + each, initial=now))
        now = units.pop()
        factor = np.clip(1 + law.sd_share * np.array(units), 0.0, law.most_share)
        yield Changes(np.arange(first, first + STEPS, dtype=float) * law.step_s, factor)
        first += STEPS


def _stays(law: Outages, rng: Generator) -> Iterator[Changes]:
    """1 while up, 0 while down. An exponential stay has no memory: the first one is as long as any of its kind."""
    up = (int(rng.random() < law.availability) + np.arange(STAYS)) % 2
    means = np.where(up == 1, law.mean_up_s, law.mean_down_s)
    begin_s = 0.0
    while True:
        ends_s = begin_s + np.cumsum(rng.standard_exponential(STAYS) * means)
        yield Changes(np.concatenate([[begin_s], ends_s[:-1]]), up.astype(float))
        begin_s = float(ends_s[-1])


def _caps(windows: Sequence[Window]) -> Iterator[Changes]:
    """The least of the windows that are open; infinite where none is."""
    times = np.unique([0.0, *(edge for window in windows for edge in (window.begin_s, window.end_s))])
    caps = np.full(times.size, np.inf)
    for window in windows:
        open_ = (times >= window.begin_s) & (times < window.end_s)
        caps[open_] = np.minimum(caps[open_], window.bps)
    yield Changes(times, caps)


def _at(times: Array, changes: Changes, lasting: float) -> Array:
    """What holds at each time, given what held before the first change."""
    number = np.searchsorted(changes.times_s, times, side="right")
    value: Array = np.concatenate([[lasting], changes.values])[number]
    return value


def _capacity(base: Array, share: Array, factor: Array, up: Array, cap: Array) -> Array:
    # an endless link has no shares, and infinity times 0 no value
    bps = np.multiply(base, (1 - share) * factor, out=base.copy(), where=np.isfinite(base))
    least: Array = np.minimum(np.where(up > 0, bps, 0.0), cap)
    return least


def _record(name: str, interval_s: float, values: Sequence[float] | Array) -> Array:
    """What was recorded, unchangeable. Raises ValueError unless there is some, finite and not negative."""
    _require_positive("interval_s", interval_s)
    record = np.array(values, dtype=float)
    if record.ndim != 1 or not record.size or not np.all(np.isfinite(record)) or record.min() < 0:
        raise ValueError(f"{name} must be a row of finite numbers that are not negative")
    record.flags.writeable = False
    return record


def _require_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must be from 0 to 1, got {value:g}")


def _require_positive(name: str, value: float) -> None:
    if not 0 < value < math.inf:
        raise ValueError(f"{name} must be positive and finite, got {value:g}")
