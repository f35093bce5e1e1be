"""Recordings: a window of what was measured, as one document, and the simulation that it makes of a scenario.

    {"schema_version": 1, "kind": "recording", "start_ms": 1790000000000, "interval_s": 10,
     "requests_rps": {"local": [1.2, null], "remote": [0.8, 0.9]},
     "uncached_tokens": {"local": {"bounds": [1000, 2000], "counts": [10, 4, 0]}, "remote": {…}},
     "ttft_s": {…}, "link": {"name": "wan", "capacity_bps": […], "egress_bps": […]},
     "threshold_tokens": […], "recommended_threshold_tokens": […],
     "instances": {"prfaas": […], "prefill": […], "decode": […]},
     "queued_requests": {"prefill": […], "transfer": […], "decode": […]}, "notes": [], "sources": []}

Every list over time has one value an interval, null where nothing was measured.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from planner.engine.curves import Array

KIND, SCHEMA_VERSION = "recording", 1
MOST_INTERVALS = 100_000
MOST_BYTES = 64 * 2**20
PARTS = 16
"""Lengths by which a bucket is stood for, evenly apart in their logarithm."""
WHOLE = 1_000_000
"""Requests that the lengths of a simulation are counted as: no more than a millionth is lost by rounding."""
LEAST_REQUESTS = 100

LINK_SERIES = ("capacity_bps", "egress_bps", "resent_fraction")

Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Over = Annotated[list[Amount | None], Field(max_length=MOST_INTERVALS)]
type Route = Literal["local", "remote"]
type Stage = Literal["prefill", "transfer", "decode"]
type Role = Literal["prfaas", "prefill", "decode"]


def summed(columns: Sequence[Sequence[float | None]]) -> list[float | None]:
    """Over time, of several; None where one of those that were ever measured is not: a sum with a hole would look like
    less traffic. Empty where nothing was measured."""
    known = [column for column in columns if any(value is not None for value in column)]
    found: list[float | None] = []
    for row in zip(*known, strict=True):
        told = [value for value in row if value is not None]
        found.append(sum(told) if len(told) == len(row) else None)
    return found


class RecordingError(ValueError):
    """A recording that is none, or of which nothing can be made. The text names the field and what is allowed."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Buckets(_Part):
    """Observations by upper bound; `counts` has one more, for those beyond the last."""

    bounds: Annotated[list[Amount], Field(min_length=1, max_length=1000)]
    counts: Annotated[list[Amount], Field(min_length=2, max_length=1001)]

    @model_validator(mode="after")
    def _fit(self) -> Self:
        if len(self.counts) != len(self.bounds) + 1:
            raise ValueError(f"counts must be one more than bounds, got {len(self.counts)} for {len(self.bounds)}")
        if any(low >= high for low, high in zip(self.bounds, self.bounds[1:], strict=False)):
            raise ValueError("bounds must rise")
        return self


class Link(_Part):
    """What the link could carry and did, in bit/s, and the share of what was sent that was sent again."""

    name: str
    capacity_bps: Over
    egress_bps: Over
    resent_fraction: Over = []


class Recording(_Part):
    """See the module."""

    schema_version: Literal[1] = 1
    kind: Literal["recording"] = "recording"
    start_ms: Annotated[int, Field(ge=0)]
    interval_s: Annotated[int, Field(ge=1, le=86_400)]
    requests_rps: dict[Route, Over]
    uncached_tokens: dict[Route, Buckets] = {}
    ttft_s: dict[Route, Buckets] = {}
    link: Link | None = None
    threshold_tokens: Over = []
    recommended_threshold_tokens: Over = []
    """Of the watch whose window it is; null where nothing was recommended."""
    instances: dict[Role, Over] = {}
    queued_requests: dict[Stage, Over] = {}
    """That wait: for prefill, for their KVCache to be across, for decode."""
    sources: list[str] = []
    notes: list[str] = []

    @property
    def intervals(self) -> int:
        """How many there are."""
        return max(map(len, self.requests_rps.values()), default=0)

    @property
    def duration_s(self) -> float:
        """Of all of it."""
        return float(self.intervals * self.interval_s)

    @property
    def rates_rps(self) -> list[float | None]:
        """Of all routes together, as `summed`."""
        return summed(list(self.requests_rps.values()))

    @model_validator(mode="after")
    def _is_even(self) -> Self:
        for name, values in self._over_time():
            if values and len(values) != self.intervals:
                raise ValueError(f"{name} has {len(values)} intervals; requests_rps has {self.intervals}")
        return self

    def _over_time(self) -> Iterator[tuple[str, list[float | None]]]:
        yield from ((f"requests_rps.{name}", values) for name, values in self.requests_rps.items())
        yield from ((f"instances.{name}", values) for name, values in self.instances.items())
        yield from ((f"queued_requests.{name}", values) for name, values in self.queued_requests.items())
        yield "threshold_tokens", self.threshold_tokens
        yield "recommended_threshold_tokens", self.recommended_threshold_tokens
        if self.link:
            yield from ((f"link.{name}", getattr(self.link, name)) for name in LINK_SERIES)


