"""When requests arrive: Poisson, bursty by renewal or by a hidden state, diurnal, and as recorded.

Each process has a mean rate that is chosen apart from it, so that the same pattern can be tried at any load.
Time 0 is midnight UTC of a diurnal process and the beginning of a recorded one; the others have none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from planner.engine.curves import Array

DAY_S = 86_400.0
CHUNK = 65_536
"""Stays in a state that are drawn at once."""


class Arrivals(Protocol):
    """A pattern of arrivals of any mean rate."""

    def rate_at(self, seconds: ArrayLike, rate_rps: float) -> Array:
        """The expected rate in req/s at each time, where the mean over all time is `rate_rps`."""

    def cv(self, rate_rps: float) -> float | None:
        """Coefficient of variation of the time between two arrivals; None where it has no closed form."""

    def index_of_dispersion(self, rate_rps: float) -> float:
        """Variance over mean of the number of arrivals in a long time, about what `rate_at` expects; 1 for Poisson."""

    def sample(self, count: int, rate_rps: float, rng: Generator) -> Array:
        """The first `count` arrivals after time 0, in seconds, rising; the same generator gives the same ones."""


@dataclass(frozen=True, slots=True)
class Poisson:
    """Independent requests."""

    def rate_at(self, seconds: ArrayLike, rate_rps: float) -> Array:
        """The same at any time."""
        return constant(seconds, rate_rps)

    def cv(self, rate_rps: float) -> float:
        """1, an exponential's."""
        return 1.0

    def index_of_dispersion(self, rate_rps: float) -> float:
        """1."""
        return 1.0

    def sample(self, count: int, rate_rps: float, rng: Generator) -> Array:
        """See `Arrivals`."""
        return unit_arrivals(count, rng) / rate_rps


@dataclass(frozen=True, slots=True)
class Renewal:
    """Independent gamma-distributed times between arrivals: regular below a variation of 1, bursty above."""

    variation: float
    """Their coefficient of variation."""

    def __post_init__(self) -> None:
        """Raises ValueError on a variation that is not positive."""
        if not 0 < self.variation < math.inf:
            raise ValueError(f"cv must be positive and finite, got {self.variation:g}")

    def rate_at(self, seconds: ArrayLike, rate_rps: float) -> Array:
        """The same at any time, since the process is sampled in its steady state."""
        return constant(seconds, rate_rps)

    def cv(self, rate_rps: float) -> float:
        """As it was given."""
        return self.variation

    def index_of_dispersion(self, rate_rps: float) -> float:
        """The square of the variation (Cox, Renewal Theory, 1962)."""
        return self.variation**2

    def sample(self, count: int, rate_rps: float, rng: Generator) -> Array:
        """See `Arrivals`. Time 0 falls into a gap as it would by chance: into a long one more likely."""
        shape = self.variation**-2
        gaps = rng.standard_gamma(shape, count) / shape
        gaps[:1] = rng.standard_gamma(shape + 1, gaps[:1].shape) / shape * rng.random(gaps[:1].shape)
        return np.cumsum(gaps) / rate_rps


@dataclass(frozen=True, slots=True)
class Mmpp2:
    """Poisson arrivals whose rate changes between two values, each kept for an exponential time.

    `multipliers` are the two rates relative to one another; `sojourns_s` their mean durations.
    """

    multipliers: tuple[float, float]
    sojourns_s: tuple[float, float]

    def __post_init__(self) -> None:
        """Raises ValueError on a negative multiplier, on none that is positive, and on a sojourn that is not."""
        if min(self.multipliers) < 0 or not 0 < max(self.multipliers) < math.inf:
            raise ValueError(f"rates must not be negative, nor both 0, got {list(self.multipliers)}")
        if not 0 < min(self.sojourns_s) <= max(self.sojourns_s) < math.inf:
            raise ValueError(f"sojourns must be positive and finite, got {list(self.sojourns_s)}")

    def rates(self, rate_rps: float) -> tuple[float, float]:
        """Arrivals a second in either state."""
        time = sum(self.sojourns_s)
        mean = sum(m * s for m, s in zip(self.multipliers, self.sojourns_s, strict=True)) / time
        return rate_rps * self.multipliers[0] / mean, rate_rps * self.multipliers[1] / mean

    def rate_at(self, seconds: ArrayLike, rate_rps: float) -> Array:
        """The same at any time, since nobody knows the state."""
        return constant(seconds, rate_rps)

    def cv(self, rate_rps: float) -> float:
        """In closed form: Fischer and Meier-Hellstern, The MMPP cookbook, Performance Evaluation 18 (1993) 149-171."""
        (a, b), (leave_a, leave_b) = self.rates(rate_rps), self._leaving
        both = leave_a + leave_b
        square = 1 + 2 * (a - b) ** 2 * leave_a * leave_b / (both**2 * (a * b + a * leave_b + b * leave_a))
        return math.sqrt(square)

    def index_of_dispersion(self, rate_rps: float, window_s: float = math.inf) -> float:
        """Variance over mean of the arrivals in a window of any length, in closed form: source as of `cv`."""
        (a, b), (leave_a, leave_b) = self.rates(rate_rps), self._leaving
        both = leave_a + leave_b
        excess = 2 * (a - b) ** 2 * leave_a * leave_b / (both**2 * (a * leave_b + b * leave_a))
        turns = both * window_s
        # the part that a short window does not see
        return 1 + excess * (1 if math.isinf(turns) else 1 + math.expm1(-turns) / turns if turns > 0 else 0)

    @property
    def _leaving(self) -> tuple[float, float]:
        return 1 / self.sojourns_s[0], 1 / self.sojourns_s[1]

    def sample(self, count: int, rate_rps: float, rng: Generator) -> Array:
        """See `Arrivals`. Stays are drawn until they hold as many arrivals; time 0 is in its steady state."""
        rates, wanted = np.array(self.rates(rate_rps)), unit_arrivals(count, rng)
        found = np.empty(count)
        state = int(rng.random() * sum(self.sojourns_s) >= self.sojourns_s[0])
        time = expected = 0.0
        done = 0
        while done < count:
            states = (state + np.arange(CHUNK)) % 2  # the chunk is even: the next one begins in the same state
            stays = rng.standard_exponential(CHUNK) * np.array(self.sojourns_s)[states]
            times = time + np.concatenate([[0.0], np.cumsum(stays)])
            sums = expected + np.concatenate([[0.0], np.cumsum(stays * rates[states])])
            upto = int(np.searchsorted(wanted, sums[-1]))
            found[done:upto] = np.interp(wanted[done:upto], sums, times)
            done, time, expected = upto, float(times[-1]), float(sums[-1])
        return found


