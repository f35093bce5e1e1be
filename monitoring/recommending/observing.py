"""From what a viewer sees of a watch to what the engine advises by. What is not known stays unknown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from monitoring.live.messages import Current, Lengths, QueueNow, RoleNow, Value, WatchNow
from planner.engine.advice import Histogram, Observed, Queues

REMOTE, LOCAL = "remote", "local"
ROLES = {"prfaas_instances": "prfaas", "prefill_instances": "prefill", "decode_instances": "decode"}
WAITING = {
    "prfaas": ("prefill", "compute", "prfaas"),
    "link": ("transfer", "link", ""),
    "pd_p": ("prefill", "compute", "prefill"),
    "pd_d": ("decode", "compute", ""),
}
"""What waits for each stage, by stage, bound and role; of a decode or a transfer queue the role says nothing more."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A figure that the advice rests on, and where it comes from."""

    name: str
    value: float | None
    ts_ms: int | None
    age: str
    origin: str = "telemetry"


@dataclass(frozen=True, slots=True)
class Feed:
    """What the engine gets, with the figures behind it."""

    observed: Observed
    readings: tuple[Reading, ...]
    window_s: float | None

    def stale(self, most_age_s: float) -> list[Reading]:
        """What has grown older than that: it is known how it was, not how it is."""
        least_ms = (self.observed.now_s - most_age_s) * 1000
        return [each for each in self.readings if each.age == "stale" and (each.ts_ms or 0) < least_ms]

    def as_json(self) -> dict[str, Any]:
        """Every number, ready to be kept."""
        return {
            "observed": plain(asdict(self.observed)),
            "readings": [asdict(each) for each in self.readings],
            "lengths_window_s": self.window_s,
        }


def feed(watch: WatchNow, ts_ms: int, link_bps: float | None = None) -> Feed:
    """What is seen of a watch at a time; `link_bps` is what its scenario says of a link whose capacity nobody tells."""
    readings = list(_readings(watch, link_bps))
    known = {each.name: each.value for each in readings}
    lengths = watch.lengths
    observed = Observed(
        now_s=ts_ms / 1000,
        lengths=histogram(lengths),
        age_s=_age_s(readings, ts_ms),
        rate_rps=known["rate_rps"],
        capacity_bps=known["capacity_bps"],
        egress_bps=known["egress_bps"],
        resent_share=_share(known["resent_share"]),
        queues=_queues(watch.queues),
        threshold_tokens=known["threshold_tokens"],
        prfaas_instances=known["prfaas_instances"],
        prefill_instances=known["prefill_instances"],
        decode_instances=known["decode_instances"],
        prefill_busy=_share(_busy(watch.roles, "prefill")),
        decode_busy=_share(_busy(watch.roles, "decode")),
    )
    return Feed(observed, tuple(readings), lengths.window_s if lengths else None)


def _readings(watch: WatchNow, link_bps: float | None) -> Iterator[Reading]:
    yield _lengths(watch.lengths)
    yield _together("rate_rps", [watch.requests_rps[route] for route in (REMOTE, LOCAL) if route in watch.requests_rps])
    yield _capacity([link.capacity_bps for link in watch.links], link_bps)
    yield _together("egress_bps", [link.egress_bps for link in watch.links])
    yield _worst("resent_share", [link.resent for link in watch.links])
    yield _setting("threshold_tokens", watch.threshold_tokens)
    roles = {each.role: each.instances for each in watch.roles}
    for name, role in ROLES.items():
        yield _setting(name, roles.get(role, Current()))


def _lengths(lengths: Lengths | None) -> Reading:
    if lengths is None:
        return Reading("lengths", None, None, "absent")
    return Reading("lengths", math.fsum(sum(each) for each in lengths.counts.values()), lengths.ts_ms, lengths.age)


def _together(name: str, values: Sequence[Value]) -> Reading:
    """The sum of those that are known, as old as the oldest: a route that nothing took tells no rate."""
    known = [each for each in values if each.value is not None]
    if not known:
        return Reading(name, None, None, "absent")
    oldest = min(known, key=lambda each: each.ts_ms or 0)
    return Reading(name, math.fsum(each.value or 0.0 for each in known), oldest.ts_ms, _worst_age(known))


def _worst(name: str, values: Sequence[Value]) -> Reading:
    known = [each for each in values if each.value is not None]
    if not known:
        return Reading(name, None, None, "absent")
    worst = max(known, key=lambda each: each.value or 0.0)
    return Reading(name, worst.value, worst.ts_ms, worst.age)


def _capacity(values: Sequence[Value], link_bps: float | None) -> Reading:
    """What all links carry together; where one of them does not tell, what the scenario says, if it says a limit."""
    if values and all(each.value is not None for each in values):
        return _together("capacity_bps", values)
    if link_bps is None or not 0 < link_bps < math.inf:
        return Reading("capacity_bps", None, None, "absent", "unknown")
    return Reading("capacity_bps", link_bps, None, "live", "scenario")


def _setting(name: str, current: Current) -> Reading:
    """What was entered by hand holds until it is entered anew: it does not grow stale."""
    age = "live" if current.origin == "entered" and current.value is not None else current.age
    return Reading(name, current.value, current.ts_ms, age, current.origin)


def _worst_age(values: Sequence[Value]) -> str:
    return "stale" if any(each.age == "stale" for each in values) else "live"


def _age_s(readings: Sequence[Reading], ts_ms: int) -> float:
    """Of the oldest reading that has grown old. How long one may be silent follows from how often it usually comes."""
    told = [each.ts_ms for each in readings if each.age == "stale" and each.ts_ms is not None]
    return max((ts_ms - each) / 1000 for each in told) if told else 0.0


def histogram(lengths: Lengths | None, routes: Sequence[str] = ()) -> Histogram | None:
    """Lengths of all routes together, or of some. None of nothing, or where the buckets cannot be read."""
    if lengths is None or len(lengths.bounds) < 2:
        return None
    chosen = [counts for route, counts in lengths.counts.items() if not routes or route in routes]
    if not chosen:
        return None
    counts = [math.fsum(each) for each in zip(*chosen, strict=True)]
    # A bucket up to 0 has what was cached whole: the shortest that the engine knows.
    empty = sum(bound <= 0 for bound in lengths.bounds)
    bounds = tuple(lengths.bounds[empty:])
    joined = (math.fsum(counts[: empty + 1]), *counts[empty + 1 :])
    return Histogram(bounds, joined) if len(bounds) >= 2 else None


def _queues(queues: Sequence[QueueNow]) -> Queues:
    found: dict[str, float | None] = {}
    for name, (stage, bound, role) in WAITING.items():
        told = [
            each.requests.value
            for each in queues
            if (each.stage, each.bound) == (stage, bound)
            and role in ("", each.role)
            and each.requests.value is not None
        ]
        found[name] = math.fsum(told) if told else None
    return Queues(**found)


def _busy(roles: Sequence[RoleNow], role: str) -> float | None:
    return next((each.utilisation.value for each in roles if each.role == role), None)


def _share(value: float | None) -> float | None:
    return None if value is None else min(max(value, 0.0), 1.0)


def plain(value: Any) -> Any:
    """As JSON has it, which knows neither infinity nor NaN."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
