"""What came of a run, second by second and request by request, and what is said of it in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.engine.curves import Array

SECOND = np.dtype(
    [
        (name, float)
        for name in (
            "now_s",
            "threshold_tokens",
            "arrived",
            "sent_bits",
            "capacity_bps",
            "prfaas",
            "link",
            "pd_p",
            "pd_d",
            "in_system",
        )
    ]
)
"""See `system.Reading`."""


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """One run."""

    seconds: Any
    """As each second ended, of dtype SECOND."""
    arrival_s: Array
    """Of every request, ..."""
    ttft_s: Array
    """... and its TTFT."""
    overflowed: bool
    """Whether there were so many in the system that it was left at that."""

    def between(self, begin_s: float, end_s: float) -> Array:
        """TTFT of the requests that came from one time until another."""
        return self.ttft_s[(self.arrival_s >= begin_s) & (self.arrival_s < end_s)]

    def threshold(self, begin_s: float, end_s: float) -> Array:
        """t at each second."""
        now = self.seconds["now_s"]
        found: Array = self.seconds["threshold_tokens"][(now >= begin_s) & (now < end_s)]
        return found


def pooled(courses: Sequence[Course], begin_s: float, end_s: float, share: float) -> float:
    """A percentile of the TTFT of all requests of several runs that came from one time until another."""
    return float(np.quantile(np.concatenate([course.between(begin_s, end_s) for course in courses]), share))


def smoothed(courses: Sequence[Course], name: str, span_s: int) -> Array:
    """A quantity averaged over runs and over spans of so many seconds, shape (spans,)."""
    mean = np.mean([course.seconds[name] for course in courses], axis=0)
    whole = mean.size // span_s * span_s
    found: Array = mean[:whole].reshape(-1, span_s).mean(axis=1)
    return found


def turns(thresholds: Array, least: float = 1.0) -> Array:
    """The ratios by which t goes one way before it turns, each above 1, without those at most `least`.

    A move that is so small is no turn: what goes on behind it in the same direction counts with it.
    """
    logs, found = np.log(thresholds), []
    extreme, begin, way = logs[0], logs[0], 0
    mark = np.log(least)
    for at in logs:
        if way * (at - extreme) > 0 or (way == 0 and abs(at - begin) > mark):
            way, extreme = (int(np.sign(at - begin)) if way == 0 else way), at
        elif way and way * (extreme - at) > mark:
            found.append(abs(extreme - begin))
            begin, extreme, way = extreme, at, -way
    if way:
        found.append(abs(extreme - begin))
    return np.exp(np.array(found))
