"""Snapshots made by hand."""

from monitoring.live.messages import AdviceNow, Current, Quantiles, RoleNow, Snapshot, SourceNow, Value, WatchNow
from monitoring.models import AlertRule

T0 = 1_790_000_400_000
FULL = "link_utilisation.wan"


def watch(name="berlin", advice=None, threshold=None, instances=(), **points):
    """Points by their names, with __ for each dot."""
    current = Current(threshold, T0, "live", "telemetry") if threshold else Current()
    roles = [RoleNow(role, Current(count, T0, "live", "telemetry"), Value(), Value()) for role, count in instances]
    return WatchNow(
        name, name, "", [], {}, Value(), Value(), Value(), Value(), Value(), current, roles, [], Quantiles(),
        Quantiles(), advice=advice, points={key.replace("__", "."): value for key, value in points.items()},
    )  # fmt: skip


def source(name="gateway", state="live", age_ms=1000, **labels):
    return SourceNow(name, state, age_ms, labels)


def snapshot(at_s, *watches, sources=()):
    return Snapshot(seq=round(at_s), ts_ms=T0 + round(at_s * 1000), watches=list(watches), sources=list(sources))


def advice(threshold=None, problems=(), **instances):
    return AdviceNow(T0, "throughput", "link_full", "raise t", list(problems), threshold, instances=instances)


def rule(kind="threshold", name="full", for_s=0.0, no_data="keep", no_data_for_s=10.0, **spec):
    """A stored rule; of the others none is left."""
    AlertRule.objects.exclude(name=name).delete()
    return AlertRule.objects.create(
        name=name, kind=kind, spec=spec, for_s=for_s, no_data=no_data, no_data_for_s=no_data_for_s
    )
