"""The sources that may send: what may be said of one, and in what state it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from monitoring import mappings, running
from monitoring.liveness import ABSENT_AFTER_MS as ABSENT_AFTER_MS
from monitoring.liveness import STALE_AFTER_MS as STALE_AFTER_MS
from monitoring.liveness import STATES as STATES
from monitoring.liveness import State as State
from monitoring.liveness import age_ms as age_ms
from monitoring.liveness import state as state
from monitoring.models import Source
from monitoring.signals import PLACE, VALUES

LABELS = (*PLACE, "link", "route")
"""That may be said of all that a source sends; a series' own label goes before it, but for where something stands."""
LONGEST = 100
RESERVED = ("new",)
"""Pages of their own."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def reasons(source: Source) -> list[tuple[str, int]]:
    """Why this process has lately rejected something of it, and how often."""
    try:
        return running.intake().reasons(source.pk)
    except running.NotRunning:
        return []


def mistakes(name: Any, labels: Any, systems: Any) -> dict[str, str]:
    """What is wrong with a source's description, by field."""
    found = {
        "name": next(_of_name(name), None),
        "labels": next(_of_labels(labels), None),
        "systems": next(_of_systems(systems), None),
    }
    return {field: said for field, said in found.items() if said is not None}


def _of_name(name: Any) -> Iterator[str]:
    if not isinstance(name, str) or not NAME.fullmatch(name) or len(name) > LONGEST:
        yield f"must be up to {LONGEST} letters, digits, - and _, the first a letter or digit"
    elif name in RESERVED:
        yield f"{name} is not a name of a source"


def _of_labels(labels: Any) -> Iterator[str]:
    if not isinstance(labels, Mapping):
        yield "must be an object of label to value"
        return
    for name, value in labels.items():
        if name not in LABELS:
            yield f"{str(name)[:LONGEST]} is not a label of a source; allowed: {', '.join(LABELS)}"
        elif not isinstance(value, str) or not value.isprintable() or not 0 < len(value) <= LONGEST:
            yield f"{name} must be text of up to {LONGEST} characters"
        elif name in VALUES and value not in VALUES[name]:
            yield f"{name} is {value[:LONGEST]}; it must be one of {', '.join(VALUES[name])}"


def _of_systems(systems: Any) -> Iterator[str]:
    known = mappings.known()
    if not isinstance(systems, Sequence) or isinstance(systems, str):
        yield "must be a list of mappings' names"
        return
    for each in systems:
        if not isinstance(each, str) or each not in known:
            yield f"{str(each)[:LONGEST]} is no mapping; known: {', '.join(known)}"
