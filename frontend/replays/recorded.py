"""What was recorded in a window, as people read it before they replay it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from frontend import figures, words
from frontend.replays import course
from frontend.replays.answer import moment
from monitoring.replaying.asking import Replay, Window

type Document = Mapping[str, Any]

PRESETS = {"-15m": "15 min", "-1h": "1 hour", "-6h": "6 hours", "-1d": "1 day", "-7d": "7 days"}
"""How long ago a window may begin at a click."""
ROLES = {"prfaas": "PrfaaS instances", "prefill": "Prefill instances, N_p", "decode": "Decode instances, N_d"}


@dataclass(frozen=True, slots=True)
class Row:
    """A quantity of the window, or why there is none."""

    label: str
    unit: str
    value: str
    said: str = ""


def shown(asked: Window, replay: Replay) -> dict[str, Any]:
    """What the page has of a window that can be replayed."""
    recording, measured = replay.recording, replay.document["measured"]
    return {
        "begin": moment(recording.start_ms),
        "end": moment(recording.start_ms + round(1000 * recording.duration_s)),
        "rows": list(rows(measured)),
        "notes": replay.document["notes"],
        "sources": recording.sources,
        "chart": course.recorded(recording),
    }


def rows(measured: Document) -> Iterator[Row]:
    """Each as it was measured; a dash where it was not."""
    gaps = measured["not_measured"]
    said = f"{gaps:,} of {measured['intervals']:,} intervals of {measured['interval_s']} s were not measured"
    yield Row("Requests", "", f"{measured['requests']:,}", said if gaps else "")
    yield Row("Rate, mean", "req/s", figures.rate(measured["rate_rps"]))
    yield Row("Offloaded requests, p", "%", figures.percent(measured["offload_fraction"]))
    yield Row("Threshold t", "tokens", _spread(measured["threshold_tokens"], figures.tokens))
    if advised := measured["recommended_threshold_tokens"]:
        said = f"in {figures.percent(measured['recommended_share'])} % of the window"
        yield Row("Recommended t", "tokens", _spread(advised, figures.tokens), said)
    for route, title in (("all", "all"), *words.ROUTES.items()):
        if told := measured["uncached_tokens"].get(route):
            yield Row(f"Uncached length, {title}: P50, P90", "tokens", _percentiles(told, figures.tokens))
    yield Row("Egress, mean", "Gbps", figures.gbps(measured["egress_bps"]), measured["link"] or "no link was measured")
    yield Row("Link carries", "Gbps", _spread(measured["capacity_bps"], figures.gbps))
    if measured["resent_fraction"] is not None:
        yield Row("Sent again", "%", figures.rounded(100 * measured["resent_fraction"], 3))
    yield Row("Requests that wait", "", _spread(measured["waiting"], _one))
    for route, title in (("all", "all"), *words.ROUTES.items()):
        if told := measured["ttft_s"].get(route):
            yield Row(f"TTFT, {title}: P50, P90, P99", "s", _percentiles(told, figures.seconds, ("p50", "p90", "p99")))
    for role, title in ROLES.items():
        yield Row(title, "", _spread(measured["instances"].get(role), figures.tokens))


def _one(value: float | None) -> str:
    return figures.NONE if value is None else figures.rounded(value, 1)


def _spread(told: Document | None, write: Any) -> str:
    """One value where it stood, else from the least to the most."""
    if not told:
        return figures.NONE
    least, most = write(told["least"]), write(told["most"])
    return str(least) if least == most else f"{least} to {most}"


def _percentiles(told: Document, write: Any, names: tuple[str, ...] = ("p50", "p90")) -> str:
    found = [told[name] for name in names]
    return " / ".join(f"> {write(each['low'])}" if each["value"] is None else write(each["value"]) for each in found)
