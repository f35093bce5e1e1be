"""What the writer has sorted in, as it tells whoever keeps the latest of every series: nothing is read again for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from monitoring.readings import Point
from monitoring.storage.rollups import Intervals, Ints, Samples
from monitoring.storage.series import Known

GAUGE, COUNTER, DELTA = 0, 1, 2
KINDS = {"gauge": GAUGE, "counter": COUNTER, "delta": DELTA}


@dataclass(frozen=True, slots=True)
class Scalars:
    """Samples later than all before them of their series, with what lies between; `kind` is one of KINDS' values."""

    samples: Samples
    found: Intervals
    kind: Ints


@dataclass(slots=True)
class Told:
    """Of one transaction. Samples that came late are not told."""

    scalars: list[Scalars] = field(default_factory=list)
    histograms: list[tuple[Known, Point]] = field(default_factory=list)


class Follower(Protocol):
    """Whoever keeps what was sorted in, while this process is the one that writes. Called in the writer's thread."""

    def begin(self) -> None:
        """Reads what is stored: from now on this process writes, or something of what it wrote was not told."""

    def follow(self, told: Told) -> None:
        """Takes what was committed."""

    def end(self) -> None:
        """Forgets: another process writes. Called in the event loop."""