# --- reading -----------------------------------------------------------------------------------------------------


def is_one(name: str) -> bool:
    """Whether a file is there that says it is a recording."""
    path = Path(name)
    if not path.is_file() or path.stat().st_size > MOST_BYTES:
        return False
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.get("kind") == KIND


def read(name: str) -> Recording:
    """The recording of a file. Raises RecordingError."""
    try:
        return parse(json.loads(Path(name).read_text(encoding="utf-8")))
    except (OSError, json.JSONDecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise RecordingError(f"{name}: {problem}") from None


def parse(document: Any) -> Recording:
    """Raises RecordingError."""
    try:
        return Recording.model_validate(document)
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "recording"
        raise RecordingError(f"{place}: {str(first['input'])[:60]}: {first['msg'].lower()}") from None


def measured(recording: Recording) -> Recording:
    """From the first interval that has a rate to the last. Raises RecordingError where none has."""
    known = [at for at, value in enumerate(recording.rates_rps) if value is not None]
    if not known:
        raise RecordingError("requests_rps: no request was recorded; choose another window")
    some = slice(known[0], known[-1] + 1)
    link = recording.link
    cut = {
        "start_ms": recording.start_ms + known[0] * recording.interval_s * 1000,
        "requests_rps": {name: values[some] for name, values in recording.requests_rps.items()},
        "threshold_tokens": recording.threshold_tokens[some],
        "recommended_threshold_tokens": recording.recommended_threshold_tokens[some],
        "instances": {name: values[some] for name, values in recording.instances.items()},
        "queued_requests": {name: values[some] for name, values in recording.queued_requests.items()},
        "link": link and link.model_copy(update={name: getattr(link, name)[some] for name in LINK_SERIES}),
    }
    return recording.model_copy(update=cut)


# --- what a simulation of it is ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Converted:
    """The document of a simulation, and what was assumed where the recording does not say it."""

    document: dict[str, Any]
    notes: list[str]


def simulation(recording: Recording, scenario: Mapping[str, Any]) -> Converted:
    """A scenario's complete document under the recorded load, lengths, link, threshold and instances.

    Rates are those of each interval, lengths lie within the recorded buckets, the link carries what it was recorded to.
    The scenario keeps all else: curves, answers, decode. Raises RecordingError where rates or lengths are missing, or
    more was recorded to be remote than a scenario without PrfaaS can have.
    """
    notes: list[str] = []
    recording = measured(recording)
    rates = _filled("requests_rps", recording.rates_rps, notes)
    if rates is None or not rates.max() > 0:
        raise RecordingError("requests_rps: no request was recorded; choose another window")
    changed = deepcopy(dict(scenario))
    threshold = _threshold(recording, changed, notes)
    changed["traffic"] = changed["traffic"] | {
        "input_tokens": _lengths(recording, threshold, notes),
        "prefix": {"reuse": "none"},
        "arrivals": {"process": "recorded", "interval_s": recording.interval_s, "rate_rps": rates.tolist()},
        "rate_rps": None,
    }
    _set_instances(recording, changed, notes)
    mean_rps = float(rates.mean())
    document = {
        "scenario": changed,
        "rate_rps": mean_rps,
        "requests": max(LEAST_REQUESTS, round(mean_rps * recording.duration_s)),
        "warm_up": 0.0,
    }
    if threshold is None and (track := _track(recording, changed, notes)):
        document["threshold_track"] = track
    weather = _weather(recording, changed, notes)
    return Converted(document | ({"weather": weather} if weather else {}), notes)


def _filled(name: str, values: list[float | None], notes: list[str]) -> Array | None:
    """With what was not measured read off the straight line between what was; None where nothing was."""
    told = np.array([np.nan if value is None else value for value in values], float)
    known = np.flatnonzero(np.isfinite(told))
    if not known.size:
        return None
    if known.size < told.size:
        notes.append(f"{name}: {told.size - known.size} of {told.size} intervals were not measured, and are filled in")
    found: Array = np.interp(np.arange(told.size), known, told[known])
    return found


def _threshold(recording: Recording, changed: dict[str, Any], notes: list[str]) -> float | None:
    """The recorded t, or its median, which the scenario takes over; None where it moved or nobody told."""
    told = [value for value in recording.threshold_tokens if value is not None]
    if not told:
        return None
    if changed["routing"]["policy"] != "threshold":
        notes.append(f"threshold_tokens: the scenario's policy is {changed['routing']['policy']}: t is not taken over")
        return None
    middle = float(np.median(told))
    changed["routing"] = changed["routing"] | {"threshold_tokens": middle}
    return None if max(told) - min(told) > 1e-6 * middle else middle


def _track(recording: Recording, changed: dict[str, Any], notes: list[str]) -> dict[str, Any] | None:
    """t interval by interval, where it moved and lengths decide who goes where."""
    if changed["routing"]["policy"] != "threshold":
        return None
    tokens = _filled("threshold_tokens", recording.threshold_tokens, notes)
    if tokens is None:
        return None
    notes.append(f"threshold_tokens: moved from {tokens.min():,.0f} to {tokens.max():,.0f} tokens, and is followed")
    return {"interval_s": recording.interval_s, "tokens": tokens.tolist()}


def _lengths(recording: Recording, threshold: float | None, notes: list[str]) -> dict[str, Any]:
    """Empirical lengths: of each bucket some, evenly apart; those of a route on its side of a threshold that stood."""
    samples: list[float] = []
    counts: list[float] = []
    for route, buckets in recording.uncached_tokens.items():
        low, high = (0.0, threshold) if route == "local" else (threshold or 0.0, None)
        for least, most, count in _buckets(buckets):
            inside = max(least, low), most if high is None else min(most, high)
            # a request on the other side went there for another reason than its length
            least, most = inside if inside[0] < inside[1] else (least, most)
            samples += np.geomspace(least, most, 2 * PARTS + 1)[1::2].tolist()
            counts += [count / PARTS] * PARTS
    total = sum(counts)
    if not total > 0:
        raise RecordingError("uncached_tokens: no length was recorded; send its histogram, or choose another window")
    notes.append(_coarse(recording))
    whole = [round(count / total * WHOLE) for count in counts]
    kept = [(tokens, count) for tokens, count in zip(samples, whole, strict=True) if count > 0]
    return {"distribution": "empirical", "samples": [each[0] for each in kept], "counts": [each[1] for each in kept]}


def _buckets(buckets: Buckets) -> Iterator[tuple[float, float, float]]:
    """Least and most tokens of each that is not empty, and how many. The one without a bound is as wide as the last."""
    bounds = buckets.bounds
    last = bounds[-1] ** 2 / bounds[-2] if len(bounds) > 1 and bounds[-2] > 0 else 2 * bounds[-1]
    for least, most, count in zip([0.0, *bounds], [*bounds, last], buckets.counts, strict=True):
        if count > 0:
            yield max(least, min(1.0, most / 2)), most, count


def _coarse(recording: Recording) -> str:
    """How far a length may be from the one that stands for it."""
    ratios = [most / least for each in recording.uncached_tokens.values() for least, most, _ in _buckets(each)]
    return f"uncached_tokens: lengths are known to within their buckets, up to a factor of {max(ratios):.3g}"


def _set_instances(recording: Recording, changed: dict[str, Any], notes: list[str]) -> None:
    """The median of each role, where the scenario has such a cluster."""
    fields = {
        "prfaas": ("prfaas", "instances"),
        "prefill": ("pd", "prefill_instances"),
        "decode": ("pd", "decode_instances"),
    }
    for role, values in recording.instances.items():
        told = [value for value in values if value is not None]
        cluster = next((each for each in changed["clusters"] if each["role"] == fields[role][0]), None)
        if not told or cluster is None:
            continue
        cluster[fields[role][1]] = round(float(np.median(told)))
        if max(told) > min(told):
            notes.append(f"instances.{role}: from {min(told):g} to {max(told):g}; the median is taken")
    for cluster in changed["clusters"]:
        if cluster["role"] == "pd":
            cluster["instances"] = cluster["prefill_instances"] + cluster["decode_instances"]


def _weather(recording: Recording, changed: dict[str, Any], notes: list[str]) -> dict[str, Any] | None:
    """What the link carried at most, interval by interval; None where nobody told, or the scenario has no link."""
    if recording.link is None or not changed.get("links"):
        return None
    bps = _filled("link.capacity_bps", recording.link.capacity_bps, notes)
    return None if bps is None else {"recording": {"interval_s": recording.interval_s, "bps": bps.tolist()}}
