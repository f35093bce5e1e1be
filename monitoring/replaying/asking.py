"""What somebody asks of a watch's past: a window, read as it was recorded, and the replay of it as a document."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from monitoring.models import Watch
from monitoring.recording import Recording, RecordingError, measured, simulation
from monitoring.replaying.measured import measured as figures
from monitoring.replaying.recommended import recommended
from monitoring.replaying.recorder import Wanted, taken
from monitoring.storage.retention import DAY_MS, KEPT_DAYS
from monitoring.storage.rollups import MS, RESOLUTIONS_S

MOST_INTERVALS = 10_000
"""Of a window that is replayed: each is an arrival rate, a capacity and a t in every simulation."""
AGO = re.compile(r"^-(\d{1,6})(s|m|h|d)$")
UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
LATEST_MS = 10**14
FIELDS = ("start", "end", "link", "cluster", "policies", "replications", "seed")
OTHERWISE: dict[str, Any] = {
    "policies": [{"policy": "bandwidth_aware"}, {"policy": "advised"}],
    "replications": 5,
    "seed": 1,
}
MOMENT = "epoch milliseconds, ago as -15m, -6h or -2d, or a time as 2026-11-29T10:00Z"


class Refused(ValueError):
    """What was asked cannot be: which field, as it was given, and what is allowed."""

    def __init__(self, where: str, value: Any, message: str) -> None:
        super().__init__(f"{where}: {message}")
        self.where, self.value, self.message = where, value, message


@dataclass(frozen=True, slots=True)
class Window:
    """Of a watch, from `start_ms` up to `end_ms`; link and cluster where it has several."""

    watch: Watch
    start_ms: int
    end_ms: int
    link: str | None = None
    cluster: str | None = None


@dataclass(frozen=True, slots=True)
class Replay:
    """The document of a replay, for `planner.simulating.replayed.replay_job`, and what was recorded."""

    document: dict[str, Any]
    recording: Recording = field(repr=False)


def window(watch: Watch, given: Mapping[str, Any], now_ms: int) -> Window:
    """The window that is asked for; by default the last hour. Raises Refused."""
    end_ms = moment("end", given.get("end"), now_ms, now_ms)
    start_ms = moment("start", given.get("start"), now_ms, end_ms - 3_600_000)
    if start_ms >= end_ms:
        raise Refused("start", given.get("start"), "must be before end")
    link, cluster = (_name(name, given.get(name)) for name in ("link", "cluster"))
    if cluster and watch.clusters and cluster not in watch.clusters:
        raise Refused("cluster", cluster, f"must be one of {', '.join(watch.clusters)}")
    return Window(watch, start_ms, min(end_ms, now_ms), link, cluster)


def moment(where: str, given: Any, now_ms: int, otherwise: int) -> int:
    """In epoch milliseconds. Raises Refused."""
    if given is None or given == "":
        return otherwise
    text = str(given).strip()
    if ago := AGO.match(text):
        return max(0, now_ms - int(ago[1]) * UNITS_S[ago[2]] * MS)
    if isinstance(given, bool) or not isinstance(given, int | str):
        raise Refused(where, given, f"must be {MOMENT}")
    if text.isascii() and text.isdigit() and int(text[:20]) < LATEST_MS:
        return int(text)
    return _of_calendar(where, text)


def _of_calendar(where: str, text: str) -> int:
    try:
        at = datetime.fromisoformat(text)
        found = round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * MS)
    except (ValueError, OverflowError):
        found = -1
    if not 0 <= found < LATEST_MS:
        raise Refused(where, text[:60], f"must be {MOMENT}")
    return found


def _name(where: str, given: Any) -> str | None:
    if given is None or given == "":
        return None
    if not isinstance(given, str) or len(given) > 200:
        raise Refused(where, given, "must be a name")
    return given


def recorded(asked: Window, now_ms: int) -> Recording:
    """What was measured, at the finest resolution that is still kept. Raises Refused where nothing was."""
    clusters = (asked.cluster,) if asked.cluster else tuple(asked.watch.clusters)
    interval_s = _interval_s(asked, now_ms)
    wanted = Wanted(
        asked.start_ms, asked.end_ms, interval_s, asked.link, clusters, tuple(asked.watch.links), asked.watch.name
    )
    try:
        return measured(taken(wanted))
    except RecordingError as problem:
        raise _refused(problem, asked) from problem


def _interval_s(asked: Window, now_ms: int) -> int:
    """Raises Refused of a window that is too long, or of which nothing is kept any more."""
    kept = [each for each in RESOLUTIONS_S if asked.start_ms >= now_ms - KEPT_DAYS[each] * DAY_MS]
    if not kept:
        days = max(KEPT_DAYS[each] for each in RESOLUTIONS_S)
        raise Refused("start", asked.start_ms, f"must be within the last {days} days: nothing older is kept")
    for each in kept:
        if asked.end_ms - asked.start_ms <= MOST_INTERVALS * each * MS:
            return each
    days = MOST_INTERVALS * kept[-1] // 86_400
    raise Refused("end", asked.end_ms, f"is too long after start: a window has at most {days} days")


def _refused(problem: RecordingError, asked: Window) -> Refused:
    where, _, said = str(problem).partition(": ")
    if where == "link":
        return Refused("link", asked.link, said)
    return Refused("start", asked.start_ms, f"{where}: {said}")


def document(asked: Window, recording: Recording, scenario: Mapping[str, Any], given: Mapping[str, Any]) -> Replay:
    """The replay of a recorded window in a scenario's complete document. Raises Refused."""
    try:
        converted = simulation(recording, scenario)
    except RecordingError as problem:
        raise _refused(problem, asked) from problem
    told = OTHERWISE | {name: given[name] for name in OTHERWISE if given.get(name) is not None}
    simulated = converted.document | {"replications": told["replications"], "seed": told["seed"]}
    notes = [*recording.notes, *converted.notes, *_assumed(recording)]
    return Replay(
        {
            "simulation": simulated,
            "policies": told["policies"],
            "headroom": asked.watch.headroom,
            "recommended": recommended(recording, scenario),
            "watch": asked.watch.name,
            "start_ms": recording.start_ms,
            "measured": figures(recording),
            "recording": recording.model_dump(),
            "notes": notes,
        },
        recording,
    )


def _assumed(recording: Recording) -> list[str]:
    """What every replay takes for granted, and what is missing of this one."""
    found = [
        "arrivals: as many as recorded on average in each interval, at random within it",
        "beginning: the simulation begins with nothing in the system; measured TTFT is of requests whose first token "
        "came in the window, simulated TTFT of those that arrived in it",
        "answers, decode and prefix caches: as the watch's scenario has them; nothing of them is read from telemetry",
    ]
    if not recording.ttft_s:
        found.append("ttft_s: was not measured, so that the simulation cannot be held against it")
    if not recording.threshold_tokens or all(value is None for value in recording.threshold_tokens):
        found.append("threshold_tokens: was not measured; the scenario's is taken")
    if not recording.instances:
        found.append("instances: were not measured; the scenario's are taken")
    if recording.link is None:
        found.append("link: was not measured; the scenario's is taken")
    elif all(value is None for value in recording.link.capacity_bps):
        found.append("link.capacity_bps: was not measured; the scenario's is taken")
    return found