@dataclass(frozen=True, slots=True)
class Diurnal:
    """Poisson arrivals whose rate swings once a day: 1 + amplitude · cos, highest at `peak_hour` UTC."""

    amplitude: float
    peak_hour: float

    def __post_init__(self) -> None:
        """Raises ValueError on an amplitude outside [0, 1] or an hour outside [0, 24)."""
        if not 0 <= self.amplitude <= 1:
            raise ValueError(f"amplitude must be from 0 to 1, got {self.amplitude:g}")
        if not 0 <= self.peak_hour < 24:
            raise ValueError(f"peak_hour must be from 0 to below 24, got {self.peak_hour:g}")

    def rate_at(self, seconds: ArrayLike, rate_rps: float) -> Array:
        """Highest at the peak, lowest twelve hours later."""
        angle = 2 * np.pi * (np.asarray(seconds, dtype=float) / DAY_S - self.peak_hour / 24)
        rate: Array = rate_rps * (1 + self.amplitude * np.cos(angle))
        return rate

    def cv(self, rate_rps: float) -> float | None:
        """Of many arrivals a day, an exponential mixed over the day's rates: cv² = 2 / sqrt(1 - amplitude²) - 1.

        None where the rate falls to 0: then it depends on how many arrive in a day.
        """
        return math.sqrt(2 / math.sqrt(1 - self.amplitude**2) - 1) if self.amplitude < 1 else None

    def index_of_dispersion(self, rate_rps: float) -> float:
        """1: at a known time of the day it is Poisson."""
        return 1.0

    def sample(self, count: int, rate_rps: float, rng: Generator) -> Array:
        """See `Arrivals`. By thinning: of the peak's arrivals, as many stay as the hour has."""
        peak = rate_rps * (1 + self.amplitude)
        found: list[Array] = []
        time, missing = 0.0, count
        while missing > 0:
            candidates = time + unit_arrivals(missing + CHUNK, rng) / peak
            kept = candidates[rng.random(candidates.size) * peak < self.rate_at(candidates, rate_rps)]
            found.append(kept[:missing])
            time, missing = float(candidates[-1]), missing - min(kept.size, missing)
        return np.concatenate([np.empty(0), *found])


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Recorded:
    """Poisson arrivals at a recorded rate, scaled to any mean; after its end the record begins anew."""

    interval_s: float
    recorded_rps: Array

    def __init__(self, interval_s: float, rates_rps: Sequence[float] | Array) -> None:
        """Mean rates of intervals of equal length, shape (n,).

        Raises ValueError on an interval that is not positive, and on rates that are negative, not finite or all 0.
        """
        rates = np.array(rates_rps, dtype=float)
        if not 0 < interval_s < math.inf:
            raise ValueError(f"interval_s must be positive and finite, got {interval_s:g}")
        if rates.ndim != 1 or not rates.size or not np.all(np.isfinite(rates)) or rates.min() < 0 or rates.max() == 0:
            raise ValueError("recorded rates must be finite, not negative, and not all 0")
        rates.flags.writeable = False
        object.__setattr__(self, "interval_s", float(interval_s))
        object.__setattr__(self, "recorded_rps", rates)

    @property
    def mean_rps(self) -> float:
        """The mean rate as it was recorded."""
        return float(self.recorded_rps.mean())

    def rate_at(self, seconds: ArrayLike, rate_rps: float) -> Array:
        """Level over each interval."""
        interval = np.floor(np.asarray(seconds, dtype=float) / self.interval_s).astype(np.int64)
        rate: Array = self.recorded_rps[interval % self.recorded_rps.size] * (rate_rps / self.mean_rps)
        return rate

    def cv(self, rate_rps: float) -> None:
        """None: it depends on every interval."""
        return None

    def index_of_dispersion(self, rate_rps: float) -> float:
        """1: at a known time of the record it is Poisson."""
        return 1.0

    def sample(self, count: int, rate_rps: float, rng: Generator) -> Array:
        """See `Arrivals`. Exact: the arrivals of an even rate, moved to where the record has had as many."""
        even = unit_arrivals(count, rng) / rate_rps
        edges = np.arange(self.recorded_rps.size + 1) * self.interval_s
        length = edges[-1]
        share = np.concatenate([[0.0], np.cumsum(self.recorded_rps / self.recorded_rps.sum())])
        rounds, within = np.divmod(even, length)
        times: Array = rounds * length + np.interp(within / length * share[-1], share, edges)
        return times


def constant(seconds: ArrayLike, rate_rps: float) -> Array:
    """The rate at each time, all alike."""
    return np.full(np.shape(seconds), float(rate_rps))


def unit_arrivals(count: int, rng: Generator) -> Array:
    """The first arrivals of a Poisson process of one a second."""
    return np.cumsum(rng.standard_exponential(count))
