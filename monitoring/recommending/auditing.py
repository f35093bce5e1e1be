"""The audit log: a row whenever what is recommended changes, and every ten minutes while it does not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.conf import settings

from monitoring.models import Recommendation
from monitoring.recommending.observing import plain

AT_LEAST_EVERY_MS = 10 * 60_000
AT_MOST_EVERY_MS = 5_000
"""However often it changes to and fro; what it is then is compared with what was written last."""
MATERIAL = 1.02
"""Ratio of two thresholds that are not the same; the rule moves t by larger ones."""
KEPT_MS = 400 * 86_400_000
"""As long as the coarsest rollups of what was measured."""
CHUNK = 5_000


@dataclass(slots=True)
class Entry:
    """What may be written of a moment."""

    at_ms: int
    reason: str
    sentence: str
    problems: list[dict[str, str]]
    current: dict[str, Any]
    recommended: dict[str, Any]
    inputs: dict[str, Any]
    carried: dict[str, Any] = field(default_factory=dict)

    @property
    def is_valid(self) -> bool:
        """Whether anything is recommended."""
        return not self.problems


def latest(watch: str) -> Recommendation | None:
    """The last row of a watch of this name, by whichever process."""
    return Recommendation.objects.filter(watch=watch).order_by("-at_ms", "-pk").first()


def is_due(entry: Entry, last: Recommendation | None) -> bool:
    """Whether a row is to be written, by what was written last."""
    if last is None or last.at_ms > entry.at_ms:
        return True
    since_ms = entry.at_ms - last.at_ms
    if since_ms < AT_MOST_EVERY_MS:
        return False
    return since_ms >= AT_LEAST_EVERY_MS or differs(entry, last)


def differs(entry: Entry, last: Recommendation) -> bool:
    """Whether somebody who acts on it would act otherwise: by reason, validity, split or t."""
    if (entry.reason, entry.is_valid) != (last.reason, last.is_valid):
        return True
    if _codes(entry.problems) != _codes(last.problems):
        return True
    if entry.recommended.get("instances") != last.recommended.get("instances"):
        return True
    return _moved(entry.recommended.get("threshold_tokens"), last.recommended.get("threshold_tokens"))


def _codes(problems: list[dict[str, str]]) -> list[str]:
    return sorted(each["code"] for each in problems)


def _moved(one: float | None, other: float | None) -> bool:
    if one is None or other is None or min(one, other) <= 0:
        return one != other
    return max(one, other) / min(one, other) > MATERIAL


def write(watch: str, entry: Entry) -> Recommendation:
    """Stores a row, with the version of the code that recommended it."""
    return Recommendation.objects.create(
        watch=watch,
        at_ms=entry.at_ms,
        reason=entry.reason,
        sentence=entry.sentence,
        is_valid=entry.is_valid,
        problems=entry.problems,
        current=plain(entry.current),
        recommended=plain(entry.recommended),
        inputs=plain({**entry.inputs, "version": settings.VERSION}),
        carried=plain(entry.carried),
    )


def expire(now_ms: int) -> int:
    """Deletes a chunk of what is kept no longer; how many rows."""
    old = Recommendation.objects.filter(at_ms__lt=now_ms - KEPT_MS).order_by("at_ms").values_list("pk", flat=True)
    return Recommendation.objects.filter(pk__in=list(old[:CHUNK])).delete()[0]
