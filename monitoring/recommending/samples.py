"""Recommendations as samples of a source of our own, so that charts have their history."""

from __future__ import annotations

import time

from monitoring.inbox import Offer, commit
from monitoring.live.messages import AdviceNow, Snapshot
from monitoring.models import Source
from monitoring.readings import Point
from monitoring.signals import OWN_SOURCE
from monitoring.wire import Mapped

EVERY_MS = 10_000
"""As often as t may move."""


class Writing:
    """Commits what is recommended, by the way that all telemetry takes. One a process."""

    def __init__(self) -> None:
        self._written_ms = -EVERY_MS

    def __call__(self, snapshot: Snapshot) -> None:
        """Every ten seconds; where nothing is recommended that is all that is told, so that the lines have a gap."""
        if 0 <= snapshot.ts_ms - self._written_ms < EVERY_MS:
            return
        advices = {each.name: each.advice for each in snapshot.watches if each.advice is not None}
        if not advices:
            return
        self._written_ms = snapshot.ts_ms
        source, _ = Source.objects.get_or_create(name=OWN_SOURCE)
        if source.enabled:
            series = [each for name, advice in advices.items() for each in of_advice(name, advice)]
            commit([Offer(source.pk, round(time.time() * 1000), series)])


def of_advice(watch: str, advice: AdviceNow) -> list[Mapped]:
    """Whether anything is recommended; then t and instances, and Λ_max as it is. t in force is another signal."""
    validity = _gauge("recommendation_valid", float(advice.is_valid), advice.at_ms, watch=watch)
    found = [validity, *(_recommended(watch, advice) if advice.is_valid else [])]
    return [each for each in found if each is not None]


def _recommended(watch: str, advice: AdviceNow) -> list[Mapped | None]:
    found = [_gauge("recommended_threshold_tokens", advice.threshold_tokens, advice.at_ms, watch=watch)]
    found += [
        _gauge("recommended_instances", count, advice.at_ms, role=role, watch=watch)
        for role, count in sorted(advice.instances.items())
    ]
    found.append(_gauge("lambda_max_rps", advice.lambda_max_rps.current, advice.at_ms, watch=watch))
    return found


def _gauge(signal: str, value: float | None, ts_ms: int, **labels: str) -> Mapped | None:
    if value is None:
        return None
    return Mapped(signal, "gauge", tuple(sorted(labels.items())), (Point(ts_ms, float(value)),))
