"""A recorded window over its time, as the charts draw it: what was measured, and each simulation of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from monitoring.recording import Recording, summed

type Document = dict[str, Any]
type Over = Sequence[float | None]

MOST_BINS = 256
"""As many as a simulation has."""
SOURCE = "the weakest kind of figure that it rests on"


def recorded(recording: Recording) -> Document:
    """What was measured alone."""
    many = math.ceil(recording.intervals / MOST_BINS)
    return {
        "start_ms": recording.start_ms,
        "duration_s": recording.duration_s,
        "measured": _measured(recording, many),
        "runs": [],
        "provenance": {"kind": "measured", "source": f"telemetry of {', '.join(recording.sources) or 'no source'}"},
    }


def simulated(recording: Recording, result: Mapping[str, Any]) -> Document:
    """Beside the simulations of a result, in steps as wide as the first one's."""
    bin_s = result["runs"][0]["series"]["bin_s"]
    many = max(1, round(bin_s / recording.interval_s))
    return recorded(recording) | {
        "measured": _measured(recording, many),
        "runs": [_run(each) for each in result["runs"]],
        "replications": result["replications"],
        "provenance": {"kind": result["provenance"], "source": SOURCE},
    }


def _run(found: Mapping[str, Any]) -> Document:
    return {
        "title": found["title"],
        "bin_s": found["series"]["bin_s"],
        "egress_bps": found["bands"]["egress_bps"],
        "waiting": found["bands"]["waiting"],
        "threshold_tokens": found["series"]["threshold_tokens"],
    }


def _measured(recording: Recording, many: int) -> Document:
    link = recording.link
    lines: dict[str, Over] = {
        "rate_rps": recording.rates_rps,
        "egress_bps": link.egress_bps if link else [],
        "capacity_bps": link.capacity_bps if link else [],
        "waiting": summed(list(recording.queued_requests.values())),
        "threshold_tokens": recording.threshold_tokens,
        "recommended_threshold_tokens": recording.recommended_threshold_tokens,
        "resent_fraction": link.resent_fraction if link else [],
    }
    return {"step_s": many * recording.interval_s, **{name: _widened(values, many) for name, values in lines.items()}}


def _widened(values: Over, many: int) -> list[float | None] | None:
    """Means of so many neighbours, of those that were measured; None where nothing was."""
    if all(value is None for value in values):
        return None
    parts = (values[at : at + many] for at in range(0, len(values), many))
    told = [[value for value in part if value is not None] for part in parts]
    return [sum(part) / len(part) if part else None for part in told]
