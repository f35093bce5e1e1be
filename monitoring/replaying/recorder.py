"""A recording of what is stored: rates, lengths, link, t and instances of a window, from the rollups."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from monitoring.models import Series
from monitoring.recording import MOST_INTERVALS, Buckets, Link, Recording, RecordingError, summed
from monitoring.signals import OWN_SOURCE
from monitoring.storage import query
from monitoring.storage.rollups import MS, RESOLUTIONS_S

ROUTES = ("local", "remote")
ROLES = ("prfaas", "prefill", "decode")
STAGES = ("prefill", "transfer", "decode")
ROUTER = "router"

type Over = list[float | None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A window, and of which link and clusters where there are several; `interval_s` is one of the rollups'."""

    start_ms: int
    end_ms: int
    interval_s: int = RESOLUTIONS_S[0]
    link: str | None = None
    clusters: tuple[str, ...] = ()
    """Only what is of these, or of none; empty: of any."""
    links: tuple[str, ...] = ()
    """Those that may be meant; empty: all that are measured."""
    watch: str | None = None
    """Whose recommendations are recorded too."""
    notes: list[str] = field(default_factory=list)

    @property
    def window(self) -> query.Window:
        """In whole intervals."""
        step_ms = self.interval_s * MS
        return query.Window(self.start_ms // step_ms * step_ms, self.end_ms, step_ms, self.interval_s)

    @property
    def intervals(self) -> int:
        """Of the window."""
        return -(-(self.window.end_ms - self.window.start_ms) // self.window.step_ms)


def taken(wanted: Wanted) -> Recording:
    """What was recorded. Raises RecordingError on a window that is too long, and where there are several links."""
    if not 0 < wanted.intervals <= MOST_INTERVALS:
        raise RecordingError(f"start: a recording has 1 to {MOST_INTERVALS:,} intervals, got {wanted.intervals:,}")
    requests = _chosen("requests", wanted)
    routers = {each.source.pk for each in requests if each.labels.get("role") == ROUTER}
    lengths, ttft = _chosen("uncached_tokens", wanted), _chosen("ttft_s", wanted)
    thresholds = _chosen("threshold_tokens", wanted)
    instances, queued = _chosen("instances", wanted, routers), _chosen("queued_requests", wanted, routers)
    link = _link(wanted)
    used = {each.source.name for each in (*requests, *lengths, *ttft, *thresholds, *instances, *queued)}
    return Recording(
        start_ms=wanted.window.start_ms,
        interval_s=wanted.interval_s,
        requests_rps={route: _sum(_with(requests, "route", route), wanted) for route in ROUTES},  # type: ignore[misc]
        uncached_tokens=_buckets(lengths, wanted),  # type: ignore[arg-type]
        ttft_s=_buckets(ttft, wanted),  # type: ignore[arg-type]
        link=link,
        threshold_tokens=_mean(thresholds, wanted),
        recommended_threshold_tokens=_recommended(wanted),
        instances=_by("role", ROLES, instances, wanted),  # type: ignore[arg-type]
        queued_requests=_by("stage", STAGES, queued, wanted),  # type: ignore[arg-type]
        sources=sorted(used),
        notes=wanted.notes,
    )


def _chosen(signal: str, wanted: Wanted, routers: Collection[int] = ()) -> list[Series]:
    """The series of a signal: those of a router if there are any, or engines would tell the same requests again.

    `routers` are sources that tell of other roles what a router knows of them.
    """
    found = [each for each in query.matching(signal, {}) if _is_of(each, wanted.clusters)]
    told = [each for each in found if each.labels.get("role") == ROUTER or each.source.pk in routers]
    return told or found


def _is_of(series: Series, clusters: Collection[str]) -> bool:
    return not clusters or series.labels.get("cluster") in (None, *clusters)


def _with(series: Iterable[Series], label: str, value: str) -> list[Series]:
    return [each for each in series if each.labels.get(label) == value]


def _over(series: Series, wanted: Wanted) -> Over:
    """One value an interval."""
    found: Over = [None] * wanted.intervals
    line = query.lines([series], wanted.window)[0]
    for ts_ms, value in zip(line.ts_ms, line.mean, strict=True):
        if value is not None:
            found[(ts_ms - wanted.window.start_ms) // wanted.window.step_ms] = value
    return found


def _sum(series: Sequence[Series], wanted: Wanted) -> Over:
    """As `summed`; null all over where nothing was measured."""
    return summed([_over(each, wanted) for each in series]) or [None] * wanted.intervals


def _mean(series: Sequence[Series], wanted: Wanted) -> Over:
    """Of those that were measured; null where none was."""
    rows = zip(*(_over(each, wanted) for each in series), strict=True)
    told = [[value for value in row if value is not None] for row in rows]
    return [float(np.mean(row)) if row else None for row in told] or [None] * wanted.intervals


def _recommended(wanted: Wanted) -> Over:
    """Empty where nothing was recommended.

    What is recommended is told every ten seconds or a little more: a single interval that it missed has the one before.
    """
    if wanted.watch is None:
        return []
    tokens, validity = (
        _mean(query.matching(signal, {"watch": wanted.watch}, [OWN_SOURCE]), wanted)
        for signal in ("recommended_threshold_tokens", "recommendation_valid")
    )
    if all(value is None for value in tokens):
        return []
    if wanted.interval_s == RESOLUTIONS_S[0]:
        for at in range(1, len(tokens) - 1):
            if tokens[at] is None and validity[at] is None and validity[at + 1] is not None:
                tokens[at] = tokens[at - 1]
    return tokens


def _by(label: str, values: Sequence[str], series: Sequence[Series], wanted: Wanted) -> dict[str, Over]:
    """Sums by what a label says, of what was measured."""
    found = {value: _sum(some, wanted) for value in values if (some := _with(series, label, value))}
    return {value: over for value, over in found.items() if any(each is not None for each in over)}


def _buckets(series: Sequence[Series], wanted: Wanted) -> dict[str, Buckets]:
    """By route, of the whole window. Of histograms with other bounds those that have the most are taken."""
    found = {}
    for route in ROUTES:
        sums: dict[tuple[float, ...], np.ndarray] = {}
        for line in query.lines(_with(series, "route", route), wanted.window):
            bounds = tuple(line.series.bounds or ())
            sums[bounds] = sums.get(bounds, np.zeros(len(bounds) + 1)) + line.counts
        sums = {bounds: counts for bounds, counts in sums.items() if bounds and counts.sum() > 0}
        if len(sums) > 1:
            wanted.notes.append(f"{series[0].signal}: {route} has histograms of different bounds; the fullest is taken")
        if sums:
            bounds, counts = max(sums.items(), key=lambda item: float(item[1].sum()))
            found[route] = Buckets(bounds=list(bounds), counts=counts.tolist())
    return found


def _link(wanted: Wanted) -> Link | None:
    """The link that is wanted, or the only one. Raises RecordingError."""
    capacity, egress = (query.matching(name, {}) for name in ("link_capacity_bps", "link_egress_bits"))
    names = sorted({each.labels["link"] for each in (*capacity, *egress) if each.labels.get("link")})
    names = [name for name in names if not wanted.links or name in wanted.links]
    if wanted.link is None and not names:
        return None
    if wanted.link is None and len(names) > 1:
        raise RecordingError(f"link: must be one of {', '.join(names)}")
    name = wanted.link or names[0]
    if name not in names:
        raise RecordingError(f"link: {name[:60]} was not measured; known: {', '.join(names) or 'none'}")
    return Link(
        name=name,
        capacity_bps=_mean(_with(capacity, "link", name), wanted),
        egress_bps=_sum(_with(egress, "link", name), wanted),
        resent_fraction=_resent(name, wanted),
    )


def _resent(link: str, wanted: Wanted) -> Over:
    """Segments sent again, of those sent; empty where nobody counts them by link."""
    again, sent = (
        _with(query.matching(signal, {}), "link", link) for signal in ("retransmitted_segments", "sent_segments")
    )
    if not again or not sent:
        return []
    pairs = zip(_sum(again, wanted), _sum(sent, wanted), strict=True)
    return [part / whole if part is not None and whole else None for part, whole in pairs]
