"""Pages of metrics that we fetch, to readings."""

from __future__ import annotations

from http import HTTPStatus

from monitoring.readings import Malformed, Reading, Rejected
from monitoring.sources import exposition
from monitoring.sources.fetching import SHOWN, Answer, Failed

ACCEPT = "text/plain;version=0.0.4"
"""The format that every exporter has."""
NO_VALUE = "has no value: nan"
"""How `exposition` ends the reason of a NaN."""


def readings(answer: Answer, ts_ms: int) -> tuple[list[Reading], list[Rejected]]:
    """The series of a page that was asked for at `ts_ms`. Raises Failed for what is no page of metrics.

    What is NaN is absent, as of idle summaries, and not rejected: the same lines would be, at every scrape.
    """
    if answer.status != HTTPStatus.OK:
        raise Failed(refusal(answer))
    try:
        found, rejected = exposition.readings(answer.text(), ts_ms)
    except Malformed as problem:
        raise Failed(f"not an exposition page: {problem}"[: 2 * SHOWN]) from None
    return found, [each for each in rejected if not each.reason.endswith(NO_VALUE)]


def refusal(answer: Answer) -> str:
    """What a status other than 200 says, and what to do about it."""
    try:
        phrase = f"{answer.status} {HTTPStatus(answer.status).phrase}"
    except ValueError:
        phrase = str(answer.status)
    if answer.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return f"answers {phrase}: it wants a bearer token, see bearer_token_file"
    return f"answers {phrase}"
