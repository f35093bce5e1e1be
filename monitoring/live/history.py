"""What charts show over a window, under the names that a snapshot's points have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from monitoring.live import lines, past
from monitoring.live.messages import VERSION
from monitoring.live.past import Line, Past
from monitoring.live.selection import PLANNED, ROUTES, LinkSeries, Plan, RoleSeries, Some, described, plan
from monitoring.live.snapshot import BITS
from monitoring.live.watched import Watched
from monitoring.models import Entered, Series
from monitoring.storage import columns, query
from monitoring.storage.columns import Grid
from monitoring.storage.query import Window
from monitoring.storage.retention import KEPT_DAYS
from monitoring.storage.rollups import MS, RESOLUTIONS_S, Array

MOST_SAMPLES = 200_000
DAY_MS, LONG_MS = 86_400_000, 6 * 3_600_000
MINUTE_S, TEN_MINUTES_S = RESOLUTIONS_S[1:]
LED_IN_MS = 60_000
"""So long before a window it is read, that what is sampled seldom is there from the first step on."""


@dataclass(frozen=True, slots=True)
class History:
    """Lines on one grid, and the lengths of the whole window."""

    watch: str
    on: Grid
    lines: dict[str, Line]
    bounds: list[float]
    counts: dict[str, list[float]]

    def as_json(self) -> dict[str, Any]:
        """As the API tells it: null where nothing was measured."""
        return {
            "v": VERSION,
            "watch": self.watch,
            "start_ms": self.on.start_ms,
            "end_ms": self.on.end_ms,
            "step_ms": self.on.step_ms,
            "resolution_s": self.on.resolution_s,
            "ts_ms": self.on.ts_ms.tolist(),
            "lines": {
                name: {"mean": _nulls(line.mean), "low": _nulls(line.low), "high": _nulls(line.high)}
                for name, line in self.lines.items()
            },
            "lengths": {
                "bounds": self.bounds,
                "counts": self.counts,
                "window_s": (self.on.end_ms - self.on.start_ms) / MS,
            },
        }


def over(watch: Watched, start_ms: int, end_ms: int, now_ms: int, points: int = query.MOST_POINTS) -> History:
    """A watch over a window, in no more steps than so many; `now_ms` says what of it is still kept."""
    stored = {each.pk: each for each in Series.objects.filter(signal__in=PLANNED) if watch.covers(each.labels)}
    is_long = end_ms - start_ms > LONG_MS or now_ms - start_ms >= KEPT_DAYS[MINUTE_S] * DAY_MS
    there = columns.present(stored, start_ms, end_ms, TEN_MINUTES_S if is_long else MINUTE_S)
    chosen = plan(watch, [described(stored[each]) for each in sorted(there)])
    read = [stored[each] for each in chosen.series()]
    on = columns.grid(_window(query.window(start_ms, end_ms, points), len(read), now_ms), points)
    wide = on.earlier(-(-LED_IN_MS // on.step_ms) if on.step_ms < LED_IN_MS else 0)
    counts = columns.histograms(read, on.earlier(past.window_steps(on)))
    found = Past(columns.scalars(read, wide), {each.pk: each.source_id for each in read}, wide)
    drawn = {name: line.last(on.steps) for name, line in _drawn(chosen, found, wide)} | {
        f"{figure}.{share}": line
        for figure, series in zip(lines.OF_QUANTILES, (chosen.ttft, chosen.tpot), strict=True)
        for share, line in past.quantiles(series, counts, on).items()
    }
    names = lines.keys(
        (each.name for each in chosen.links),
        (each.role for each in chosen.roles),
        ((each.stage, each.bound) for each in chosen.queues),
    )
    bounds, by_route = past.lengths(chosen.lengths, counts, on)
    return History(watch.name, on, {name: drawn[name] for name in names}, bounds, by_route)


def _window(asked: Window, series: int, now_ms: int) -> Window:
    """As it is asked; but coarser where what is finer is no longer kept, or too many samples would have to be read."""
    kept = [each for each, days in sorted(KEPT_DAYS.items()) if now_ms - asked.start_ms < days * DAY_MS]
    is_much = series * (asked.end_ms - asked.start_ms) > MOST_SAMPLES * MS
    least_s = max(kept[0] if kept else max(KEPT_DAYS), RESOLUTIONS_S[0] if is_much else 0)
    if asked.resolution_s >= least_s:
        return asked
    step_ms = -(-asked.step_ms // (least_s * MS)) * least_s * MS
    return Window(asked.start_ms, asked.end_ms, step_ms, least_s)


def _drawn(plan: Plan, found: Past, on: Grid) -> Iterator[tuple[str, Line]]:
    for link in plan.links:
        yield from _link(link, found)
    requests = {route: found.sum(plan.requests[route]) for route in ROUTES}
    yield from ((f"requests_rps.{route}", line) for route, line in requests.items())
    whole = requests["local"].mean + requests["remote"].mean
    yield "offload", _ratio(requests["remote"].mean, whole)
    for name, series in (
        ("failed_rps", plan.failed), ("input_tps", plan.input), ("cached_tps", plan.cached), ("output_tps", plan.output)
    ):  # fmt: skip
        yield name, found.sum(series)
    threshold = found.mean(plan.threshold)
    yield "threshold_tokens", _or_entered(threshold, plan, "threshold_tokens", plan.threshold, found, on)
    yield "recommended_threshold_tokens", found.mean(plan.recommended_threshold)
    yield "lambda_max_rps", found.mean(plan.lambda_max)
    for stage, bound in {(each.stage, each.bound) for each in plan.queues}:
        some = [each.requests for each in plan.queues if (each.stage, each.bound) == (stage, bound)]
        yield f"queue.{stage}.{bound}", found.sum(tuple(each for series in some for each in series))
    for role in plan.roles:
        yield from _role(role, plan, found, on)


def _link(link: LinkSeries, found: Past) -> Iterator[tuple[str, Line]]:
    capacity = found.mean(link.capacity)
    egress = _clamped(found.sum(link.egress), capacity)
    yield f"egress_bps.{link.name}", egress
    yield f"ingress_bps.{link.name}", _clamped(found.sum(link.ingress), capacity)
    yield f"capacity_bps.{link.name}", capacity
    yield f"link_utilisation.{link.name}", _ratio(egress.mean, capacity.mean)
    yield f"rtt_s.{link.name}", found.mean(link.rtt)
    yield f"resent.{link.name}", _ratio(found.sum(link.resent).mean, found.sum(link.sent).mean)
    yield f"dropped_pps.{link.name}", found.sum(link.dropped)
    yield f"kv_bps.{link.name}", found.sum(link.kv, BITS)


def _role(role: RoleSeries, plan: Plan, found: Past, on: Grid) -> Iterator[tuple[str, Line]]:
    name = f"instances.{role.role}"
    instances = _or_entered(found.sum(role.instances), plan, name, role.instances, found, on)
    busy = found.sum(role.busy) if role.busy else found.sum(role.busy_s)
    of_busy, told = _ratio(busy.mean, instances.mean), found.mean(role.utilisation)
    known = np.isfinite(of_busy.mean)
    yield name, instances
    yield (
        f"utilisation.{role.role}",
        Line(
            np.where(known, of_busy.mean, told.mean),
            np.where(known, of_busy.low, told.low),
            np.where(known, of_busy.high, told.high),
        ),
    )
    yield f"recommended_instances.{role.role}", found.mean(role.recommended)


def _clamped(rate: Line, capacity: Line) -> Line:
    """No more than the link carried then."""
    return Line(*(np.fmin(part, np.where(np.isfinite(part), capacity.mean, np.nan)) for part in _parts(rate)))


def _parts(line: Line) -> Sequence[Array]:
    return line.mean, line.low, line.high


def _ratio(part: Array, whole: Array) -> Line:
    with np.errstate(divide="ignore", invalid="ignore"):
        return Line.alone(np.where(whole != 0, part / whole, np.nan))


def _or_entered(line: Line, plan: Plan, what: str, series: Some, found: Past, on: Grid) -> Line:
    """Where no telemetry tells, what was entered last before."""
    if what not in plan.watch.entered:
        return line
    rows = Entered.objects.filter(watch__name=plan.watch.name, what=what).order_by("at_ms", "pk")
    at_ms, values = (np.array(column, float) for column in zip(*rows.values_list("at_ms", "value"), strict=True))
    place = np.searchsorted(at_ms, on.ts_ms + on.step_ms, side="left") - 1
    said = np.where(place >= 0, values[place], np.nan)
    silent = ~found.is_told(series)
    return Line(*(np.where(silent, said, part) for part in _parts(line)))


def _nulls(values: Array) -> list[float | None]:
    return [value if value == value else None for value in values.tolist()]
