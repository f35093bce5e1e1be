"""A day as it is sent: each source by itself, in time, by its own door."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from monitoring.replaying.day import Day
from monitoring.replaying.emulated import Emulated
from monitoring.replaying.pace import MS, Pace
from monitoring.replaying.sending import Framed, Paged, Pushed, Rejected, Sender, serve_pages

logger = logging.getLogger(__name__)

DOORS = {
    "router": "envelope",
    "prfaas": "otlp",
    "pd-prefill": "page",
    "pd-decode": "page",
    "gateway": "remote_write",
}
"""By which each source is known to speak; what has a page writes, as a Prometheus before it would, where nobody comes
for it."""
MOST_AT_ONCE = 60
"""Samples of one message, of a source that has fallen behind."""


@dataclass(frozen=True, slots=True)
class Pages:
    """Where pages are served that the server comes for."""

    host: str
    port: int


def door(source: str, pages: Pages | None) -> str:
    """By which a source sends."""
    return "remote_write" if DOORS[source] == "page" and pages is None else DOORS[source]


async def play(
    sources: Sequence[Emulated], day: Day, pace: Pace, url: str, tokens: Mapping[str, str], pages: Pages | None
) -> dict[str, str]:
    """Until the day is over; of sources that the server refuses, why it does, by name."""
    senders = {each.name: _sender(door(each.name, pages), url, tokens.get(each.name, "")) for each in sources}
    served = {name: sender for name, sender in senders.items() if isinstance(sender, Paged)}
    server = await serve_pages(served, pages.host, pages.port) if pages and served else None
    begun_s = time.monotonic()
    try:
        plays = [_play_one(each, senders[each.name], day, pace, begun_s) for each in sources]
        failed = await asyncio.gather(*plays)
    finally:
        if server is not None:
            server.close()
    return {source.name: reason for source, reason in zip(sources, failed, strict=True) if reason}


def _sender(kind: str, url: str, token: str) -> Sender:
    if kind == "page":
        return Paged()
    return Framed(url, token) if kind == "envelope" else Pushed(kind, url, token)


async def _play_one(source: Emulated, sender: Sender, day: Day, pace: Pace, begun_s: float) -> str:
    """Why it ended before the day was over; empty where it did not."""
    at = 0
    steps = list(pace.steps(day.duration_s))
    try:
        while at < len(steps):
            passed_s = time.monotonic() - begun_s
            await asyncio.sleep(pace.wall_s(steps[at]) - passed_s)
            batch = next(batches(source.name, steps[at:], day, pace, time.monotonic() - begun_s))
            at += len(batch)
            await _send(source, sender, batch, day, pace)
        await sender.close()
    except Rejected as problem:
        logger.warning("%s: %s", source.name, problem)
        return str(problem)
    return ""


async def _send(source: Emulated, sender: Sender, batch: list[float], day: Day, pace: Pace) -> None:
    if day.is_silent(source.name, batch[0]):
        if isinstance(sender, Paged):
            await sender.close()
        return
    started_s = day.started_s(source.name, batch[0])
    await sender.send(source.readings(batch, started_s, pace), round(time.time() * MS))


def batches(source: str, steps: Sequence[float], day: Day, pace: Pace, passed_s: float) -> Iterator[list[float]]:
    """Steps that are due, as many as may go into one message: all of one life of the source, or all in its silence."""
    batch: list[float] = []
    for step in steps:
        if batch and (
            len(batch) >= MOST_AT_ONCE or pace.wall_s(step) > passed_s or not _alike(source, batch[0], step, day)
        ):
            yield batch
            batch = []
        batch.append(step)
    if batch:
        yield batch


def _alike(source: str, one_s: float, other_s: float, day: Day) -> bool:
    return day.started_s(source, one_s) == day.started_s(source, other_s) and (
        day.is_silent(source, one_s) == day.is_silent(source, other_s)
    )
