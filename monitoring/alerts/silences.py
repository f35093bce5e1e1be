"""Silences: which alerts are told to nobody, until when."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from monitoring.alerts import globs, kinds
from monitoring.alerts.rules import LABEL, Wrong
from monitoring.models import Silence

FIELDS = ("matchers", "starts_ms", "until_ms", "comment")
MOST_MATCHERS = 10
LONGEST_MS = 90 * 86_400_000
LONGEST_COMMENT = 500


def active(now_ms: int) -> list[Silence]:
    """Those that hold now."""
    return list(Silence.objects.filter(starts_ms__lte=now_ms, until_ms__gt=now_ms))


def until(silences: Iterable[Silence], labels: Mapping[str, str]) -> int | None:
    """Until when an alert with these labels is silenced; None where it is not."""
    found = [each.until_ms for each in silences if globs.all_match(each.matchers, labels)]
    return max(found, default=None)


def store(given: Mapping[str, Any], by: str, now_ms: int) -> Silence:
    """A new silence. Raises Wrong."""
    if unknown := [field for field in given if field not in FIELDS]:
        raise Wrong({str(unknown[0])[:100]: f"is not a field here; allowed: {', '.join(FIELDS)}"})
    said = {"starts_ms": now_ms, "comment": "", "until_ms": None, "matchers": None, **given}
    wrong: dict[str, str] = {}
    for field, message in (*of_matchers(said["matchers"]), *_of_times(said, now_ms), *_of_comment(said["comment"])):
        wrong.setdefault(field, message)
    if wrong:
        raise Wrong(wrong)
    return Silence.objects.create(by=by[:150], **{field: said[field] for field in FIELDS})


def end(silence: Silence, now_ms: int) -> None:
    """It holds no longer; that it did stays to be seen."""
    Silence.objects.filter(pk=silence.pk, until_ms__gt=now_ms).update(until_ms=now_ms)


def of_matchers(matchers: Any, least: int = 1) -> Iterator[tuple[str, str]]:
    """What is wrong with labels and their patterns."""
    if not isinstance(matchers, Mapping) or not least <= len(matchers) <= MOST_MATCHERS:
        yield "matchers", f"must be an object of {least} to {MOST_MATCHERS} labels to values, as {{'link': 'wan*'}}"
        return
    for name, pattern in matchers.items():
        if not isinstance(name, str) or not LABEL.fullmatch(name):
            yield "matchers", f"{str(name)[:64]!r} is no label"
        elif not globs.is_pattern(pattern):
            limits = f"up to {globs.LONGEST} characters with at most {globs.MOST_STARS} stars"
            yield "matchers", f"{name} must be text of {limits}, got {pattern!r:.60}"


def _of_times(said: Mapping[str, Any], now_ms: int) -> Iterator[tuple[str, str]]:
    starts, ends = said["starts_ms"], said["until_ms"]
    for field in ("starts_ms", "until_ms"):
        if not isinstance(said[field], int) or isinstance(said[field], bool) or not 0 <= said[field] < 2**53:
            yield field, f"must be epoch milliseconds, got {said[field]!r:.60}"
            return
    if ends <= now_ms:
        yield "until_ms", f"must be after now, {now_ms}, got {ends}"
    elif not starts < ends <= starts + LONGEST_MS:
        yield "until_ms", f"must be after starts_ms, {starts}, by at most {LONGEST_MS // 86_400_000} days, got {ends}"


def _of_comment(comment: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(comment, str) or len(comment) > LONGEST_COMMENT or "\0" in comment:
        yield "comment", f"must be text of up to {LONGEST_COMMENT} characters"


def minutes(now_ms: int, length: float) -> int:
    """The end of a silence of so many minutes. Raises Wrong."""
    if not kinds.is_number(length) or not 0 < length * 60_000 <= LONGEST_MS:
        raise Wrong({"minutes": f"must be more than 0 and at most {LONGEST_MS // 60_000}, got {length!r:.60}"})
    return now_ms + round(length * 60_000)
