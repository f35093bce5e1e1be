"""From the latest of every series to what viewers see of it."""

from __future__ import annotations

import math
from collections.abc import Mapping

from monitoring.live.measuring import Measured, older
from monitoring.live.messages import Current, LinkNow, QueueNow, RoleNow, Value, WatchNow
from monitoring.live.selection import ROUTES, LinkSeries, Plan, QueueSeries, RoleSeries
from monitoring.live.watched import Said

BITS = 8.0
CLAMPED_FROM = 1.001
"""Times its capacity from which a rate is said to be more than the link carries: counters are not read exactly at
their time."""


def watch_now(plan: Plan, measured: Measured) -> WatchNow:
    """A deployment as it is."""
    watch = plan.watch
    requests = {route: measured.sum(plan.requests[route]) for route in ROUTES}
    return WatchNow(
        name=watch.name,
        title=watch.title,
        scenario=watch.scenario,
        links=[_link(each, measured) for each in plan.links],
        requests_rps=requests,
        offload=ratio(requests["remote"], _both(requests["local"], requests["remote"])),
        failed_rps=measured.sum(plan.failed),
        input_tps=measured.sum(plan.input),
        cached_tps=measured.sum(plan.cached),
        output_tps=measured.sum(plan.output),
        threshold_tokens=_current(measured.mean(plan.threshold), watch.entered.get("threshold_tokens")),
        roles=[_role(each, watch.entered, measured) for each in plan.roles],
        queues=[_queue(each, measured) for each in plan.queues],
        ttft_s=measured.quantiles(plan.ttft),
        tpot_s=measured.quantiles(plan.tpot),
        lengths=measured.lengths(plan.lengths),
    )


def _link(link: LinkSeries, measured: Measured) -> LinkNow:
    capacity = measured.mean(link.capacity)
    egress, is_clamped = clamped(measured.sum(link.egress), capacity)
    ingress, _ = clamped(measured.sum(link.ingress), capacity)
    return LinkNow(
        name=link.name,
        egress_bps=egress,
        ingress_bps=ingress,
        capacity_bps=capacity,
        utilisation=ratio(egress, capacity),
        rtt_s=measured.mean(link.rtt),
        resent=ratio(measured.sum(link.resent), measured.sum(link.sent)),
        dropped_pps=measured.sum(link.dropped),
        kv_bps=measured.sum(link.kv, BITS),
        is_clamped=is_clamped,
    )


def clamped(rate: Value, capacity: Value) -> tuple[Value, bool]:
    """A rate, but no more than the link carries; and whether it was more by a margin."""
    if rate.value is None or capacity.value is None or rate.value <= capacity.value:
        return rate, False
    return Value(capacity.value, rate.ts_ms, rate.age), rate.value > CLAMPED_FROM * capacity.value


def ratio(part: Value, whole: Value) -> Value:
    """As old as the older of the two; without a value where nothing can be said, as of no requests at all."""
    ts_ms, age = older(part, whole)
    if part.value is None or not whole.value:
        return Value(None, ts_ms, age)
    return Value(part.value / whole.value, ts_ms, age)


def _both(one: Value, other: Value) -> Value:
    ts_ms, age = older(one, other)
    known = one.value is not None and other.value is not None
    return Value(one.value + other.value if known else None, ts_ms, age)  # type: ignore[operator]


def _current(told: Value, said: Said | None) -> Current:
    """Telemetry first; then what was entered; else it is not known."""
    if told.value is not None and math.isfinite(told.value):
        return Current(told.value, told.ts_ms, told.age, "telemetry")
    if said is not None and said.value is not None:
        return Current(said.value, said.at_ms, "live", "entered", said.by)
    return Current(None, told.ts_ms, told.age)


def _role(role: RoleSeries, entered: Mapping[str, Said], measured: Measured) -> RoleNow:
    instances = _current(measured.sum(role.instances), entered.get(f"instances.{role.role}"))
    busy = measured.sum(role.busy) if role.busy else measured.sum(role.busy_s)
    of_busy = ratio(busy, Value(instances.value, busy.ts_ms, instances.age))
    told = measured.mean(role.utilisation)
    return RoleNow(role.role, instances, busy, told if told.value is not None and of_busy.value is None else of_busy)


def _queue(queue: QueueSeries, measured: Measured) -> QueueNow:
    return QueueNow(queue.stage, queue.bound, measured.sum(queue.requests), queue.role)
