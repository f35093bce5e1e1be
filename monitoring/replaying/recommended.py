"""The t that was recommended in a window, as whoever had followed each advice when it was given would have set it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from monitoring.recording import Recording


def recommended(recording: Recording, scenario: Mapping[str, Any]) -> dict[str, Any] | None:
    """Interval by interval, with the share of the intervals in which anything was recommended; None where in none was.

    Where nothing was, the t before is kept: it was followed, and nobody said another. Before the first advice it is the
    recorded one, or the scenario's where that was not measured either.
    """
    told = recording.recommended_threshold_tokens
    known = sum(value is not None for value in told)
    if not known:
        return None
    last = scenario["routing"].get("threshold_tokens")
    is_followed, tokens = False, []
    for at, value in enumerate(told):
        is_followed = is_followed or value is not None
        now = value if is_followed else _recorded(recording, at)
        last = last if now is None else now
        tokens.append(last)
    first = next(value for value in tokens if value is not None)
    filled = [first if value is None else value for value in tokens]
    return {"interval_s": recording.interval_s, "tokens": filled, "share": known / len(told)}


def _recorded(recording: Recording, at: int) -> float | None:
    return recording.threshold_tokens[at] if recording.threshold_tokens else None
