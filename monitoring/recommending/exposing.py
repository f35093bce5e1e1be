"""What is recommended and measured, as Prometheus reads it from us: gauges, of whichever process is asked.

No sample has a time of its own, or Prometheus would not notice that a series ends. What is stale, unknown or not
recommended is left out; how old the recommendation is, and whether there is one, are gauges of their own.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from monitoring.live.messages import AdviceNow, Current, Value, WatchNow
from monitoring.models import Source
from monitoring.recommending.now import Now, latest

PREFIX = "prfaas_planner"
HELP = {
    "snapshot_timestamp_seconds": "When what is measured was put together last, in Unix time.",
    "recommendation_timestamp_seconds": "When the watch was advised last, in Unix time.",
    "recommendation_valid": "1 while something is recommended, else 0.",
    "recommendation_info": "1, with the reason code and the objective that is followed.",
    "recommendation_confidence": "That the best t is on the right side of the one in force, as far as chance goes.",
    "recommended_threshold_tokens": "The routing threshold t that is recommended.",
    "best_threshold_tokens": "The best t by an objective, to which t goes in steps when nothing is short.",
    "best_threshold_low_tokens": "Least value of the best t for the greatest rate, given what is not known.",
    "best_threshold_high_tokens": "Greatest value of the best t for the greatest rate, given what is not known.",
    "recommended_instances": "Instances of a role that are recommended.",
    "current_threshold_tokens": "The routing threshold t in force.",
    "current_instances": "Instances of a role that are up.",
    "lambda_max_requests_per_second": "The most that is sustained at the t in force, and at the recommended one.",
    "predicted_egress_bits_per_second": "Egress by the formulas at the present load.",
    "predicted_ttft_mean_seconds": "Mean TTFT by the formulas at the present load.",
    "profile_drift_ratio": "Observed over predicted by the profile: seconds of prefill by route, bytes of KVCache.",
    "link_egress_bits_per_second": "What is sent into a link.",
    "link_capacity_bits_per_second": "What a link carries at most.",
    "offload_ratio": "Share of the requests that are prefilled remotely.",
    "source_last_seen_timestamp_seconds": "When something of a source was stored last, in Unix time.",
}
LABELS: dict[str, tuple[str, ...]] = {
    "snapshot_timestamp_seconds": (),
    "recommendation_info": ("watch", "objective", "reason"),
    "best_threshold_tokens": ("watch", "objective"),
    "predicted_egress_bits_per_second": ("watch", "at"),
    "predicted_ttft_mean_seconds": ("watch", "at"),
    "profile_drift_ratio": ("watch", "what"),
    "recommended_instances": ("watch", "role"),
    "current_instances": ("watch", "role"),
    "lambda_max_requests_per_second": ("watch", "at"),
    "link_egress_bits_per_second": ("watch", "link"),
    "link_capacity_bits_per_second": ("watch", "link"),
    "source_last_seen_timestamp_seconds": ("source",),
}

type Sample = tuple[str, tuple[str, ...], float]


class Told(Collector):
    """Reads the newest snapshot whenever it is collected."""

    def collect(self) -> Iterator[Metric]:
        """One family a quantity; those of which nothing is known have no sample."""
        families = {
            name: GaugeMetricFamily(f"{PREFIX}_{name}", said, labels=LABELS.get(name, ("watch",)))
            for name, said in HELP.items()
        }
        for name, labels, value in _samples(latest(round(time.time() * 1000))):
            families[name].add_metric(labels, value)
        yield from families.values()


def page(accept: str) -> tuple[bytes, str]:
    """The page, and its content type, in the format that the asker prefers."""
    encode, content_type = choose_encoder(accept)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Told())
    return encode(registry), content_type


def _samples(now: Now) -> Iterator[Sample]:
    for name, seen_ms in Source.objects.values_list("name", "last_seen_ms"):
        if seen_ms is not None:
            yield "source_last_seen_timestamp_seconds", (name,), seen_ms / 1000
    if now.snapshot is None:
        return
    yield "snapshot_timestamp_seconds", (), now.snapshot.ts_ms / 1000
    for watch in now.snapshot.watches:
        if watch.advice is not None:
            yield from _advised(watch.name, watch.advice, is_fresh=now.is_fresh)
        if now.is_fresh:
            yield from _measured(watch)


def _advised(watch: str, advice: AdviceNow, *, is_fresh: bool) -> Iterator[Sample]:
    is_valid = advice.is_valid and is_fresh
    yield "recommendation_timestamp_seconds", (watch,), advice.at_ms / 1000
    yield "recommendation_valid", (watch,), float(is_valid)
    if not is_fresh:
        return
    yield "recommendation_info", (watch, advice.objective, advice.reason), 1.0
    yield from _predicted(watch, advice, "current")
    for drift in advice.drift:
        yield "profile_drift_ratio", (watch, drift.what), drift.ratio
    if is_valid:
        yield from _recommended(watch, advice)


def _recommended(watch: str, advice: AdviceNow) -> Iterator[Sample]:
    yield from _known("recommended_threshold_tokens", (watch,), advice.threshold_tokens)
    yield from _known("recommendation_confidence", (watch,), advice.confidence)
    yield from _known("best_threshold_low_tokens", (watch,), advice.threshold_low)
    yield from _known("best_threshold_high_tokens", (watch,), advice.threshold_high)
    for objective, target in advice.objectives.items():
        yield from _known("best_threshold_tokens", (watch, objective), target.threshold_tokens)
    for role, count in sorted(advice.instances.items()):
        yield "recommended_instances", (watch, role), float(count)
    yield from _predicted(watch, advice, "recommended")


def _predicted(watch: str, advice: AdviceNow, at: str) -> Iterator[Sample]:
    """What follows from the t in force, or from the recommended one."""
    pairs = {
        "lambda_max_requests_per_second": advice.lambda_max_rps,
        "predicted_egress_bits_per_second": advice.egress_bps,
        "predicted_ttft_mean_seconds": advice.ttft_mean_s,
    }
    for name, pair in pairs.items():
        yield from _known(name, (watch, at), getattr(pair, at))


def _known(name: str, labels: tuple[str, ...], value: float | None) -> Iterator[Sample]:
    if value is not None:
        yield name, labels, value


def _measured(watch: WatchNow) -> Iterator[Sample]:
    yield from _of("current_threshold_tokens", (watch.name,), watch.threshold_tokens)
    yield from _of("offload_ratio", (watch.name,), watch.offload)
    for role in watch.roles:
        yield from _of("current_instances", (watch.name, role.role), role.instances)
    for link in watch.links:
        yield from _of("link_egress_bits_per_second", (watch.name, link.name), link.egress_bps)
        yield from _of("link_capacity_bits_per_second", (watch.name, link.name), link.capacity_bps)


def _of(name: str, labels: tuple[str, ...], value: Value | Current) -> Iterator[Sample]:
    """What was entered by hand holds until it is entered anew; what telemetry tells, while it is live."""
    is_entered = isinstance(value, Current) and value.origin == "entered"
    if value.value is not None and (is_entered or value.age == "live"):
        yield name, labels, value.value
