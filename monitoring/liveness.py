"""In what state a source is, by when something of it came last."""

from __future__ import annotations

from typing import Literal

from monitoring.models import Source

STALE_AFTER_MS = 30_000
"""What was seen so long ago is stale: its values are shown with their age."""
ABSENT_AFTER_MS = 5 * 60_000
"""What was seen so long ago counts as absent: its values are shown no more."""

type State = Literal["disabled", "never", "live", "stale", "absent"]
STATES: dict[State, str] = {
    "disabled": "nothing is taken from it",
    "never": "nothing has come yet",
    "live": f"seen within the last {STALE_AFTER_MS // 1000} s",
    "stale": f"not seen for {STALE_AFTER_MS // 1000} s",
    "absent": f"not seen for {ABSENT_AFTER_MS // 60_000} min",
}
"""What each state says."""


def state(source: Source, now_ms: int) -> State:
    """By when something of it was committed last."""
    if not source.enabled:
        return "disabled"
    age = age_ms(source, now_ms)
    if age is None:
        return "never"
    if age < STALE_AFTER_MS:
        return "live"
    return "stale" if age < ABSENT_AFTER_MS else "absent"


def age_ms(source: Source, now_ms: int) -> int | None:
    """Since when nothing of it was committed; none where nothing ever was."""
    return None if source.last_seen_ms is None else max(0, now_ms - source.last_seen_ms)
