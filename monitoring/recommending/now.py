"""What was recommended last, as any process can tell it: from the newest snapshot that the leading one has stored."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from monitoring.live.messages import AdviceNow, Snapshot, WatchNow
from monitoring.models import Tick

OLD_MS = 10_000
"""Snapshots come once a second; after so long without one, what they say is no longer of now."""
NOT_LEADING = "no snapshot has come for {age_s:.0f} s: no process measures and recommends"
NO_SNAPSHOT = "there is no snapshot yet: no process measures and recommends"
NO_SCENARIO = "the watch names no scenario, whose curves a recommendation needs"

_decoder = msgspec.json.Decoder(Snapshot)


@dataclass(frozen=True, slots=True)
class Now:
    """The newest snapshot, and whether it is of now."""

    snapshot: Snapshot | None
    age_ms: int | None

    @property
    def is_fresh(self) -> bool:
        """Whether what it says holds now."""
        return self.age_ms is not None and self.age_ms < OLD_MS

    def watch(self, name: str) -> WatchNow | None:
        """A watch as the snapshot has it."""
        if self.snapshot is None:
            return None
        return next((each for each in self.snapshot.watches if each.name == name), None)

    def problems(self, name: str) -> list[str]:
        """Why nothing is recommended of a watch; [] where something is."""
        if self.snapshot is None or self.age_ms is None:
            return [NO_SNAPSHOT]
        if not self.is_fresh:
            return [NOT_LEADING.format(age_s=self.age_ms / 1000)]
        watch = self.watch(name)
        if watch is None or watch.advice is None:
            return [NO_SCENARIO]
        return watch.advice.problems

    def advice(self, name: str) -> AdviceNow | None:
        """The last one of a watch, also where it is of now no longer."""
        watch = self.watch(name)
        return watch.advice if watch else None


def latest(now_ms: int) -> Now:
    """From the newest stored snapshot."""
    tick = Tick.objects.order_by("-seq").first()
    if tick is None:
        return Now(None, None)
    try:
        return Now(_decoder.decode(bytes(tick.payload)), max(0, now_ms - tick.ts_ms))
    except msgspec.MsgspecError:  # of another version, which this process replaces or is replaced by
        return Now(None, None)
