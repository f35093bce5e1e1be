"""What may be said of a watch, and what may be entered by hand; storing both."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from typing import Any

from django.db import IntegrityError, transaction

from monitoring.live import watched
from monitoring.live.selection import ROLES
from monitoring.models import Entered, Watch
from monitoring.registry import NAME

FIELDS = ("name", "title", "scenario", "clusters", "links", "headroom", "objective")
OF_ENTERED = ("what", "value", "at_ms")
WHAT = ("threshold_tokens", *(f"instances.{role}" for role in ROLES))
LONGEST_NAME, LONGEST_TITLE, MOST_NAMES = 100, 200, 100
MOST_HEADROOM = 0.9
MOST_TOKENS, MOST_INSTANCES = 1e9, 1e6
MOST_AHEAD_MS = 60_000
KEPT = 1000
"""Entered values of one kind."""


class Wrong(ValueError):
    """What is said cannot be; `errors` has what is wrong, by field."""

    def __init__(self, errors: dict[str, str]) -> None:
        super().__init__("; ".join(f"{field}: {said}" for field, said in errors.items()))
        self.errors = errors


def described(watch: Watch) -> dict[str, Any]:
    """What is said of it."""
    return {field: getattr(watch, field) for field in FIELDS}


def store(watch: Watch, given: Mapping[str, Any]) -> None:
    """Replaces what is said of one, or makes a new one; what is not given is as if nobody had said it. Raises Wrong;
    then nothing is changed."""
    change(watch, {**described(Watch()), **given})


def change(watch: Watch, said: Mapping[str, Any]) -> None:
    """Changes what is given, and nothing else. Raises Wrong; then nothing is changed."""
    _require_known(said, FIELDS)
    said = {**described(watch), **said}
    if wrong := dict(reversed(list(_mistakes(said)))):
        raise Wrong(wrong)
    for field, value in said.items():
        setattr(watch, field, value)
    try:
        with transaction.atomic():
            watch.save()
    except IntegrityError:
        raise Wrong({"name": f"{watch.name} is the name of another watch"}) from None


def _require_known(given: Mapping[str, Any], fields: tuple[str, ...]) -> None:
    for field in given:
        if field not in fields:
            raise Wrong({str(field)[:100]: f"is not a field here; allowed: {', '.join(fields)}"})


def _mistakes(said: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    name, headroom, objective = said["name"], said["headroom"], said["objective"]
    if not isinstance(name, str) or not NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        yield "name", f"must be up to {LONGEST_NAME} letters, digits, - and _, the first a letter or digit"
    for field in ("title", "scenario"):
        if not _is_text(said[field], LONGEST_TITLE):
            yield field, f"must be text of up to {LONGEST_TITLE} characters"
    for field in ("clusters", "links"):
        yield from _of_names(field, said[field])
    if not _is_number(headroom) or not 0 <= headroom <= MOST_HEADROOM:
        yield "headroom", f"must be a share from 0 to {MOST_HEADROOM:g}, got {headroom!r:.50}"
    if objective not in Watch.Objective.values:
        yield "objective", f"must be one of {', '.join(Watch.Objective.values)}, got {objective!r:.50}"


def _of_names(field: str, names: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(names, list) or len(names) > MOST_NAMES:
        yield field, f"must be a list of up to {MOST_NAMES} names"
        return
    for at, each in enumerate(names):
        if not each or not _is_text(each, LONGEST_NAME):
            yield f"{field}.{at}", f"must be a name of up to {LONGEST_NAME} characters, got {each!r:.50}"
        elif each in names[:at]:
            yield f"{field}.{at}", f"{each[:50]} is there twice"


def _is_text(value: Any, longest: int) -> bool:
    return isinstance(value, str) and len(value) <= longest and (value.isprintable() or not value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


# --- entered by hand ---------------------------------------------------------------------------------------------


def enter(watch: Watch, given: Mapping[str, Any], by: str) -> Entered:
    """Notes a value that no telemetry tells, of now or of another time. Raises Wrong."""
    _require_known(given, OF_ENTERED)
    now_ms = round(time.time() * 1000)
    said = {"what": None, "value": None, **given}
    said["at_ms"] = now_ms if said.get("at_ms") is None else said["at_ms"]
    if wrong := dict(_entered_mistakes(said, now_ms)):
        raise Wrong(wrong)
    entered = Entered.objects.create(watch=watch, by=by[:150], **said)
    same = Entered.objects.filter(watch=watch, what=entered.what).order_by("-at_ms", "-pk")
    kept = same.values_list("at_ms", flat=True)[KEPT - 1 : KEPT]
    for oldest in kept:
        same.filter(at_ms__lt=oldest).delete()
    return entered


def withdraw(watch: Watch, what: str, by: str) -> bool:
    """From now on nobody says this; what was entered holds for the time before. False where nothing was entered."""
    with transaction.atomic():
        Watch.objects.select_for_update().get(pk=watch.pk)
        newest = watched.newest_entered().filter(watch=watch, what=what).first()
        if newest is None or newest.value is None:
            return False
        # Never before what it takes back, whose time may be a little ahead of our clock.
        at_ms = max(round(time.time() * 1000), newest.at_ms)
        Entered.objects.create(watch=watch, what=what, value=None, at_ms=at_ms, by=by[:150])
    return True


def _entered_mistakes(said: Mapping[str, Any], now_ms: int) -> Iterator[tuple[str, str]]:
    what, value, at_ms = said["what"], said["value"], said["at_ms"]
    if what not in WHAT:
        yield "what", f"must be one of {', '.join(WHAT)}, got {what!r:.50}"
        return
    most = MOST_TOKENS if what == "threshold_tokens" else MOST_INSTANCES
    if not _is_number(value) or not 0 <= value <= most:
        yield "value", f"must be a number from 0 to {most:,.0f}, got {value!r:.50}"
    elif what != "threshold_tokens" and value != int(value):
        yield "value", f"must be a whole number of instances, got {value:g}"
    if not isinstance(at_ms, int) or isinstance(at_ms, bool) or not 0 <= at_ms <= now_ms + MOST_AHEAD_MS:
        yield "at_ms", f"must be epoch milliseconds up to now, got {at_ms!r:.50}"


def entered_of(watch: Watch) -> dict[str, dict[str, Any]]:
    """The newest of each kind that was not withdrawn."""
    rows = watched.newest_entered().filter(watch=watch).exclude(value=None)
    return {each.what: {"value": each.value, "at_ms": each.at_ms, "by": each.by} for each in rows}
