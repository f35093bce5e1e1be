"""Whether the scenario's curves still describe what is seen, looked at twice a minute."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from monitoring.live.messages import Drift
from monitoring.models import Watch
from monitoring.recommending.telemetry import Telemetry, seen
from planner.engine import advice as engine
from planner.engine.advice import Verdict, observed_mean, per_request
from planner.watched import Watched

WINDOW_MS = 10 * 60_000
EVERY_MS = 30_000
ROUTES = ("remote", "local")
PREFILL, KV_BYTES = "prefill_s", "kv_bytes"


@dataclass(slots=True)
class Drifts:
    """What was found last of each watch. One a process."""

    _kept: dict[int, tuple[int, str, list[Drift]]] = field(default_factory=dict)

    def of(self, watch: Watch, scenario: Watched, now_ms: int) -> list[Drift]:
        """Looked at anew twice a minute, and when the scenario has changed."""
        kept = self._kept.get(watch.pk)
        if kept is None or kept[1] != scenario.revision or not 0 <= now_ms - kept[0] < EVERY_MS:
            kept = (now_ms, scenario.revision, drifts(scenario, seen(watch, now_ms - WINDOW_MS, now_ms)))
            self._kept[watch.pk] = kept
        return kept[2]


def drifts(scenario: Watched, telemetry: Telemetry) -> list[Drift]:
    """Of prefill times by route, and of KVCache bytes a remote request; nothing of what nobody tells."""
    found = []
    for route in ROUTES:
        lengths, times = telemetry.lengths.get(route), telemetry.times.get(route)
        if lengths is not None and times is not None:
            one = engine.drift(scenario.prefill[route], lengths, observed_mean(times))
            found.append(_told(f"{PREFILL}.{route}", one))
    lengths = telemetry.lengths.get("remote")
    if lengths is not None and telemetry.kv_bytes:
        one = engine.drift(scenario.s_kv, lengths, per_request(telemetry.kv_bytes, lengths.total))
        found.append(_told(KV_BYTES, one))
    return [each for each in found if each is not None]


def _told(what: str, found: engine.Drift | None) -> Drift | None:
    if found is None or not math.isfinite(found.ratio):
        return None
    high = found.interval.high if math.isfinite(found.interval.high) else found.ratio
    return Drift(what, found.ratio, found.interval.low, high, found.verdict is Verdict.DEPARTS)
