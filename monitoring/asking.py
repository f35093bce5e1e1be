"""One scrape of a target, or one round of a server's queries: asked, read, and what was wrong."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from django.conf import settings

from monitoring.directory import Known
from monitoring.models import Fetched, Pull, Source
from monitoring.readings import Reading, Rejected
from monitoring.sources import promql, scrape
from monitoring.sources.fetching import Answer, Failed, Fetcher, NoAnswer
from monitoring.sources.promql import Query, Window

OWN = "prfaas"
"""The mapping of our own names, in which we say whether a source is up."""
TOKEN_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
LONGEST_TOKEN = 4096


@dataclass(frozen=True, slots=True)
class Asked:
    """A source that we ask, and how: not equal to the same one with anything of it changed."""

    known: Known
    url: str
    interval_s: float
    timeout_s: float
    bearer_token_file: str = ""
    queries: tuple[Query, ...] = ()
    """None: the address is that of a page of metrics."""
    last_seen_ms: int | None = field(default=None, compare=False)


@dataclass(slots=True)
class Found:
    """What came. With an `error` something is missing."""

    readings: list[Reading] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    size: int = 0
    """Bytes, as they came."""
    error: str = ""


class Read(Protocol):
    """Calls a function, elsewhere where the message is large; see `monitoring.intake.Intake.read`."""

    def __call__[Result](self, size: int, function: Callable[[], Result], /) -> Awaitable[Result]: ...


def asked(fetched: Fetched) -> Asked:
    """As it is stored."""
    queries = fetched.queries if isinstance(fetched, Pull) else []
    return Asked(
        _known(fetched.source),
        fetched.url,
        fetched.interval_s,
        fetched.timeout_s,
        fetched.bearer_token_file,
        tuple(Query(**each) for each in queries),
        fetched.source.last_seen_ms,
    )


def _known(source: Source) -> Known:
    systems = (*source.systems, OWN) if source.systems and OWN not in source.systems else tuple(source.systems)
    return Known(source.pk, 0, source.name, tuple(sorted(source.labels.items())), systems)


async def at_once[Result](size: int, function: Callable[[], Result]) -> Result:
    """A `Read` for where nobody else waits."""
    return function()


async def ask(asked: Asked, fetcher: Fetcher, read: Read, ts_ms: int) -> Found:
    """What there is at a time. Never raises for what the other side answers, or does not."""
    found = Found()
    if not asked.queries:
        try:
            await _page(asked, fetcher, read, ts_ms, found)
        except Failed as problem:
            found.error = str(problem)[:500]
    await _each(asked, fetcher, read, found, lambda query: promql.instant(query, ts_ms))
    return found


async def ask_over(asked: Asked, fetcher: Fetcher, read: Read, window: Window) -> Found:
    """What there was over a window. Never raises for what the other side answers, or does not."""
    found = Found()
    await _each(asked, fetcher, read, found, lambda query: promql.over(query, window))
    return found


async def _each(
    asked: Asked, fetcher: Fetcher, read: Read, found: Found, request: Callable[[Query], tuple[str, dict[str, str]]]
) -> None:
    """Of several mistakes the first is told; where nothing answers the other queries are not asked."""
    for query in asked.queries:
        try:
            await _values(asked, fetcher, read, (query, request(query)), found)
        except NoAnswer as problem:
            found.error = str(problem)[:500]
            return
        except Failed as problem:
            found.error = found.error or f"{query.query[:80]}: {problem}"[:500]


async def _page(asked: Asked, fetcher: Fetcher, read: Read, ts_ms: int, found: Found) -> None:
    answer = await _answer(asked, fetcher, "", None, scrape.ACCEPT)
    _add(found, answer, *await read(len(answer.body), lambda: scrape.readings(answer, ts_ms)))


async def _values(
    asked: Asked, fetcher: Fetcher, read: Read, request: tuple[Query, tuple[str, dict[str, str]]], found: Found
) -> None:
    query, (path, params) = request
    answer = await _answer(asked, fetcher, path, params, promql.ACCEPT)
    _add(found, answer, *await read(len(answer.body), lambda: promql.readings(answer, query)))


async def _answer(asked: Asked, fetcher: Fetcher, path: str, params: dict[str, str] | None, accept: str) -> Answer:
    url = asked.url.rstrip("/") + path if path else asked.url
    return await fetcher.get(url, asked.timeout_s, accept=accept, token=token(asked.bearer_token_file), params=params)


def _add(found: Found, answer: Answer, readings: list[Reading], rejected: list[Rejected]) -> None:
    found.size += len(answer.body)
    found.readings += readings
    found.rejected += rejected


def token(file: str) -> str | None:
    """What the file of this name in the credentials' directory says now; None without a name. Raises Failed."""
    if not file:
        return None
    if not TOKEN_FILE.fullmatch(file):
        raise Failed(f"{file!r} is no name of a file of credentials")
    path = Path(settings.CREDENTIALS_DIR) / file
    try:
        with path.open("rb") as opened:
            found = opened.read(LONGEST_TOKEN + 1).decode("ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise Failed(f"the file of credentials {file} cannot be read in {settings.CREDENTIALS_DIR}") from None
    if not found or len(found) > LONGEST_TOKEN or not found.isprintable():
        raise Failed(f"the file of credentials {file} must have one line of up to {LONGEST_TOKEN} characters")
    return found


def now_ms() -> int:
    """Our clock."""
    return round(time.time() * 1000)
