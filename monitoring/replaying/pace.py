"""How simulated time becomes ours.

At speed 1 they are the same. Faster, a day passes in less time and is sampled once a second of ours: counters and
counts of histograms grow by what the day had, divided by the speed, so that *rates*, queues, shares and percentiles are
those of the day, and a link never carries more than it can. With `as_recorded` the distance of two points is that of
the day, and nothing is divided: what was sent lies in the past, and must fit into what a server still takes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from monitoring.readings import Histogram

MOST_RECORDED_S = 540.0
"""What is older than ten minutes is refused at the door."""
MS = 1000


@dataclass(frozen=True, slots=True)
class Pace:
    """`begins_ms` is when the day's time 0 is, by our clock."""

    begins_ms: int
    speed: float = 1.0
    as_recorded: bool = False

    def __post_init__(self) -> None:
        """Raises ValueError on a speed below 1."""
        if not 1 <= self.speed <= 100_000:
            raise ValueError(f"speed must be from 1 to 100,000, got {self.speed:g}")

    @property
    def step_s(self) -> float:
        """Seconds of the day between two samples."""
        return 1.0 if self.as_recorded else self.speed

    @property
    def divisor(self) -> float:
        """Of everything that is counted."""
        return 1.0 if self.as_recorded else self.speed

    def ts_ms(self, at_s: float) -> int:
        """When a time of the day is, as it is told to the server."""
        return self.begins_ms + round(at_s * MS / self.divisor)

    def wall_s(self, at_s: float) -> float:
        """How long after the start of sending a time of the day is sent."""
        return at_s / self.speed

    def steps(self, duration_s: float) -> Iterator[float]:
        """The times at which a day is sampled."""
        return (step * self.step_s for step in range(math.floor(duration_s / self.step_s) + 1))

    def counted(self, value: float | Histogram) -> float | Histogram:
        """A counter or histogram as it is told: whole, as who counts tells it."""
        if self.divisor == 1:
            return value
        if isinstance(value, Histogram):
            counts = tuple(float(round(count / self.divisor)) for count in value.counts)
            return Histogram(value.bounds, counts, value.total / self.divisor)
        return float(round(value / self.divisor))
